"""Codec cast, and 8-bit floats with a scale for each group: every byte read and written once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from ..default.fp8 import LARGEST_EXPONENT
from ..sizes import cast_itemsize, fp8_size
from .arithmetic import bf16_bits, fp8_bits, fp8_value, narrow, widened
from .launch import OPTIONS, on_device_of, tile_values, tiles, warps_for


@triton.jit(do_not_specialize=["count"])
def cast_kernel(values, packed, count, TO: tl.constexpr, TILE: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = i < count
    x = widened(tl.load(values + i, mask=inside, other=0.0))
    infinite = (x.to(tl.uint32, bitcast=True) & 0x7FFFFFFF) == 0x7F800000
    number = x == x
    if TO == "bf16":
        most = 3.3895313892515355e38
        limited = tl.minimum(tl.maximum(x, -most), most)
        tl.store(packed + i, bf16_bits(tl.where(number & (infinite == 0), limited, x)), mask=inside)
    elif TO == "f16":
        limited = tl.minimum(tl.maximum(x, -65504.0), 65504.0)
        limited = tl.where(number & (infinite == 0), limited, x)
        half = limited.to(tl.float16).to(tl.uint16, bitcast=True)
        tl.store(packed + i, half, mask=inside)
    else:
        tl.store(packed + i, fp8_bits(x, TO == "e4m3"), mask=inside)


@triton.jit(do_not_specialize=["count"])
def uncast_kernel(packed, values, count, TO: tl.constexpr, TILE: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = i < count
    code = tl.load(packed + i, mask=inside, other=0)
    if TO == "bf16":
        x = (code.to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    elif TO == "f16":
        x = code.to(tl.float16, bitcast=True).to(tl.float32)
    else:
        x = fp8_value(code, TO == "e4m3")
    tl.store(values + i, narrow(x, values), mask=inside)


@triton.jit(do_not_specialize=["count"])
def fp8_kernel(
    values, codes, scales, count,
    E4M3: tl.constexpr, EXPONENT: tl.constexpr, GROUP: tl.constexpr, PADDED: tl.constexpr,
    GROUPS: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    i = tl.arange(0, PADDED)
    element = g.to(tl.int64)[:, None] * GROUP + i[None, :]
    inside = (element < count) & (i < GROUP)[None, :]
    x = widened(tl.load(values + element, mask=inside, other=0.0))
    magnitude = (x.to(tl.uint32, bitcast=True) & 0x7FFFFFFF).to(tl.int32)
    most = tl.max(tl.where(magnitude < 0x7F800000, magnitude, 0), axis=1)
    above = ((most & 0x7FFFFF) > 0x600000).to(tl.int32)
    scale = tl.minimum(tl.maximum((most >> 23) - EXPONENT + above, 1), 253)
    inverse = ((254 - scale) << 23).to(tl.float32, bitcast=True)
    tl.store(codes + element, fp8_bits(x * inverse[:, None], E4M3), mask=inside)
    tl.store(scales + g, scale.to(tl.uint8), mask=g.to(tl.int64) * GROUP < count)


@triton.jit(do_not_specialize=["count"])
def unfp8_kernel(
    codes, scales, values, count,
    E4M3: tl.constexpr, GROUP: tl.constexpr, PADDED: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    g = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    i = tl.arange(0, PADDED)
    element = g.to(tl.int64)[:, None] * GROUP + i[None, :]
    inside = (element < count) & (i < GROUP)[None, :]
    scale = tl.load(scales + g, mask=g.to(tl.int64) * GROUP < count, other=1).to(tl.uint32)
    code = tl.load(codes + element, mask=inside, other=0)
    x = fp8_value(code, E4M3) * (scale << 23).to(tl.float32, bitcast=True)[:, None]
    tl.store(values + element, narrow(x, values), mask=inside)


# ---- As functions -------------------------------------------------------------------------------


def cast_pack(values: torch.Tensor, to: str) -> torch.Tensor:
    flat = values.detach().reshape(-1)
    count, size = flat.numel(), cast_itemsize(to)
    packed = flat.new_empty(count * size, dtype=torch.uint8)
    tile = tile_values()
    if count:
        with on_device_of(flat):
            cast_kernel[tiles(count, tile)](
                flat, packed.view(torch.uint16 if size == 2 else torch.uint8), count,
                TO=to, TILE=tile, num_warps=warps_for(tile), **OPTIONS,
            )  # fmt: skip
    return packed


def cast_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
) -> torch.Tensor:
    values = packed.new_empty(shape, dtype=dtype)
    count, tile = values.numel(), tile_values()
    if count:
        codes = packed.view(torch.uint16) if cast_itemsize(to) == 2 else packed
        with on_device_of(packed):
            uncast_kernel[tiles(count, tile)](
                codes, values.view(-1), count,
                TO=to, TILE=tile, num_warps=warps_for(tile), **OPTIONS,
            )  # fmt: skip
    return values


def fp8_pack(values: torch.Tensor, to: str, group: int) -> torch.Tensor:
    flat = values.detach().reshape(-1)
    count = flat.numel()
    packed = flat.new_empty(fp8_size(count, group), dtype=torch.uint8)
    padded = triton.next_power_of_2(group)
    groups = max(1, tile_values() // padded)
    if count:
        with on_device_of(flat):
            fp8_kernel[tiles(-(-count // group), groups)](
                flat, packed, packed[count:], count,
                E4M3=to == "e4m3", EXPONENT=LARGEST_EXPONENT[to], GROUP=group, PADDED=padded,
                GROUPS=groups, num_warps=warps_for(groups * padded), **OPTIONS,
            )  # fmt: skip
    return packed


def fp8_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str, group: int
) -> torch.Tensor:
    values = packed.new_empty(shape, dtype=dtype)
    count, padded = math.prod(shape), triton.next_power_of_2(group)
    groups = max(1, tile_values() // padded)
    if count:
        with on_device_of(packed):
            unfp8_kernel[tiles(-(-count // group), groups)](
                packed, packed[count:], values.view(-1), count,
                E4M3=to == "e4m3", GROUP=group, PADDED=padded, GROUPS=groups,
                num_warps=warps_for(groups * padded), **OPTIONS,
            )  # fmt: skip
    return values
