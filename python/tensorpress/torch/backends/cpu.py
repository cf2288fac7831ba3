"""The operators for tensors on the CPU: the library's kernels, into memory of PyTorch's.

A result of None means that the method cannot represent the values (NaN, infinity, a third value in
a mask), and that they have to be kept as they are; other backends never wait to find out. Packed
bytes are allocated by PyTorch so that its profiler counts them. docs/format.md describes the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ... import _core
from .default import chop as default_chop
from .sizes import CERESZ_BLOCK


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


def chop_pack(values: torch.Tensor, cf: int, layout: str, transform: str) -> torch.Tensor:
    points = default_chop.check(cf, layout, transform)
    height, width = (-(-size // points) * points for size in values.shape[-2:])
    planes = values.detach().resolve_neg().float()
    planes = default_chop.filled(planes, height, width).contiguous()
    kept = torch.empty(default_chop.kept_shape(values.shape, cf, layout, transform))
    if kept.numel():
        _core.chop_forward(planes.view(-1), width, kept.view(-1), transform, layout, cf)
    return kept


def chop_unpack(
    kept: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    cf: int,
    layout: str,
    transform: str,
) -> torch.Tensor:
    points = default_chop.check(cf, layout, transform)
    height, width = (-(-size // points) * points for size in shape[-2:])
    planes = torch.empty((*shape[:-2], height, width))
    if planes.numel():
        _core.chop_inverse(
            _flat(kept.float().contiguous()), planes.view(-1), width, transform, layout, cf
        )
    return default_chop.limited(planes[..., : shape[-2], : shape[-1]], dtype).contiguous()


def ceresz_pack(values: torch.Tensor, bound: float) -> tuple[torch.Tensor, torch.Tensor]:
    flat = _flat(values.contiguous()).float()
    packed = _bytes(_core.ceresz_room(flat.numel()))
    size = _core.ceresz_pack(flat, packed, bound)
    packed[size:] = 0  # the same result every time
    return packed, torch.tensor([size])


def ceresz_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bound: float
) -> torch.Tensor:
    values = torch.empty(shape)
    blocks = -(-values.numel() // CERESZ_BLOCK)
    # What lies behind the last plane does not count.
    widths = packed[1 : 1 + blocks].long()
    words = int(torch.where(widths == 255, 32, widths).sum())
    packed = packed[: 1 + blocks + 4 * words].contiguous()
    _core.ceresz_unpack(packed, values.view(-1), bound)
    return default_chop.limited(values, dtype)


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
