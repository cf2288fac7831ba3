"""8-bit floats with a power of two for each group, so that any range fits. A microscaling format
(OCP MX) with groups of any size:

    count bytes    the numbers, e4m3 or e5m2, divided by their group's scale
    a byte a group its scale 2^(byte - 127)

The scale is the smallest with which no number is larger than the type's largest; NaN and infinities
do not count for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from .cast import of_fp8, to_fp8

LARGEST_EXPONENT = {"e4m3": 8, "e5m2": 15}  # of 448 and 57344, both 1.75 times a power of two


def fp8_pack(values: torch.Tensor, to: str, group: int) -> torch.Tensor:
    count = values.numel()
    if count == 0:
        return values.new_empty(0, dtype=torch.uint8)
    flat = values.detach().reshape(-1)
    missing = -count % group
    if missing:
        flat = torch.cat([flat, flat[-1:].expand(missing)])
    rows = flat.view(-1, group).float()
    magnitude = rows.view(torch.int32) & 0x7FFFFFFF
    most = torch.where(magnitude < 0x7F800000, magnitude, 0).amax(1, keepdim=True)
    above = ((most & 0x7FFFFF) > 0x600000).to(torch.int32)
    scale = ((most >> 23) - LARGEST_EXPONENT[to] + above).clamp(1, 253)
    inverse = ((254 - scale) << 23).view(torch.float32)
    codes = to_fp8(rows * inverse, to).view(-1)[:count]
    return torch.cat([codes, scale.to(torch.uint8).view(-1)])


def fp8_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str, group: int
) -> torch.Tensor:
    count = math.prod(shape)
    if count == 0:
        return packed.new_empty(shape, dtype=dtype)
    codes, scale = packed[:count], packed[count:]
    missing = -count % group
    if missing:
        codes = torch.cat([codes, codes.new_zeros(missing)])
    factor = (scale.to(torch.int32) << 23).view(torch.float32)
    values = of_fp8(codes, to).view(-1, group) * factor.view(-1, 1)
    return values.to(dtype).view(-1)[:count].view(shape).clone()
