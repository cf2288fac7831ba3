# How values wait in fewer bytes: signs, quantized groups, casts, chopped DCT, codecs of the library,
# places in pooling windows, the host's memory.
#
# An emitted file begins with those functions of this folder that its lines call; functions.h says
# how they are picked and what the comments above them state. portable/ has other forms for steps
# without the package.
import math

import torch

from tensorpress.torch import native_packing as packing
from tensorpress.torch import pool_indices, tensor_codecs


# modules: packing
def pack_signs(x):
    """One bit a value: whether it is above 0."""
    return packing.sign_pack(x.contiguous())


# modules: packing
# in place: x
def mask_by_signs_(x, signs, slope=0.0):
    """Times the slope where the bit is not set, in place: where a value was not above 0."""

    def scale_(part, bits):
        factors = packing.sign_unpack(bits, part.shape, x.dtype)
        part.mul_(factors.masked_fill_(factors == 0, slope) if slope else factors)

    if not x.is_contiguous():
        scale_(x, signs)
        return x
    flat, piece = x.view(-1), 1 << 20
    for first in range(0, flat.numel(), piece):
        part = flat[first : first + piece]
        scale_(part, signs[first // 8 : (first + part.numel() + 7) // 8])
    return x


# needs: pack_truths
def pack_inside(x, low, high):
    """One bit a value: whether it is between low and high."""
    pieces = x.reshape(-1).split(1 << 20)
    return torch.cat([pack_truths((each > low) * (each < high)) for each in pieces])


# needs: unpack_truths
# operators: where 2, to
def cut_outside(x, signs, low, high):
    """x where the bit is set, elsewhere the end of the range that is nearer."""
    ends = torch.where(x > (low + high) / 2, high, low)
    return torch.where(unpack_truths(signs, x.shape), x, ends.to(x.dtype))


# modules: packing
def pack_truths(x):
    """One bit an element."""
    return packing.sign_pack(x.contiguous())


# modules: packing
def unpack_truths(packed, shape):
    return packing.sign_unpack(packed, shape, torch.bool)


# needs: unpack_bits
# operators: add 2, add_ 2, view, mul
# types: uint8
# in place: x
def add_unpacked_(x, packed, bits):
    """x + unpack_bits(packed), in place and piece by piece."""
    if packed.dtype != torch.uint8 or not x.is_contiguous():
        return x.add_(unpack_bits(packed, bits, x.shape, x.dtype))
    flat, piece, record = x.view(-1), 1 << 20, 4 + 32 * bits
    for first in range(0, flat.numel(), piece):
        part = flat[first : first + piece]
        bytes_ = packed[first // 256 * record : (first + piece) // 256 * record]
        part.add_(unpack_bits(bytes_, bits, part.shape, x.dtype))
    return x


# needs: unpack_bits
# operators: add
def add_unpacked(x, packed, bits):
    return x + unpack_bits(packed, bits, x.shape, x.dtype)


# modules: pool_indices
def pack_window(index, extent, kernel, stride, padding):
    """Where in its window each maximum stood, in few bits."""
    return pool_indices.pack(index, pool_indices.Windows(extent, kernel, stride, padding, (1, 1)))


# modules: pool_indices
def unpack_window(packed, shape, extent, kernel, stride, padding):
    """PyTorch's indices again."""
    return pool_indices.unpack(packed, shape, pool_indices.Windows(extent, kernel, stride, padding, (1, 1)))


# modules: packing
def pack_cast(x, to):
    """To a smaller floating-point type; too large values become the largest."""
    if to in ("bf16", "f16"):
        return x.to(torch.bfloat16 if to == "bf16" else torch.float16)
    packed = packing.cast_pack(x.contiguous(), to)
    return x.clone() if packed is None else packed


# modules: packing
def unpack_cast(packed, to, shape, dtype):
    if packed.dtype != torch.uint8:
        return packed.to(dtype)
    return packing.cast_unpack(packed, shape, dtype, to)


# modules: tensor_codecs
# operators: encode
def pack_bounded(x, codec, bound, value):
    """By a codec of the library that keeps a bound, here of each element's error."""
    return tensor_codecs.CODECS[codec](bound, value).encode(x, 0)[0]


# modules: tensor_codecs
# operators: decode
def unpack_bounded(packed, codec, bound, value, shape, dtype):
    return tensor_codecs.CODECS[codec](bound, value).decode((packed,), shape, dtype)


# operators: to
def to_host(x):
    """A copy in the host's memory: what is on the device may be overwritten."""
    return x.to("cpu", copy=True)


# operators: to
def to_device(x, like):
    return x.to(like.device, copy=True)


# needs: chop_matrix
# operators: sum, matmul 2, t
def pack_chop(x, cf):
    """The lowest cf x cf of the 8 x 8 DCT coefficients of each block (DCT+Chop), by two products.
    A last short block goes on with its last value."""
    left, right = (chop_matrix(extent, cf, x) for extent in x.shape[-2:])
    for matrix, extent in zip((left, right), x.shape[-2:]):
        matrix[:, extent - 1] = matrix[:, extent - 1 :].sum(1)
    return left[:, : x.shape[-2]] @ x @ right[:, : x.shape[-1]].t()


# needs: chop_matrix
# operators: t, matmul 2
def unpack_chop(kept, cf, shape):
    left, right = (chop_matrix(extent, cf, kept)[:, :extent] for extent in shape[-2:])
    return left.t() @ kept @ right


# operators: arange 2, view, cos, mul, where, block_diag, to
# types: float64
def chop_matrix(extent, cf, like):
    """The first cf rows of the orthonormal DCT of 8 elements, for each block of an axis."""
    k, n = torch.arange(cf, dtype=torch.float64).view(-1, 1), torch.arange(8, dtype=torch.float64)
    dct = torch.cos(math.pi / 8 * (n + 0.5) * k) * torch.where(k == 0, 8**-0.5, 0.5)
    return torch.block_diag(*[dct] * ((extent + 7) // 8)).to(like.device, like.dtype)


# needs: pack_bits
# operators: clone
def pack_adaptive(x, bits, seed):
    """As many bits as are chosen now: 32 keeps the values, 2 and less are rounded stochastically."""
    if bits == 32:
        return x.clone()
    return pack_bits(x, bits, "stochastic" if bits <= 2 else "nearest", seed)


# modules: packing
def pack_bits(x, bits, rounding="nearest", seed=0):
    """Groups of 256 with their own minimum and scale. What cannot be represented stays as it is."""
    values = x.float() if x.dtype == torch.float64 else x
    packed = packing.quantize_pack(values.contiguous(), bits, 256, rounding, seed)
    return x.clone() if packed is None else packed


# modules: packing
def unpack_bits(packed, bits, shape, dtype=torch.float32):
    if packed.dtype != torch.uint8:
        return packed.clone()  # which may be overwritten
    if dtype == torch.float64:
        return packing.quantize_unpack(packed, shape, torch.float32, bits, 256).to(dtype)
    return packing.quantize_unpack(packed, shape, dtype, bits, 256)
