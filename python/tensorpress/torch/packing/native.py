"""Values of tensors on the CPU in fewer bits: the library's packing, into memory of PyTorch's.

portable.py has the same functions for other devices. `values` are contiguous; a result of
None means that the method cannot represent them (NaN, infinity, a third value in a mask), and that
they have to be kept as they are. Packed bytes are allocated by PyTorch so that its profiler counts
them. docs/format.md describes the bytes, which are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ... import _core

CAST_TYPES = ("bf16", "f16", "e4m3", "e5m2")


def quantize_pack(
    values: torch.Tensor, bits: int, group: int, rounding: str, seed: int
) -> torch.Tensor | None:
    packed = _bytes(_core.quantize_size(values.numel(), bits, group))
    seed %= 2**64  # operators of PyTorch have signed numbers
    fits = _core.quantize_pack(_flat(values), packed, bits, group, rounding, seed, _threads())
    return packed if fits else None


def quantize_unpack(
    packed: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    bits: int,
    group: int,
    signs: torch.Tensor | None = None,
) -> torch.Tensor:
    values = torch.empty(shape, dtype=dtype)
    _core.quantize_unpack(packed, values.view(-1), bits, group, signs, _threads())
    return values


def cast_pack(values: torch.Tensor, to: str) -> torch.Tensor | None:
    packed = _bytes(_core.cast_size(values.numel(), to))
    return packed if _core.cast_pack(_flat(values), packed, to, _threads()) else None


def cast_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
) -> torch.Tensor:
    values = torch.empty(shape, dtype=dtype)
    _core.cast_unpack(packed, values.view(-1), to, _threads())
    return values


def mask_pack(values: torch.Tensor) -> torch.Tensor | None:
    packed = _bytes(_core.mask_size(values.numel()))
    return packed if _core.mask_pack(_as_numbers(values), packed) else None


def mask_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    values = torch.empty(shape, dtype=dtype)
    _core.mask_unpack(packed, _as_numbers(values))
    return values


def sign_pack(values: torch.Tensor) -> torch.Tensor:
    packed = _bytes(_core.sign_size(values.numel()))
    _core.sign_pack(_as_numbers(values), packed, _threads())
    return packed


def sign_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    values = torch.empty(shape, dtype=dtype)
    _core.sign_unpack(packed, _as_numbers(values), _threads())
    return values


def restore_signs(values: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    """Changes the values in place and gives them back."""
    _core.restore_signs(signs, _flat(values), _threads())
    return values


def _flat(values: torch.Tensor) -> torch.Tensor:
    # DLPack refuses tensors that require gradients, and loses the sign of lazily negated ones.
    return values.detach().resolve_neg().view(-1)


def _as_numbers(values: torch.Tensor) -> torch.Tensor:
    flat = _flat(values)
    return flat.view(torch.uint8) if values.dtype == torch.bool else flat


def _bytes(count: int) -> torch.Tensor:
    return torch.empty(count, dtype=torch.uint8)


def _threads() -> int:
    return torch.get_num_threads()
