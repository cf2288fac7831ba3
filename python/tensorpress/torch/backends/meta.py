"""The functions of native.py for tensors without memory (device meta): results have the right sizes
and hold nothing. So a model that does not fit anywhere can be asked what its training would store.

Whether values can be represented is not known; it is assumed, as for ordinary values.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ... import _core


def quantize_pack(
    values: torch.Tensor, bits: int, group: int, rounding: str, seed: int
) -> torch.Tensor | None:
    return _bytes(_core.quantize_size(values.numel(), bits, group))


def quantize_unpack(
    packed: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    bits: int,
    group: int,
    signs: torch.Tensor | None = None,
) -> torch.Tensor:
    return _values(shape, dtype)


def cast_pack(values: torch.Tensor, to: str) -> torch.Tensor | None:
    return _bytes(_core.cast_size(values.numel(), to))


def cast_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
) -> torch.Tensor:
    return _values(shape, dtype)


def mask_pack(values: torch.Tensor) -> torch.Tensor | None:
    return _bytes(_core.mask_size(values.numel()))


def mask_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return _values(shape, dtype)


def sign_pack(values: torch.Tensor) -> torch.Tensor:
    return _bytes(_core.sign_size(values.numel()))


def sign_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return _values(shape, dtype)


def restore_signs(values: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    return values


def _bytes(count: int) -> torch.Tensor:
    return torch.empty(count, dtype=torch.uint8, device="meta")


def _values(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")
