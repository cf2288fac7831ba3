"""The functions of native.py in PyTorch's own operations, for any device.

The bytes are those that docs/format.md describes, so either side reads what the other packed. Only
the random numbers of stochastic rounding are others. Asking whether values can be represented makes
an accelerator wait once a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ... import _core

WORDS = 8  # side by side, 32 bits each
SMALLEST_SCALE = 2.0**-112
SMALL_POSITIVE = {torch.float16: 2.0**-24}  # of other types 2^-63
CASTS = {
    "bf16": (torch.bfloat16, torch.finfo(torch.bfloat16).max),
    "f16": (torch.float16, 65504.0),
    "e4m3": (torch.float8_e4m3fn, 448.0),
    "e5m2": (torch.float8_e5m2, 57344.0),
}


def quantize_pack(
    values: torch.Tensor, bits: int, group: int, rounding: str, seed: int
) -> torch.Tensor | None:
    count = values.numel()
    groups = math.ceil(count / group)
    if count == 0:
        return values.new_empty(0, dtype=torch.uint8)
    flat = values.detach().reshape(-1).float()
    missing = groups * group - count
    padded = torch.cat([flat, flat[-1:].expand(missing)]) if missing else flat
    rows = padded.view(groups, group)
    if bits == 1 and rounding == "nearest":
        minimum, scale = _conditional_means(rows, missing)
        codes = (rows > _row_means(rows, missing)).int()
    else:
        minimum = _rounded_down(rows.amin(1, keepdim=True))
        most = rows.amax(1, keepdim=True)
        levels = 2**bits - 1
        scale = ((most - minimum) / levels).clamp_min(SMALLEST_SCALE)
        scale = torch.where(most == minimum, 0.0, _rounded_up(scale))
        inverse = torch.where(scale == 0, 0.0, 1 / scale)
        exact = (rows - minimum) * inverse
        if rounding == "stochastic":
            generator = torch.Generator(values.device).manual_seed(seed % 2**63)
            random = torch.rand(exact.shape, generator=generator, device=values.device)
            codes = (exact + random).floor()
        else:
            codes = exact.round()
        codes = codes.clamp(0, levels).int()
        if not bool(torch.isfinite(levels * scale + minimum).all()):
            return None
    if not bool(torch.isfinite(minimum + scale).all() & torch.isfinite(flat).all()):
        return None
    if missing:
        codes[-1, group - missing :] = 0
    header = (_bits_of(minimum) & -0x2000) | (_bits_of(scale) >> 18 & 0x1FFF)
    words = _packed_codes(codes, bits)
    records = torch.cat([header, words.view(groups, -1)], 1)
    packed = records.contiguous().view(torch.uint8).view(-1)
    return packed[: _core.quantize_size(count, bits, group)].clone() if missing else packed


def quantize_unpack(
    packed: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    bits: int,
    group: int,
    signs: torch.Tensor | None = None,
) -> torch.Tensor:
    count = math.prod(shape)
    groups = math.ceil(count / group)
    if count == 0:
        return packed.new_empty(shape, dtype=dtype)
    record = 4 + group * bits // 8
    if packed.numel() != groups * record:
        packed = torch.cat([packed, packed.new_zeros(groups * record - packed.numel())])
    words = packed.view(torch.int32).view(groups, -1)
    header = words[:, :1]
    minimum = (header & -0x2000).view(torch.float32)
    scale = ((header & 0x1FFF) << 18).view(torch.float32)
    codes = _unpacked_codes(words[:, 1:], bits)
    values = codes.reshape(groups, group).float() * scale + minimum
    values = values.view(-1)[:count].view(shape)
    if dtype != torch.float32:
        largest = torch.finfo(dtype).max
        values = values.clamp(-largest, largest).to(dtype)
    elif groups * group != count:
        values = values.clone()  # not a piece of something larger
    return values if signs is None else restore_signs(values, signs)


def _packed_codes(codes: torch.Tensor, bits: int) -> torch.Tensor:
    """Of groups, as rows. Code j of word w of a group is that of value 8 j + w."""
    rows, words = _rows_and_words(bits)
    fields = codes.reshape(len(codes), -1, rows, WORDS)
    begins = range(0, 32 * words, bits)
    shifts = torch.tensor([bit % 32 for bit in begins], dtype=torch.int32, device=codes.device)
    low = fields << shifts.view(1, 1, -1, 1)
    packed = []
    for word in range(words):
        inside = [row for row, bit in enumerate(begins) if bit // 32 == word]
        # Fields do not overlap, so their sum is their union; the top one may wrap into the sign.
        packed.append(low[:, :, inside[0] : inside[-1] + 1].sum(2, dtype=torch.int32))
    for row, bit in enumerate(begins):
        if bit % 32 + bits > 32:  # the code ends in the next word
            packed[bit // 32 + 1] += fields[:, :, row] >> (32 - bit % 32)
    return torch.stack(packed, 2).view(len(codes), -1)


def _unpacked_codes(packed: torch.Tensor, bits: int) -> torch.Tensor:
    _, words = _rows_and_words(bits)
    fields = packed.reshape(len(packed), -1, words, WORDS)
    codes = []
    for bit in range(0, 32 * words, bits):
        code = fields[:, :, bit // 32] >> bit % 32
        if bit % 32 + bits > 32:  # what comes before is the sign's copies
            code &= 2 ** (32 - bit % 32) - 1
            code |= fields[:, :, bit // 32 + 1] << (32 - bit % 32)
        codes.append(code & (2**bits - 1))
    return torch.stack(codes, 2)


def _rows_and_words(bits: int) -> tuple[int, int]:
    """Of a block, whose words hold whole codes."""
    words = math.lcm(bits, 32) // 32
    return 32 * words // bits, words


def cast_pack(values: torch.Tensor, to: str) -> torch.Tensor | None:
    dtype, largest = CASTS[to]
    flat = values.detach().reshape(-1)
    if not bool((flat.abs() <= largest).all()):
        return None
    return flat.to(dtype).view(torch.uint8)


def cast_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
) -> torch.Tensor:
    return packed.view(CASTS[to][0]).to(dtype).view(shape)


def mask_pack(values: torch.Tensor) -> torch.Tensor | None:
    flat = _as_whole_numbers(values.detach().reshape(-1))
    other = flat.max() if bool((flat > 0).any()) else flat.min() if flat.numel() else flat.sum()
    if not bool(((flat == 0) | (flat == other)).all()):
        return None
    pattern = other.to(flat.dtype).view(1).view(torch.uint8)
    head = torch.cat([pattern, pattern.new_zeros(8 - pattern.numel())])
    return torch.cat([head, _bits_packed(flat != 0)])


def mask_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    chosen = _bits_unpacked(packed[8:], math.prod(shape)).view(shape)
    if dtype == torch.bool:
        return chosen
    other = packed[: dtype.itemsize].clone().view(dtype)
    return torch.where(chosen, other, torch.zeros((), dtype=dtype, device=packed.device))


def sign_pack(values: torch.Tensor) -> torch.Tensor:
    return _bits_packed(values.detach().reshape(-1) > 0)


def sign_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return _bits_unpacked(packed, math.prod(shape)).view(shape).to(dtype)


def restore_signs(values: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    """Changes the values in place and gives them back."""
    above = _bits_unpacked(signs, values.numel()).view(values.shape)
    small = SMALL_POSITIVE.get(values.dtype, 2.0**-63)
    values.masked_fill_(~above & (values > 0), 0)
    return values.masked_fill_(above & ~(values > 0), small)


def _bits_of(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(torch.int32)


def _rounded_down(minimum: torch.Tensor) -> torch.Tensor:
    """To 19 bits, towards minus infinity."""
    cut = _bits_of(minimum) & -0x2000
    below = torch.where(cut.view(torch.float32) > minimum, cut + 0x2000, cut)
    return below.view(torch.float32)


def _rounded_up(scale: torch.Tensor) -> torch.Tensor:
    """To 13 bits; scales are positive."""
    return ((_bits_of(scale) + 0x3FFFF) & -0x40000).view(torch.float32)


def _nearest(values: torch.Tensor, half: int) -> torch.Tensor:
    return ((_bits_of(values) + half) & (-2 * half)).view(torch.float32)


def _row_means(rows: torch.Tensor, missing: int) -> torch.Tensor:
    means = rows.mean(1, keepdim=True)
    if missing:
        means[-1] = rows[-1, : rows.shape[1] - missing].mean()
    return means


def _conditional_means(rows: torch.Tensor, missing: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the values that are not above the mean, and how far the mean of those above is from it."""
    threshold = _row_means(rows, missing)
    above = rows > threshold
    below = ~above
    if missing:
        below[-1, rows.shape[1] - missing :] = False
        above[-1, rows.shape[1] - missing :] = False
    sums = [torch.where(side, rows, 0.0).sum(1, keepdim=True) for side in (below, above)]
    counts = [side.sum(1, keepdim=True) for side in (below, above)]
    low = torch.where(counts[0] > 0, sums[0] / counts[0].clamp_min(1), threshold)
    minimum = _nearest(low, 0x1000)
    distance = sums[1] / counts[1].clamp_min(1) - minimum
    scale = torch.where((counts[1] > 0) & (distance > 0), _nearest(distance, 0x20000), 0.0)
    return minimum, scale


def _as_whole_numbers(flat: torch.Tensor) -> torch.Tensor:
    """The bits of the values, so that -0 is not 0 and NaN equals itself."""
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return flat.view(kinds[flat.dtype.itemsize])


def _bits_packed(chosen: torch.Tensor) -> torch.Tensor:
    """One bit each, lowest first; unused bits are 0."""
    missing = -chosen.numel() % 8
    if missing:
        chosen = torch.cat([chosen, chosen.new_zeros(missing)])
    weights = 2 ** torch.arange(8, device=chosen.device, dtype=torch.uint8)
    return (chosen.view(-1, 8).to(torch.uint8) * weights).sum(1, dtype=torch.uint8)


def _bits_unpacked(packed: torch.Tensor, count: int) -> torch.Tensor:
    shifts = torch.arange(8, device=packed.device, dtype=torch.uint8)
    return ((packed.view(-1, 1) >> shifts) & 1).view(-1)[:count].bool()
