"""Packing as operators of PyTorch: torch.ops.tensorpress.*, for compiled and exported code.

    packed = torch.ops.tensorpress.quantize_pack(x, 4, 256, "nearest", 0)
    back = torch.ops.tensorpress.quantize_unpack(packed, x.shape, x.dtype, 4, 256)

They take tensors of any strides and device, and have the shapes of their results known without
running (fake tensors), so torch.compile does not break at them. An operator has no way to say that
values cannot be packed: NaN and infinities are an error here.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from .packing.backend import NATIVE
from .packing.codecs import Cast

packing_for = NATIVE.packing_for

# Packing reads tensors of any strides. Without this tag Inductor copies what it has made
# channels_last back to the order that the graph said.
_TAGGED = "tags" in inspect.signature(torch.library.custom_op).parameters
ANY_STRIDES: dict[str, Any] = {"tags": (torch.Tag.flexible_layout,)} if _TAGGED else {}


@torch.library.custom_op("tensorpress::quantize_pack", mutates_args=(), **ANY_STRIDES)
def quantize_pack(
    values: torch.Tensor, bits: int, group: int, rounding: str, seed: int
) -> torch.Tensor:
    packing = packing_for(values)
    packed = packing.quantize_pack(values.contiguous(), bits, group, rounding, seed)
    if packed is None:
        raise ValueError(
            "tensorpress::quantize_pack: values are NaN, infinite or too far apart; keep them"
        )
    return packed


@quantize_pack.register_fake
def _(values: torch.Tensor, bits: int, group: int, rounding: str, seed: int) -> torch.Tensor:
    return values.new_empty(quantized_size(values.numel(), bits, group), dtype=torch.uint8)


def quantized_size(count: int, bits: int, group: int) -> int:
    """Of records of 4 bytes and words of 8 columns; in arithmetic that symbolic sizes have too."""
    whole, rest = count // group, count % group
    words = whole * (group * bits // 256) + ((rest + 7) // 8 * bits + 31) // 32
    return 4 * ((count + group - 1) // group) + 32 * words


@torch.library.custom_op("tensorpress::quantize_unpack", mutates_args=())
def quantize_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bits: int, group: int
) -> torch.Tensor:
    return packing_for(packed).quantize_unpack(packed.contiguous(), shape, dtype, bits, group)


@quantize_unpack.register_fake
def _(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bits: int, group: int
) -> torch.Tensor:
    return packed.new_empty(shape, dtype=dtype)


@torch.library.custom_op("tensorpress::cast_pack", mutates_args=(), **ANY_STRIDES)
def cast_pack(values: torch.Tensor, to: str) -> torch.Tensor:
    packed = packing_for(values).cast_pack(values.contiguous(), to)
    if packed is None:
        raise ValueError(f"tensorpress::cast_pack: values are not finite in {to}; keep them")
    return packed


@cast_pack.register_fake
def _(values: torch.Tensor, to: str) -> torch.Tensor:
    return values.new_empty(values.numel() * Cast(to).itemsize, dtype=torch.uint8)


@torch.library.custom_op("tensorpress::cast_unpack", mutates_args=())
def cast_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
) -> torch.Tensor:
    return packing_for(packed).cast_unpack(packed.contiguous(), shape, dtype, to)


@cast_unpack.register_fake
def _(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str) -> torch.Tensor:
    return packed.new_empty(shape, dtype=dtype)


@torch.library.custom_op("tensorpress::sign_pack", mutates_args=(), **ANY_STRIDES)
def sign_pack(values: torch.Tensor) -> torch.Tensor:
    return packing_for(values).sign_pack(values.contiguous())


@sign_pack.register_fake
def _(values: torch.Tensor) -> torch.Tensor:
    return values.new_empty((values.numel() + 7) // 8, dtype=torch.uint8)


@torch.library.custom_op("tensorpress::sign_unpack", mutates_args=())
def sign_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return packing_for(packed).sign_unpack(packed.contiguous(), shape, dtype)


@sign_unpack.register_fake
def _(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return packed.new_empty(shape, dtype=dtype)


@torch.library.custom_op("tensorpress::restore_signs", mutates_args=())
def restore_signs(values: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    """A copy of the values that agrees with the signs."""
    copy = values.clone(memory_format=torch.contiguous_format)
    return packing_for(values).restore_signs(copy, signs.contiguous())


@restore_signs.register_fake
def _(values: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(values, memory_format=torch.contiguous_format)


@torch.library.custom_op("tensorpress::mask_pack", mutates_args=(), **ANY_STRIDES)
def mask_pack(values: torch.Tensor) -> torch.Tensor:
    packed = packing_for(values).mask_pack(values.contiguous())
    if packed is None:
        raise ValueError("tensorpress::mask_pack: values are more than 0 and one other")
    return packed


@mask_pack.register_fake
def _(values: torch.Tensor) -> torch.Tensor:
    return values.new_empty(8 + (values.numel() + 7) // 8, dtype=torch.uint8)


@torch.library.custom_op("tensorpress::mask_unpack", mutates_args=())
def mask_unpack(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return packing_for(packed).mask_unpack(packed.contiguous(), shape, dtype)


@mask_unpack.register_fake
def _(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return packed.new_empty(shape, dtype=dtype)
