"""Codec quantize, of docs/format.md, in PyTorch's operations.

Arithmetic is f32, every operation by itself. Divisors are tensors: by a number, a GPU would
multiply with its reciprocal. Fields are packed in int32, which wraps as u32 does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from ..rounding import pieces
from ..sizes import blocks_of, quantized_size
from ..spare import ESCAPE, spare_of

WORDS = 8  # side by side, 32 bits each
LANES = 16  # that sums are taken in
ROUNDER, ROUNDER_BITS = 12582912.0, 0x4B400000
SMALLEST_SCALE = 2.0**-112
INFINITY_BITS = 0x7F800000


class Grid(NamedTuple):
    """Of each group, as columns. `fits`: f32 holds it."""

    minimum: torch.Tensor
    scale: torch.Tensor
    inverse: torch.Tensor
    fits: torch.Tensor


def quantize_pack(
    values: torch.Tensor, bits: int, group: int, rounding: str, seed: int
) -> torch.Tensor:
    count = values.numel()
    size = quantized_size(count, bits, group)
    if count == 0:
        return values.new_empty(0, dtype=torch.uint8)
    flat = values.detach().reshape(-1)
    stochastic = rounding == "stochastic"
    parts = []
    for piece in pieces(count, group, seed, stochastic):
        part = flat[piece.begin * group : piece.end * group]
        if bits == 1 and not stochastic:
            records = _split_by_mean(part, group)
        else:
            records = _on_grid(part, bits, group, piece if stochastic else None)
        parts.append(records.view(-1))
    packed = parts[0] if len(parts) == 1 else torch.cat(parts)
    packed = packed.view(torch.uint8)
    return packed if packed.numel() == size else packed[:size].clone()


def quantize_unpack(
    packed: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    bits: int,
    group: int,
    signs: torch.Tensor | None = None,
) -> torch.Tensor:
    count = math.prod(shape)
    groups = -(-count // group)
    if count == 0:
        return packed.new_empty(shape, dtype=dtype)
    record = 4 + group * bits // 8
    if packed.numel() != groups * record:
        packed = torch.cat([packed, packed.new_zeros(groups * record - packed.numel())])
    words = packed.view(torch.int32).view(groups, -1)
    header = words[:, :1]
    minimum = (header & -0x2000).view(torch.float32)
    scale = ((header & 0x1FFF) << 18).view(torch.float32)
    codes = _unpacked_codes(words[:, 1:], bits).reshape(groups, group)
    values = codes.float() * scale + minimum
    if dtype != torch.float32:
        largest = torch.finfo(dtype).max
        values = values.clamp(-largest, largest)
    values = torch.where(header == _as_int32(ESCAPE), _from_spare(words, group), values)
    values = values.to(dtype).view(-1)[:count].view(shape)
    if signs is not None:
        from .bits import restore_signs

        return restore_signs(values.clone(), signs)
    return values if groups * group == count else values.clone()


# ---- Groups and their grids ---------------------------------------------------------------------


def _rows(part: torch.Tensor, group: int) -> tuple[torch.Tensor, int]:
    """A row a group, in f32; the last goes on with its last value. And how many are made up."""
    missing = -part.numel() % group
    if missing:
        part = torch.cat([part, part[-1:].expand(missing)])
    return part.view(-1, group).float(), missing


def _on_grid(part: torch.Tensor, bits: int, group: int, piece: object) -> torch.Tensor:
    rows, missing = _rows(part, group)
    finite = _is_finite(rows)
    clean = torch.where(finite, rows, 0.0)
    grid = _grid(clean, finite.all(1, keepdim=True), 2**bits - 1)
    distance = clean - grid.minimum
    if piece is None:
        codes = (distance * grid.inverse + ROUNDER).view(torch.int32) - ROUNDER_BITS
    else:
        codes = _stochastic(distance, grid.inverse, bits, group, piece)
    codes = torch.where(grid.fits, codes, 0)
    if missing:
        inside = torch.arange(codes.numel(), device=codes.device) < part.numel()
        codes = torch.where(inside.view(codes.shape), codes, 0)
    return _records(grid, _packed_codes(codes, bits), rows)


def _grid(rows: torch.Tensor, fits: torch.Tensor, levels: int) -> Grid:
    least = _without_minus_zero(rows.amin(1, keepdim=True))
    most = rows.amax(1, keepdim=True)
    pattern = least.view(torch.int32)
    pattern = torch.where(least < 0, pattern + 0x1FFF, pattern) & -0x2000  # away from zero
    minimum = pattern.view(torch.float32)
    extent = most - minimum
    fits = fits & _is_finite(minimum) & _is_finite(extent)
    steps = torch.full_like(extent, float(levels))
    exact = (extent / steps).clamp_min(SMALLEST_SCALE).view(torch.int32)
    some = fits & (extent > 0)
    scale = torch.where(some, (exact + 0x3FFFF) & -0x40000, 0).view(torch.float32)
    inverse = torch.where(some, 1.0 / torch.where(some, scale, 1.0), 0.0)
    fits = fits & _is_finite(steps * scale + minimum)
    return Grid(minimum, scale, inverse, fits)


def _stochastic(
    distance: torch.Tensor, inverse: torch.Tensor, bits: int, group: int, piece: object
) -> torch.Tensor:
    levels = float(2**bits - 1)
    steps = (distance * (inverse * 16384.0)).clamp_max(levels * 16384.0)
    whole = (steps + ROUNDER).view(torch.int32) - ROUNDER_BITS
    begin, _, first, second = piece  # type: ignore[misc]
    device = distance.device
    element = torch.arange(distance.numel(), device=device).view(distance.shape) + begin * group
    pair = (element // 16 * 8 + element % 8).to(torch.int32)
    x = pair ^ first
    x = (x ^ ((x >> 16) & 0xFFFF)) * 0x7FEB352D
    x = ((x ^ ((x >> 15) & 0x1FFFF)) + second) * _as_int32(0x846CA68B)
    x = x ^ ((x >> 16) & 0xFFFF)
    fraction = torch.where(element % 16 < 8, x & 0x3FFF, (x >> 18) & 0x3FFF)
    return (whole + fraction) >> 14


def _split_by_mean(part: torch.Tensor, group: int) -> torch.Tensor:
    """1 bit, nearest: above the group's mean or not, and the means of both sides."""
    rows, missing = _rows(part, group)
    finite = _is_finite(rows)
    clean = torch.where(finite, rows, 0.0)
    inside = torch.ones_like(clean, dtype=torch.bool)
    if missing:
        there = torch.arange(clean.numel(), device=clean.device) < part.numel()
        inside = there.view(clean.shape)
    zero = torch.zeros_like(clean)
    count = inside.sum(1, keepdim=True).float()
    mean = _sum_in_lanes(torch.where(inside, clean, zero)) / count
    threshold = _without_minus_zero(mean)
    distance = threshold - clean
    above = inside & (distance < 0)
    below = _sum_in_lanes(torch.where(inside & (distance > 0), distance, zero))
    beyond = _sum_in_lanes(torch.where(above, distance, zero))
    many = above.sum(1, keepdim=True).float()
    few = count - many
    low = torch.where(few > 0, threshold - below / few.clamp_min(1.0), threshold)
    high = torch.where(many > 0, threshold - beyond / many.clamp_min(1.0), low)
    low = _without_minus_zero(low)
    minimum = ((low.view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)
    extent = high - minimum
    fits = finite.all(1, keepdim=True) & _is_finite(threshold) & _is_finite(low)
    fits = fits & _is_finite(high) & _is_finite(minimum) & _is_finite(extent)
    rounded = (extent.view(torch.int32) + 0x20000) & -0x40000
    scale = torch.where(fits & (extent > 0), rounded, 0).view(torch.float32)
    fits = fits & _is_finite(scale + minimum)
    codes = torch.where(fits, above.to(torch.int32), 0)
    return _records(Grid(minimum, scale, scale, fits), _packed_codes(codes, 1), rows)


def _sum_in_lanes(rows: torch.Tensor) -> torch.Tensor:
    """In the order of the library: 16 lanes, value after value, and then the lanes."""
    steps = rows.view(rows.shape[0], -1, LANES)
    lanes = steps[:, 0] + 0.0
    for step in range(1, steps.shape[1]):
        lanes = lanes + steps[:, step]
    eight = lanes[:, :8] + lanes[:, 8:]
    four = eight[:, :4] + eight[:, 4:]
    return (four[:, 0:1] + four[:, 2:3]) + (four[:, 1:2] + four[:, 3:4])


# ---- Records ------------------------------------------------------------------------------------


def _records(grid: Grid, words: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Header and codes of each group, or where its values are among the spare ones."""
    header = grid.minimum.view(torch.int32) | ((grid.scale.view(torch.int32) >> 18) & 0x1FFF)
    spare = spare_of(rows.device, rows.shape[1])
    bad = ~grid.fits
    ticket = spare.counter + bad.long().cumsum(0).view(-1) - 1
    # Of ordinary groups the last row is written, which is never read.
    place = torch.where(bad.view(-1), ticket % (spare.slots - 1), spare.slots - 1)
    spare.rows.index_copy_(0, place, rows)
    spare.counter.add_(bad.sum())
    header = torch.where(bad, _as_int32(ESCAPE), header)
    ticket = ticket.view(-1, 1)
    low = torch.where(bad, ticket.to(torch.int32), words[:, :1])
    high = torch.where(bad, (ticket >> 32).to(torch.int32), words[:, 1:2])
    return torch.cat([header, low, high, words[:, 2:]], 1)


def _from_spare(words: torch.Tensor, group: int) -> torch.Tensor:
    """The values that each record would name, which are some for ordinary ones."""
    spare = spare_of(words.device, group)
    ticket = (words[:, 2].long() << 32) | (words[:, 1].long() & 0xFFFFFFFF)
    there = (words[:, 0] == _as_int32(ESCAPE)) & (ticket >= 0) & (ticket < spare.counter)
    there = there & (spare.counter - ticket <= spare.slots - 1)
    place = torch.where(there, ticket % (spare.slots - 1), spare.slots - 1)
    return torch.where(there.view(-1, 1), spare.rows[place], math.nan)


def _packed_codes(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Of groups, as rows. Code j of word w of a group is that of value 8 j + w."""
    rows, words = blocks_of(bits)
    fields = codes.reshape(codes.shape[0], -1, rows, WORDS)
    packed = []
    for word in range(words):
        total = None
        for row in range(rows):
            bit = bits * row - 32 * word
            if bit <= -bits or bit >= 32:
                continue
            field = fields[:, :, row]
            field = field << bit if bit >= 0 else field >> -bit
            total = field if total is None else total | field
        assert total is not None
        packed.append(total)
    return torch.stack(packed, 2).view(codes.shape[0], -1)


def _unpacked_codes(packed: torch.Tensor, bits: int) -> torch.Tensor:
    _, words = blocks_of(bits)
    fields = packed.reshape(packed.shape[0], -1, words, WORDS)
    codes = []
    for bit in range(0, 32 * words, bits):
        code = fields[:, :, bit // 32] >> bit % 32
        if bit % 32 + bits > 32:  # what comes before is the sign's copies
            code = code & (2 ** (32 - bit % 32) - 1)
            code = code | (fields[:, :, bit // 32 + 1] << (32 - bit % 32))
        codes.append(code & (2**bits - 1))
    return torch.stack(codes, 2)


def _is_finite(values: torch.Tensor) -> torch.Tensor:
    return (values.view(torch.int32) & 0x7FFFFFFF) < INFINITY_BITS


def _without_minus_zero(values: torch.Tensor) -> torch.Tensor:
    return torch.where(values == 0, 0.0, values)


def _as_int32(word: int) -> int:
    return word - 2**32 if word >= 2**31 else word
