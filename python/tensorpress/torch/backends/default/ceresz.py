"""Codec ceresz of docs/format.md: blocks of 32 values as bit planes of their own width. The bytes
are what the library writes for a chunk of these values (u8 slack, widths, planes).

How long they are depends on the values, and nothing asks for it: the result has room for the worst
case, and the second result says on the device how much of it counts. Planes are placed by the sum
of the widths before them; nothing waits.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import torch

from ..sizes import CERESZ_BLOCK, ceresz_room

MAGIC, MAGIC_BITS = 12582912.0, 0x4B400000
RAW = 255
SAMPLED = 64  # every so manyth value decides about the slack
SMALLEST, LARGEST = 2.0**-126, 3.4028234663852886e38 / 16  # of bounds


def ceresz_pack(values: torch.Tensor, bound: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The packed bytes in as much room as they could need, and their number."""
    flat = values.detach().reshape(-1)
    count, device = flat.numel(), flat.device
    limit = tolerance(bound)
    if count == 0:
        return flat.new_empty(0, dtype=torch.uint8), _number(0, device)
    flat = flat.float()
    missing = -count % CERESZ_BLOCK
    rows = torch.cat([flat, flat[-1:].expand(missing)]) if missing else flat
    rows = rows.view(-1, CERESZ_BLOCK)
    slack, step, scale = quantizer(flat, limit)
    quanta = _bits(rows * scale + MAGIC) - MAGIC_BITS
    back = ((quanta + MAGIC_BITS).view(torch.float32) - MAGIC) * step
    holds = ((rows - back).abs() <= limit).all(1)
    before = torch.cat([torch.zeros_like(quanta[:, :1]), quanta[:, :-1]], 1)
    difference = quanta - before
    codes = (difference << 1) ^ (difference >> 31)
    places = _places(device)
    planes = torch.stack(
        [(((codes >> p) & 1) << places).sum(1, dtype=torch.int32) for p in range(32)], 1
    )
    bits = torch.arange(32, device=device, dtype=torch.int32)
    width = torch.where(planes != 0, bits + 1, 0).amax(1)
    words = torch.where(holds, width, 32)
    planes = torch.where(holds.view(-1, 1), planes, _bits(rows))
    end = words.long().cumsum(0)
    inside = bits < words.view(-1, 1)
    # What is not stored goes behind the end, into one word.
    target = torch.where(inside, (end - words).view(-1, 1) + bits, 32 * rows.shape[0])
    stored = planes.new_zeros(32 * rows.shape[0] + 1)
    stored.index_copy_(0, target.view(-1), planes.view(-1))
    widths = torch.where(holds, width, RAW).to(torch.uint8)
    head = torch.cat([slack.to(torch.uint8).view(1), widths])
    packed = torch.cat([head, stored[:-1].view(torch.uint8)])
    assert packed.numel() == ceresz_room(count)
    return packed, (head.numel() + 4 * end[-1:]).to(torch.int64)


def ceresz_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bound: float
) -> torch.Tensor:
    """Of as many bytes as were packed or more. Widths that do not exist and planes that are not
    there give some values, never harm."""
    count = math.prod(shape)
    limit = tolerance(bound)
    device = packed.device
    if count == 0:
        return packed.new_empty(shape, dtype=dtype)
    blocks = -(-count // CERESZ_BLOCK)
    if packed.numel() < 1 + blocks:
        raise ValueError(f"{packed.numel()} bytes are too few for {blocks} blocks of ceresz")
    width = packed[1 : 1 + blocks].to(torch.int32)
    raw = width == RAW
    words = torch.where(raw, 32, width).clamp_max(32)
    payload = packed[1 + blocks :]
    whole = payload[: payload.numel() // 4 * 4].clone().view(torch.int32)
    whole = torch.cat([whole, whole.new_zeros(1)])
    begin = words.long().cumsum(0) - words
    bits = torch.arange(32, device=device, dtype=torch.int32)
    source = begin.view(-1, 1) + bits
    there = (bits < words.view(-1, 1)) & (source < whole.numel() - 1)
    planes = torch.where(there, whole[torch.where(there, source, whole.numel() - 1)], 0)
    places = _places(device)
    codes = torch.zeros_like(planes)
    for p in range(32):
        codes = codes | (((planes[:, p : p + 1] >> places) & 1) << p)
    difference = ((codes >> 1) & 0x7FFFFFFF) ^ -(codes & 1)
    quanta = difference.cumsum(1, dtype=torch.int32)
    slack = packed[:1].to(torch.int32) & 7
    step = steps(slack, limit)
    values = ((quanta + MAGIC_BITS).view(torch.float32) - MAGIC) * step
    values = torch.where(raw.view(-1, 1), planes.view(torch.float32), values)
    return values.to(dtype).view(-1)[:count].view(shape).clone()


def tolerance(bound: float) -> float:
    """The number before the largest f32 that is at most the bound."""
    if not SMALLEST <= bound <= LARGEST:
        raise ValueError(f"the bound {bound} is not between {SMALLEST:.6g} and {LARGEST:.6g}")
    pattern = struct.unpack("<I", struct.pack("<f", bound))[0]
    if struct.unpack("<f", struct.pack("<I", pattern))[0] > bound:
        pattern -= 1
    return float(struct.unpack("<f", struct.pack("<I", pattern - 1))[0])


def steps(slack: torch.Tensor, limit: float) -> torch.Tensor:
    """(2 t) (1 - 2^-(10 - slack)), in f32."""
    share = 1.0 - ((117 + slack) << 23).view(torch.float32)
    return torch.full_like(share, limit) * 2.0 * share


def quantizer(flat: torch.Tensor, limit: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Slack, step and 1 / step of these values, as tensors of one number."""
    some = flat[::SAMPLED].float().abs()
    largest = torch.where(some.isnan(), 0.0, some).amax().view(1)
    zero = torch.zeros(1, dtype=torch.int32, device=flat.device)
    quantum = largest * (1.0 / steps(zero, limit))
    thresholds = 4096.0 * 2.0 ** torch.arange(7, device=flat.device, dtype=torch.float32)
    slack = (quantum > thresholds).sum(dtype=torch.int32).view(1)
    step = steps(slack, limit)
    return slack, step, 1.0 / step


def _places(device: torch.device) -> torch.Tensor:
    """Which bit of a plane each value has: that of 8 c + 2 m + h is 8 m + 4 h + c."""
    value = torch.arange(CERESZ_BLOCK, device=device, dtype=torch.int32)
    return 8 * (value % 8 // 2) + 4 * (value % 2) + value // 8


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.view(torch.int32)


def _number(value: int, device: torch.device) -> torch.Tensor:
    return torch.full((1,), value, dtype=torch.int64, device=device)
