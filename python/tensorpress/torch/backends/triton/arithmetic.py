"""Numbers in Triton, bit by bit as docs/format.md has them. Kernels are launched with
enable_fp_fusion=False, so that products and sums are rounded by themselves, and divide with div_rn.
"""

import triton
import triton.language as tl


@triton.jit
def widened(x):
    """An element as f32; bf16 in integers, for the interpreter loses its subnormal numbers."""
    if x.dtype == tl.bfloat16:
        return (x.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    else:
        return x.to(tl.float32)


@triton.jit
def is_finite(x):
    return (x.to(tl.uint32, bitcast=True) & 0x7FFFFFFF) < 0x7F800000


@triton.jit
def without_minus_zero(x):
    return tl.where(x == 0.0, 0.0, x)


@triton.jit
def bf16_bits(x):
    """Rounded to nearest, ties to even, in integers: the interpreter would cut."""
    u = x.to(tl.uint32, bitcast=True)
    rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16
    return tl.where((u & 0x7FFFFFFF) > 0x7F800000, 0x7FC0, rounded).to(tl.uint16)


@triton.jit
def narrow(x, like):
    """An f32 as an element of the pointer `like`."""
    if like.dtype.element_ty == tl.bfloat16:
        return bf16_bits(x).to(tl.bfloat16, bitcast=True)
    else:
        return x.to(like.dtype.element_ty)


@triton.jit
def limited(x, like):
    """What is finite stays finite in a narrow type."""
    if like.dtype.element_ty == tl.bfloat16:
        x = tl.minimum(tl.maximum(x, -3.3895313892515355e38), 3.3895313892515355e38)
    if like.dtype.element_ty == tl.float16:
        x = tl.minimum(tl.maximum(x, -65504.0), 65504.0)
    return x


@triton.jit
def with_sign(x, above, like):
    """Above 0 where the bit is set, at most 0 elsewhere."""
    small = 5.9604644775390625e-08 if like.dtype.element_ty == tl.float16 else 2.0**-63
    x = tl.where((above == 0) & (x > 0), 0.0, x)
    return tl.where((above != 0) & ((x > 0) == 0), small, x)


@triton.jit
def fp8_bits(x, E4M3: tl.constexpr):
    """An f32 rounded to e4m3 or e5m2, ties to even; beyond the largest the largest."""
    FRACTION: tl.constexpr = 3 if E4M3 else 2
    SHIFT: tl.constexpr = 23 - FRACTION
    REBIAS: tl.constexpr = (120 if E4M3 else 112) << FRACTION
    SMALLEST: tl.constexpr = (121 if E4M3 else 113) << 23
    ROUNDER: tl.constexpr = 16384.0 if E4M3 else 128.0
    ROUNDER_BITS: tl.constexpr = 0x46800000 if E4M3 else 0x43000000
    LARGEST: tl.constexpr = 0x7E if E4M3 else 0x7B
    INFINITY: tl.constexpr = 0x7F if E4M3 else 0x7C
    bits = x.to(tl.uint32, bitcast=True)
    magnitude = bits & 0x7FFFFFFF
    small = (magnitude.to(tl.float32, bitcast=True) + ROUNDER).to(tl.uint32, bitcast=True)
    half = (1 << (SHIFT - 1)) - 1 + ((magnitude >> SHIFT) & 1)
    finite = tl.where(magnitude < 0x7F800000, magnitude, 0)
    normal = tl.minimum(((finite + half) >> SHIFT) - REBIAS, LARGEST)
    code = tl.where(magnitude < SMALLEST, small - ROUNDER_BITS, normal)
    code = tl.where(magnitude == 0x7F800000, INFINITY, code)
    code = tl.where(magnitude > 0x7F800000, 0x7F, code)
    return (((bits >> 24) & 0x80) | code).to(tl.uint8)


@triton.jit
def fp8_value(code, E4M3: tl.constexpr):
    """As an f32."""
    FRACTION: tl.constexpr = 3 if E4M3 else 2
    REBIAS: tl.constexpr = (120 if E4M3 else 112) << 23
    UNIT: tl.constexpr = 2.0**-9 if E4M3 else 2.0**-16
    code = code.to(tl.uint32)
    magnitude = code & 0x7F
    small = (magnitude.to(tl.float32) * UNIT).to(tl.uint32, bitcast=True)
    bits = tl.where(magnitude < (1 << FRACTION), small, (magnitude << (23 - FRACTION)) + REBIAS)
    if E4M3:
        bits = tl.where(magnitude == 0x7F, 0x7FC00000, bits)
    else:
        special = 0x7F800000 | ((magnitude & 3) << 21)
        special = tl.where(magnitude > 0x7C, special | 0x400000, special)
        bits = tl.where(magnitude >= 0x7C, special, bits)
    return (((code & 0x80) << 24) | bits).to(tl.float32, bitcast=True)
