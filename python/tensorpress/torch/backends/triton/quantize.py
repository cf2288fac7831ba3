"""Codec quantize: one kernel each way, which reads and writes every byte once.

A program has some whole groups in registers, finds each one's grid, and packs its codes: field r of
word w of a block is the code of value 8 r + column. `spare` says what becomes of groups that f32
cannot give a grid. `default/quantize.py` is the same arithmetic, easier to read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from ..rounding import pieces
from ..sizes import blocks_of, quantized_size
from ..spare import spare_of
from .arithmetic import (
    is_finite,
    limited,
    narrow,
    widened,
    with_sign,
    without_minus_zero,
)
from .launch import OPTIONS, on_device_of, tile_values, tiles, warps_for

ROUNDER = tl.constexpr(12582912.0)
ROUNDER_BITS = tl.constexpr(0x4B400000)
SMALLEST_SCALE = tl.constexpr(2.0**-112)
ESCAPE = tl.constexpr(0xFFFFFFFF)


# ---- Groups and their grids ---------------------------------------------------------------------


@triton.jit
def random_bits(pair, first, second):
    x = pair ^ first.to(tl.uint32)
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = ((x ^ (x >> 15)) + second.to(tl.uint32)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def grid_codes(x, finite, element, first, second, LEVELS: tl.constexpr, STOCHASTIC: tl.constexpr):
    """Header, codes and whether f32 holds the grid; `x` has a row a group."""
    least = without_minus_zero(tl.min(x, axis=1))
    most = tl.max(x, axis=1)
    bits = least.to(tl.uint32, bitcast=True)
    bits = tl.where(least < 0, bits + 0x1FFF, bits) & 0xFFFFE000
    minimum = bits.to(tl.float32, bitcast=True)
    extent = most - minimum
    fits = (tl.min(finite.to(tl.int32), axis=1) > 0) & is_finite(minimum) & is_finite(extent)
    levels = tl.full(extent.shape, LEVELS, tl.float32)
    exact = tl.maximum(tl.div_rn(extent, levels), SMALLEST_SCALE).to(tl.uint32, bitcast=True)
    some = fits & (extent > 0)
    scale_bits = tl.where(some, (exact + 0x3FFFF) & 0xFFFC0000, 0)
    scale = scale_bits.to(tl.float32, bitcast=True)
    one = tl.full(extent.shape, 1.0, tl.float32)
    inverse = tl.where(some, tl.div_rn(one, tl.where(some, scale, 1.0)), 0.0)
    fits = fits & is_finite(levels * scale + minimum)
    distance = x - minimum[:, None]
    if STOCHASTIC:
        factor = inverse * 16384.0
        steps = tl.minimum(distance * factor[:, None], LEVELS * 16384.0)
        whole = (steps + ROUNDER).to(tl.uint32, bitcast=True) - ROUNDER_BITS
        random = random_bits(((element // 16) * 8 + element % 8).to(tl.uint32), first, second)
        code = (whole + tl.where(element % 16 < 8, random & 0x3FFF, random >> 18)) >> 14
    else:
        code = (distance * inverse[:, None] + ROUNDER).to(tl.uint32, bitcast=True) - ROUNDER_BITS
    return bits | (scale_bits >> 18), code, fits


@triton.jit
def put_aside(x, bad, i, counter, rows, SLOTS: tl.constexpr, GROUP: tl.constexpr):
    """Rows of groups that have no grid go to the spare ones; the first of their numbers."""
    number = bad.to(tl.int64)
    ticket = tl.cumsum(number, axis=0) - number
    some = tl.sum(number)
    if some > 0:
        ticket += tl.atomic_add(counter, some)
        slot = ticket % SLOTS
        inside = bad[:, None] & (i < GROUP)[None, :]
        tl.store(rows + slot[:, None] * GROUP + i[None, :], x, mask=inside)
    return ticket


@triton.jit
def store_codes(
    code, header, ticket, fits, packed, g, here,
    BITS: tl.constexpr, BLOCK_ROWS: tl.constexpr, WORDS: tl.constexpr,
    GROUPS: tl.constexpr, PADDED: tl.constexpr, RECORD: tl.constexpr,
):  # fmt: skip
    """`here`: how many values each group has."""
    BLOCKS: tl.constexpr = PADDED // (8 * BLOCK_ROWS)
    fields = tl.reshape(code, (GROUPS, BLOCKS, BLOCK_ROWS, 8))
    row = tl.arange(0, BLOCK_ROWS)[None, None, :, None]
    block = tl.arange(0, BLOCKS)[None, :, None]
    column = tl.arange(0, 8)[None, None, :]
    record = g.to(tl.int64) * RECORD
    rows = (here + 7) // 8
    escaped = (fits == 0)[:, None, None]
    for word in tl.static_range(WORDS):
        shift = BITS * row - 32 * word
        up = tl.where((shift >= 0) & (shift < 32), shift, 0).to(tl.uint32)
        part = tl.where((shift >= 0) & (shift < 32), fields << up, 0)
        if WORDS > 1:
            down = tl.where((shift < 0) & (shift > -BITS), -shift, 0).to(tl.uint32)
            part |= tl.where((shift < 0) & (shift > -BITS), fields >> down, 0)
        words = tl.sum(part, axis=2).to(tl.uint32)
        place = (block * WORDS + word) * 8 + column
        half = tl.where(place == 0, ticket[:, None, None], ticket[:, None, None] >> 32)
        aside = tl.where(place < 2, half & 0xFFFFFFFF, 0).to(tl.uint32)
        words = tl.where(escaped, aside, words)
        used = (block * WORDS + word) * 32 < (rows * BITS)[:, None, None]
        tl.store(packed + record[:, None, None] + 1 + place, words, mask=used)
    tl.store(packed + record, tl.where(fits, header, ESCAPE).to(tl.uint32), mask=here > 0)


@triton.jit(do_not_specialize=["count", "begin", "first", "second"])
def pack_kernel(
    values, packed, counter, rows, count, begin, first, second,
    BITS: tl.constexpr, GROUP: tl.constexpr, PADDED: tl.constexpr, GROUPS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr, WORDS: tl.constexpr, SLOTS: tl.constexpr,
    STOCHASTIC: tl.constexpr,
):  # fmt: skip
    """Groups `begin` and on; `count` values in all."""
    g = begin + tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    i = tl.arange(0, PADDED)
    start = g.to(tl.int64) * GROUP
    element = start[:, None] + i[None, :]
    inside = (element < count) & (i < GROUP)[None, :]
    # What is made up repeats a value of the group, so that its extremes stay.
    there = tl.minimum(element, tl.minimum(start + GROUP, count)[:, None] - 1)
    x = widened(tl.load(values + tl.maximum(there, 0)))
    finite = is_finite(x)
    clean = tl.where(finite, x, 0.0)
    header, code, fits = grid_codes(
        clean, finite, element, first, second, (1 << BITS) - 1, STOCHASTIC
    )
    code = tl.where(inside & fits[:, None], code, 0).to(tl.uint32)
    here = tl.maximum(tl.minimum(count - start, GROUP), 0)
    ticket = put_aside(x, (fits == 0) & (here > 0), i, counter, rows, SLOTS, GROUP)
    store_codes(
        code, header, ticket, fits, packed, g, here,
        BITS, BLOCK_ROWS, WORDS, GROUPS, PADDED, 1 + GROUP * BITS // 32,
    )  # fmt: skip


# ---- 1 bit, nearest: two conditional means ------------------------------------------------------


@triton.jit
def sum_of_lanes(lanes, GROUPS: tl.constexpr):
    """(k, k + 8), (k, k + 4), then (0 + 2) + (1 + 3)."""
    low, high = tl.split(tl.permute(tl.reshape(lanes, (GROUPS, 2, 8)), (0, 2, 1)))
    low, high = tl.split(tl.permute(tl.reshape(low + high, (GROUPS, 2, 4)), (0, 2, 1)))
    low, high = tl.split(tl.permute(tl.reshape(low + high, (GROUPS, 2, 2)), (0, 2, 1)))
    low, high = tl.split(low + high)
    return low + high


@triton.jit(do_not_specialize=["count"])
def split_kernel(
    values, packed, counter, rows, count,
    GROUP: tl.constexpr, PADDED: tl.constexpr, GROUPS: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Sums need the order of their values, so a group is read three times, but once from memory."""
    g = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    lane = tl.arange(0, 16)
    start = g.to(tl.int64) * GROUP
    here = tl.maximum(tl.minimum(count - start, GROUP), 0)
    total = tl.zeros((GROUPS, 16), tl.float32)
    all_finite = tl.full((GROUPS,), 1, tl.int32)
    for step in range(GROUP // 16):
        at = step * 16 + lane
        inside = at[None, :] < here[:, None]
        x = widened(tl.load(values + start[:, None] + at[None, :], mask=inside, other=0.0))
        finite = is_finite(x)
        all_finite &= tl.min(finite.to(tl.int32), axis=1)
        total += tl.where(finite, x, 0.0)
    number = tl.maximum(here, 1).to(tl.float32)
    threshold = without_minus_zero(tl.div_rn(sum_of_lanes(total, GROUPS), number))
    below = tl.zeros((GROUPS, 16), tl.float32)
    beyond = tl.zeros((GROUPS, 16), tl.float32)
    many = tl.zeros((GROUPS,), tl.int32)
    for step in range(GROUP // 16):
        at = step * 16 + lane
        inside = at[None, :] < here[:, None]
        x = widened(tl.load(values + start[:, None] + at[None, :], mask=inside, other=0.0))
        distance = threshold[:, None] - tl.where(is_finite(x), x, 0.0)
        above = inside & (distance < 0)
        below += tl.where(inside & (distance > 0), distance, 0.0)
        beyond += tl.where(above, distance, 0.0)
        many += tl.sum(above.to(tl.int32), axis=1)
    up = many.to(tl.float32)
    down = (here.to(tl.int32) - many).to(tl.float32)
    low = threshold - tl.div_rn(sum_of_lanes(below, GROUPS), tl.maximum(down, 1.0))
    low = without_minus_zero(tl.where(down > 0, low, threshold))
    high = threshold - tl.div_rn(sum_of_lanes(beyond, GROUPS), tl.maximum(up, 1.0))
    high = tl.where(up > 0, high, tl.where(down > 0, low, threshold))
    bits = (low.to(tl.uint32, bitcast=True) + 0x1000) & 0xFFFFE000
    minimum = bits.to(tl.float32, bitcast=True)
    extent = high - minimum
    fits = (all_finite > 0) & is_finite(threshold) & is_finite(low) & is_finite(high)
    fits = fits & is_finite(minimum) & is_finite(extent)
    rounded = (extent.to(tl.uint32, bitcast=True) + 0x20000) & 0xFFFC0000
    scale_bits = tl.where(fits & (extent > 0), rounded, 0)
    fits = fits & is_finite(scale_bits.to(tl.float32, bitcast=True) + minimum)

    i = tl.arange(0, PADDED)
    inside = i[None, :] < here[:, None]
    x = widened(tl.load(values + start[:, None] + i[None, :], mask=inside, other=0.0))
    distance = threshold[:, None] - x
    code = tl.where(inside & fits[:, None] & (distance < 0), 1, 0).to(tl.uint32)
    # The row of a short group goes on with its last value, as everywhere.
    ticket = put_aside(x, (fits == 0) & (here > 0), i, counter, rows, SLOTS, GROUP)
    store_codes(
        code, bits | (scale_bits >> 18), ticket, fits, packed, g, here,
        1, 32, 1, GROUPS, PADDED, 1 + GROUP // 32,
    )  # fmt: skip


# ---- Back ---------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["count"])
def unpack_kernel(
    packed, values, signs, counter, rows, count,
    BITS: tl.constexpr, GROUP: tl.constexpr, PADDED: tl.constexpr, GROUPS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr, WORDS: tl.constexpr, SLOTS: tl.constexpr, SIGNS: tl.constexpr,
):  # fmt: skip
    RECORD: tl.constexpr = 1 + GROUP * BITS // 32
    BLOCKS: tl.constexpr = PADDED // (8 * BLOCK_ROWS)
    g = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    start = g.to(tl.int64) * GROUP
    here = tl.maximum(tl.minimum(count - start, GROUP), 0)
    record = g.to(tl.int64) * RECORD
    header = tl.load(packed + record, mask=here > 0, other=0).to(tl.uint32, bitcast=True)
    row = tl.arange(0, BLOCK_ROWS)[None, None, :, None]
    block = tl.arange(0, BLOCKS)[None, :, None]
    column = tl.arange(0, 8)[None, None, :]
    used_bits = ((here + 7) // 8 * BITS)[:, None, None]
    codes = tl.zeros((GROUPS, BLOCKS, BLOCK_ROWS, 8), tl.uint32)
    for word in tl.static_range(WORDS):
        place = (block * WORDS + word) * 8 + column
        used = (block * WORDS + word) * 32 < used_bits
        words = tl.load(packed + record[:, None, None] + 1 + place, mask=used, other=0)
        words = words.to(tl.uint32, bitcast=True)[:, :, None, :]
        shift = BITS * row - 32 * word
        down = tl.where((shift >= 0) & (shift < 32), shift, 0).to(tl.uint32)
        codes |= tl.where((shift >= 0) & (shift < 32), words >> down, 0)
        if WORDS > 1:
            up = tl.where((shift < 0) & (shift > -BITS), -shift, 0).to(tl.uint32)
            codes |= tl.where((shift < 0) & (shift > -BITS), words << up, 0)
    codes = tl.reshape(codes & ((1 << BITS) - 1), (GROUPS, PADDED))
    minimum = (header & 0xFFFFE000).to(tl.float32, bitcast=True)
    scale = ((header & 0x1FFF) << 18).to(tl.float32, bitcast=True)
    x = limited(codes.to(tl.float32) * scale[:, None] + minimum[:, None], values)
    i = tl.arange(0, PADDED)
    element = start[:, None] + i[None, :]
    inside = i[None, :] < here[:, None]
    escaped = (header == ESCAPE) & (here > 0)
    if tl.sum(escaped.to(tl.int32)) > 0:
        low = tl.load(packed + record + 1, mask=escaped, other=0).to(tl.uint32, bitcast=True)
        high = tl.load(packed + record + 2, mask=escaped, other=0).to(tl.int64)
        ticket = (high << 32) | low.to(tl.int64)
        now = tl.load(counter)
        there = escaped & (ticket >= 0) & (ticket < now) & (now - ticket <= SLOTS)
        at = tl.where(there, ticket % SLOTS, 0)
        aside = rows + at[:, None] * GROUP + i[None, :]
        kept = tl.load(aside, mask=there[:, None] & inside, other=float("nan"))
        x = tl.where(escaped[:, None], kept, x)
    if SIGNS:
        byte = tl.load(signs + element // 8, mask=inside, other=0).to(tl.int32)
        x = with_sign(x, (byte >> (element % 8).to(tl.int32)) & 1, values)
    tl.store(values + element, narrow(x, values), mask=inside)


# ---- As functions -------------------------------------------------------------------------------


def quantize_pack(
    values: torch.Tensor, bits: int, group: int, rounding: str, seed: int
) -> torch.Tensor:
    flat = values.detach().reshape(-1)
    count = flat.numel()
    packed = flat.new_empty(quantized_size(count, bits, group), dtype=torch.uint8)
    if count == 0:
        return packed
    words, spare = packed.view(torch.int32), spare_of(flat.device, group)
    padded, slots = triton.next_power_of_2(group), spare.slots - 1
    stochastic = rounding == "stochastic"
    groups = max(1, tile_values() // padded)
    warps = warps_for(groups * padded)
    with on_device_of(flat):
        if bits == 1 and not stochastic:
            split_kernel[tiles(-(-count // group), groups)](
                flat, words, spare.counter, spare.rows, count,
                GROUP=group, PADDED=padded, GROUPS=groups, SLOTS=slots, num_warps=warps, **OPTIONS,
            )  # fmt: skip
            return packed
        rows, columns = blocks_of(bits)
        for piece in pieces(count, group, seed, stochastic):
            end = min(count, piece.end * group)
            pack_kernel[tiles(piece.end - piece.begin, groups)](
                flat, words, spare.counter, spare.rows, end,
                piece.begin, piece.first, piece.second,
                BITS=bits, GROUP=group, PADDED=padded, GROUPS=groups, BLOCK_ROWS=rows,
                WORDS=columns, SLOTS=slots, STOCHASTIC=stochastic, num_warps=warps, **OPTIONS,
            )  # fmt: skip
    return packed


def quantize_unpack(
    packed: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    bits: int,
    group: int,
    signs: torch.Tensor | None = None,
) -> torch.Tensor:
    values = packed.new_empty(shape, dtype=dtype)
    count = math.prod(shape)
    if count == 0:
        return values
    spare, padded = spare_of(packed.device, group), triton.next_power_of_2(group)
    groups = max(1, tile_values() // padded)
    rows, columns = blocks_of(bits)
    with on_device_of(packed):
        unpack_kernel[tiles(-(-count // group), groups)](
            packed.view(torch.int32), values.view(-1), packed if signs is None else signs,
            spare.counter, spare.rows, count,
            BITS=bits, GROUP=group, PADDED=padded, GROUPS=groups, BLOCK_ROWS=rows, WORDS=columns,
            SLOTS=spare.slots - 1, SIGNS=signs is not None,
            num_warps=warps_for(groups * padded), **OPTIONS,
        )  # fmt: skip
    return values
