"""One bit a value: masks, signs and comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from ..default import bits as default
from ..sizes import bits_size
from .arithmetic import narrow, widened, with_sign
from .launch import OPTIONS, on_device_of, tile_values, tiles, warps_for


@triton.jit(do_not_specialize=["count"])
def sign_kernel(values, packed, count, TILE: tl.constexpr):
    """Bytes of 8 values: whether they are above 0."""
    byte = tl.program_id(0).to(tl.int64) * (TILE // 8) + tl.arange(0, TILE // 8)
    bit = tl.arange(0, 8)
    element = byte[:, None] * 8 + bit[None, :]
    x = tl.load(values + element, mask=element < count, other=0)
    above = (widened(x) > 0).to(tl.int32)
    packed_bits = tl.sum(above << bit[None, :], axis=1)
    tl.store(packed + byte, packed_bits.to(tl.uint8), mask=byte * 8 < count)


@triton.jit(do_not_specialize=["count"])
def unsign_kernel(packed, values, count, TILE: tl.constexpr):
    byte = tl.program_id(0).to(tl.int64) * (TILE // 8) + tl.arange(0, TILE // 8)
    bit = tl.arange(0, 8)
    element = byte[:, None] * 8 + bit[None, :]
    bits = tl.load(packed + byte, mask=byte * 8 < count, other=0).to(tl.int32)
    x = (bits[:, None] >> bit[None, :]) & 1
    if values.dtype.element_ty.is_floating():
        tl.store(values + element, narrow(x.to(tl.float32), values), mask=element < count)
    else:
        tl.store(values + element, x.to(values.dtype.element_ty), mask=element < count)


@triton.jit(do_not_specialize=["count"])
def restore_kernel(values, signs, count, TILE: tl.constexpr):
    byte = tl.program_id(0).to(tl.int64) * (TILE // 8) + tl.arange(0, TILE // 8)
    bit = tl.arange(0, 8)
    element = byte[:, None] * 8 + bit[None, :]
    inside = element < count
    bits = tl.load(signs + byte, mask=byte * 8 < count, other=0).to(tl.int32)
    x = widened(tl.load(values + element, mask=inside, other=0.0))
    x = with_sign(x, (bits[:, None] >> bit[None, :]) & 1, values)
    tl.store(values + element, narrow(x, values), mask=inside)


@triton.jit(do_not_specialize=["count"])
def mask_kernel(patterns, packed, extremes, count, TILE: tl.constexpr):
    """Bits of what is not all zeros, and the least and the largest pattern besides zeros."""
    byte = tl.program_id(0).to(tl.int64) * (TILE // 8) + tl.arange(0, TILE // 8)
    bit = tl.arange(0, 8)
    element = byte[:, None] * 8 + bit[None, :]
    x = tl.load(patterns + element, mask=element < count, other=0)
    chosen = x != 0
    bits = tl.sum(chosen.to(tl.int32) << bit[None, :], axis=1)
    tl.store(packed + 8 + byte, bits.to(tl.uint8), mask=byte * 8 < count)
    whole = x.to(tl.int64)
    tl.atomic_min(extremes, tl.min(tl.where(chosen, whole, 0x7FFFFFFFFFFFFFFF)))
    tl.atomic_max(extremes + 1, tl.max(tl.where(chosen, whole, -0x7FFFFFFFFFFFFFFF)))


@triton.jit
def head_kernel(extremes, packed, fits, WIDTH: tl.constexpr):
    least = tl.load(extremes)
    most = tl.load(extremes + 1)
    zeros = most < least
    i = tl.arange(0, 8)
    byte = (most >> (8 * i)) & 0xFF
    tl.store(packed + i, tl.where((i < WIDTH) & (zeros == 0), byte, 0).to(tl.uint8))
    tl.store(fits, (zeros | (least == most)).to(tl.uint8))


@triton.jit(do_not_specialize=["count"])
def unmask_kernel(packed, patterns, count, WIDTH: tl.constexpr, TILE: tl.constexpr):
    byte = tl.program_id(0).to(tl.int64) * (TILE // 8) + tl.arange(0, TILE // 8)
    bit = tl.arange(0, 8)
    element = byte[:, None] * 8 + bit[None, :]
    i = tl.arange(0, 8)
    head = tl.load(packed + i, mask=i < WIDTH, other=0).to(tl.int64)
    pattern = tl.sum(head << (8 * i).to(tl.int64))
    bits = tl.load(packed + 8 + byte, mask=byte * 8 < count, other=0).to(tl.int32)
    chosen = ((bits[:, None] >> bit[None, :]) & 1) != 0
    x = tl.where(chosen, pattern, 0).to(patterns.dtype.element_ty)
    tl.store(patterns + element, x, mask=element < count)


# ---- As functions -------------------------------------------------------------------------------


def sign_pack(values: torch.Tensor) -> torch.Tensor:
    flat = _numbers(values.detach().reshape(-1))
    count, tile = flat.numel(), tile_values()
    packed = flat.new_empty(bits_size(count), dtype=torch.uint8)
    if count:
        with on_device_of(flat):
            sign_kernel[tiles(count, tile)](
                flat, packed, count, TILE=tile, num_warps=warps_for(tile), **OPTIONS
            )
    return packed


def sign_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    values = packed.new_empty(shape, dtype=dtype)
    count, tile = values.numel(), tile_values()
    if count:
        with on_device_of(packed):
            unsign_kernel[tiles(count, tile)](
                packed, _numbers(values.view(-1)), count,
                TILE=tile, num_warps=warps_for(tile), **OPTIONS,
            )  # fmt: skip
    return values


def restore_signs(values: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    """Changes the values in place and gives them back."""
    count, tile = values.numel(), tile_values()
    if count:
        with on_device_of(values):
            restore_kernel[tiles(count, tile)](
                values.detach().view(-1), signs, count,
                TILE=tile, num_warps=warps_for(tile), **OPTIONS,
            )  # fmt: skip
    return values


def mask_pack(values: torch.Tensor) -> torch.Tensor | None:
    """As default.mask_pack: of bool it asks nothing."""
    packed, fits = mask_pack_flagged(values)
    return packed if values.dtype == torch.bool or bool(fits) else None


def mask_pack_flagged(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    flat = values.detach().reshape(-1)
    patterns = flat.view(default.WHOLE[flat.dtype.itemsize])
    count, tile = flat.numel(), tile_values()
    packed = flat.new_empty(8 + bits_size(count), dtype=torch.uint8)
    fits = flat.new_empty((), dtype=torch.uint8)
    extremes = torch.full((2,), 2**63 - 1, dtype=torch.int64, device=flat.device)
    extremes[1:].fill_(-(2**63) + 1)
    with on_device_of(flat):
        if count:
            mask_kernel[tiles(count, tile)](
                patterns, packed, extremes, count, TILE=tile, num_warps=warps_for(tile), **OPTIONS
            )
        head_kernel[(1,)](extremes, packed, fits, WIDTH=flat.dtype.itemsize, **OPTIONS)
    return packed, fits.view(torch.bool)


def mask_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    values = packed.new_empty(shape, dtype=dtype)
    count, tile = values.numel(), tile_values()
    if count:
        with on_device_of(packed):
            unmask_kernel[tiles(count, tile)](
                packed, values.view(-1).view(default.WHOLE[dtype.itemsize]), count,
                WIDTH=dtype.itemsize, TILE=tile, num_warps=warps_for(tile), **OPTIONS,
            )  # fmt: skip
    return values


def _numbers(flat: torch.Tensor) -> torch.Tensor:
    return flat.view(torch.uint8) if flat.dtype == torch.bool else flat
