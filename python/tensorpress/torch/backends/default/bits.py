"""One bit a value: masks, signs and comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

SMALL_POSITIVE = {torch.float16: 2.0**-24}  # of other types 2^-63
WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def mask_pack(values: torch.Tensor) -> torch.Tensor | None:
    """Asks whether there is a third value, except of bool, which has none: the one operator that
    waits for a device. `mask_pack_flagged` does not."""
    packed, fits = mask_pack_flagged(values)
    return packed if values.dtype == torch.bool or bool(fits) else None


def mask_pack_flagged(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The packed bytes, and whether they are all there is (a flag on the device): values of more
    than one pattern of bits besides all zeros are not."""
    flat = _patterns(values.detach().reshape(-1))
    if flat.numel() == 0:
        head = flat.new_zeros(8, dtype=torch.uint8)
        return head, torch.ones((), dtype=torch.bool, device=flat.device)
    least, most = flat.amin(), flat.amax()
    other = torch.where(most > 0, most, least)
    fits = ((flat == 0) | (flat == other)).all()
    if values.dtype == torch.bool:
        other = other.clamp_max(1)
    pattern = other.view(1).view(torch.uint8)
    head = torch.cat([pattern, pattern.new_zeros(8 - pattern.numel())])
    return torch.cat([head, _bits_packed(flat != 0)]), fits


def mask_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    chosen = _bits_unpacked(packed[8:], math.prod(shape)).view(shape)
    if dtype == torch.bool:
        return chosen & (packed[0] != 0)
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


def _patterns(flat: torch.Tensor) -> torch.Tensor:
    """The bits of the values, so that -0 is not 0 and NaN equals itself."""
    return flat.view(WHOLE[flat.dtype.itemsize])


def _bits_packed(chosen: torch.Tensor) -> torch.Tensor:
    """One bit each, lowest first; unused bits are 0."""
    missing = -chosen.numel() % 8
    if missing:
        chosen = torch.cat([chosen, chosen.new_zeros(missing)])
    shifts = torch.arange(8, device=chosen.device, dtype=torch.int32)
    return (chosen.view(-1, 8).to(torch.int32) << shifts).sum(1, dtype=torch.int32).to(torch.uint8)


def _bits_unpacked(packed: torch.Tensor, count: int) -> torch.Tensor:
    shifts = torch.arange(8, device=packed.device, dtype=torch.uint8)
    return ((packed.view(-1, 1) >> shifts) & 1).view(-1)[:count].bool()
