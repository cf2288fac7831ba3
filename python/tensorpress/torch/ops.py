"""Packing as operators of PyTorch: torch.ops.tensorpress.*, for compiled and exported code.

    packed = torch.ops.tensorpress.quantize_pack(x, 4, 256, "nearest", 0)
    back = torch.ops.tensorpress.quantize_unpack(packed, x.shape, x.dtype, 4, 256)

They take tensors of any strides and device, and have the shapes of their results known without
running (fake tensors), so torch.compile does not break at them. `backends/registry.py` says which
backend runs them where. An operator has no way to say that values cannot be packed: on the CPU, NaN
and infinities are an error here; on other devices nothing waits to find out, and they come back as
backends/default/ says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .backends.registry import DEVICES, Packing, default_kernels, kernels_for
from .backends.sizes import bits_size, cast_itemsize, ceresz_room, fp8_size, quantized_size
from .packing.backend import NATIVE

__all__ = ["ANY_STRIDES", "packing_for", "quantized_size"]

packing_for = NATIVE.packing_for

# Packing reads tensors of any strides. Without this tag Inductor copies what it has made
# channels_last back to the order that the graph said.
_FLEXIBLE = (torch.Tag.flexible_layout, torch.Tag.pt2_compliant_tag)
_TAGGED = "tags" in inspect.signature(torch.library.custom_op).parameters
ANY_STRIDES: dict[str, Any] = {"tags": (torch.Tag.flexible_layout,)} if _TAGGED else {}

_LIBRARY = torch.library.Library("tensorpress", "FRAGMENT")
# Of PyTorch's dispatcher; all other devices have PyTorch's own operations.
_KEYS = {"cpu": "CPU", "cuda": "CUDA", "xpu": "XPU"}

Kernel = Callable[..., Any]


def _define(
    name: str,
    schema: str,
    run: Callable[[Packing], Kernel],
    fake: Kernel,
    any_strides: bool = False,
) -> None:
    """`run` gives the kernel that the operators of a backend make of it."""
    tags = _FLEXIBLE if any_strides else (torch.Tag.pt2_compliant_tag,)
    _LIBRARY.define(name + schema, tags=tags)
    torch.library.register_fake(f"tensorpress::{name}", fake, lib=_LIBRARY)
    for device in DEVICES:
        if device in _KEYS:
            _LIBRARY.impl(name, _late(run, device), _KEYS[device])
    _LIBRARY.impl(name, run(default_kernels()), "CompositeExplicitAutograd")


def _late(run: Callable[[Packing], Kernel], device: str) -> Kernel:
    """A backend is imported when a tensor of its device comes along."""
    found: list[Kernel] = []

    def call(*arguments: Any) -> Any:
        if not found:
            found.append(run(kernels_for(device)))
        return found[0](*arguments)

    return call


def _packed_or(packed: torch.Tensor | None, reason: str) -> torch.Tensor:
    if packed is None:
        raise ValueError(f"tensorpress::{reason}; keep them")
    return packed


# ---- Quantized ----------------------------------------------------------------------------------


def _quantize_pack(packing: Packing) -> Kernel:
    def run(values: torch.Tensor, bits: int, group: int, rounding: str, seed: int) -> torch.Tensor:
        if rounding not in ("nearest", "stochastic"):
            raise ValueError(f"rounding {rounding!r} is not known; use nearest or stochastic")
        packed = packing.quantize_pack(values.contiguous(), bits, group, rounding, seed)
        return _packed_or(packed, "quantize_pack: values are NaN, infinite or too far apart")

    return run


_define(
    "quantize_pack",
    "(Tensor values, int bits, int group, str rounding, int seed) -> Tensor",
    _quantize_pack,
    lambda values, bits, group, rounding, seed: _bytes(
        values, quantized_size(values.numel(), bits, group)
    ),
    any_strides=True,
)


def _quantize_unpack(packing: Packing) -> Kernel:
    def run(
        packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bits: int, group: int
    ) -> torch.Tensor:
        return packing.quantize_unpack(packed.contiguous(), shape, dtype, bits, group)

    return run


_define(
    "quantize_unpack",
    "(Tensor packed, SymInt[] shape, ScalarType dtype, int bits, int group) -> Tensor",
    _quantize_unpack,
    lambda packed, shape, dtype, bits, group: packed.new_empty(shape, dtype=dtype),
)


# ---- In a smaller type --------------------------------------------------------------------------


def _cast_pack(packing: Packing) -> Kernel:
    def run(values: torch.Tensor, to: str) -> torch.Tensor:
        packed = packing.cast_pack(values.contiguous(), to)
        return _packed_or(packed, f"cast_pack: values are not finite in {to}")

    return run


_define(
    "cast_pack",
    "(Tensor values, str to) -> Tensor",
    _cast_pack,
    lambda values, to: _bytes(values, values.numel() * cast_itemsize(to)),
    any_strides=True,
)


def _cast_unpack(packing: Packing) -> Kernel:
    def run(
        packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
    ) -> torch.Tensor:
        return packing.cast_unpack(packed.contiguous(), shape, dtype, to)

    return run


_define(
    "cast_unpack",
    "(Tensor packed, SymInt[] shape, ScalarType dtype, str to) -> Tensor",
    _cast_unpack,
    lambda packed, shape, dtype, to: packed.new_empty(shape, dtype=dtype),
)


def _fp8_pack(packing: Packing) -> Kernel:
    def run(values: torch.Tensor, to: str, group: int) -> torch.Tensor:
        _check_fp8(to, group)
        return packing.fp8_pack(values.contiguous(), to, group)

    return run


_define(
    "fp8_pack",
    "(Tensor values, str to, int group) -> Tensor",
    _fp8_pack,
    lambda values, to, group: _bytes(values, fp8_size(values.numel(), group)),
    any_strides=True,
)


def _fp8_unpack(packing: Packing) -> Kernel:
    def run(
        packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str, group: int
    ) -> torch.Tensor:
        _check_fp8(to, group)
        return packing.fp8_unpack(packed.contiguous(), shape, dtype, to, group)

    return run


_define(
    "fp8_unpack",
    "(Tensor packed, SymInt[] shape, ScalarType dtype, str to, int group) -> Tensor",
    _fp8_unpack,
    lambda packed, shape, dtype, to, group: packed.new_empty(shape, dtype=dtype),
)


def _check_fp8(to: str, group: int) -> None:
    if to not in ("e4m3", "e5m2"):
        raise ValueError(f"{to!r} is not an 8-bit type; use e4m3 or e5m2")
    if not 1 <= group <= 65536:
        raise ValueError(f"group is {group}; it is 1 to 65536")


# ---- One bit a value ----------------------------------------------------------------------------


def _sign_pack(packing: Packing) -> Kernel:
    return lambda values: packing.sign_pack(values.contiguous())


_define(
    "sign_pack",
    "(Tensor values) -> Tensor",
    _sign_pack,
    lambda values: _bytes(values, bits_size(values.numel())),
    any_strides=True,
)


def _sign_unpack(packing: Packing) -> Kernel:
    def run(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return packing.sign_unpack(packed.contiguous(), shape, dtype)

    return run


_define(
    "sign_unpack",
    "(Tensor packed, SymInt[] shape, ScalarType dtype) -> Tensor",
    _sign_unpack,
    lambda packed, shape, dtype: packed.new_empty(shape, dtype=dtype),
)


def _restore_signs(packing: Packing) -> Kernel:
    """A copy of the values that agrees with the signs."""

    def run(values: torch.Tensor, signs: torch.Tensor) -> torch.Tensor:
        copy = values.clone(memory_format=torch.contiguous_format)
        return packing.restore_signs(copy, signs.contiguous())

    return run


_define(
    "restore_signs",
    "(Tensor values, Tensor signs) -> Tensor",
    _restore_signs,
    lambda values, signs: torch.empty_like(values, memory_format=torch.contiguous_format),
)


def _mask_pack(packing: Packing) -> Kernel:
    def run(values: torch.Tensor) -> torch.Tensor:
        packed = packing.mask_pack(values.contiguous())
        return _packed_or(packed, "mask_pack: values are more than 0 and one other")

    return run


_define(
    "mask_pack",
    "(Tensor values) -> Tensor",
    _mask_pack,
    lambda values: _bytes(values, 8 + bits_size(values.numel())),
    any_strides=True,
)


def _mask_unpack(packing: Packing) -> Kernel:
    def run(packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        return packing.mask_unpack(packed.contiguous(), shape, dtype)

    return run


_define(
    "mask_unpack",
    "(Tensor packed, SymInt[] shape, ScalarType dtype) -> Tensor",
    _mask_unpack,
    lambda packed, shape, dtype: packed.new_empty(shape, dtype=dtype),
)


# ---- DCT+Chop ------------------------------------------------------------------------------------


def _chop_pack(packing: Packing) -> Kernel:
    def run(values: torch.Tensor, cf: int, layout: str, transform: str) -> torch.Tensor:
        return packing.chop_pack(values.contiguous(), cf, layout, transform)

    return run


def _kept_shape(shape: Sequence[int], cf: int, layout: str, transform: str) -> tuple[int, ...]:
    from .backends.default.chop import kept_shape

    return kept_shape(shape, cf, layout, transform)


_define(
    "chop_pack",
    "(Tensor values, int cf, str layout, str transform) -> Tensor",
    _chop_pack,
    lambda values, cf, layout, transform: values.new_empty(
        _kept_shape(values.shape, cf, layout, transform), dtype=torch.float32
    ),
    any_strides=True,
)


def _chop_unpack(packing: Packing) -> Kernel:
    def run(
        kept: torch.Tensor,
        shape: Sequence[int],
        dtype: torch.dtype,
        cf: int,
        layout: str,
        transform: str,
    ) -> torch.Tensor:
        return packing.chop_unpack(kept.contiguous(), shape, dtype, cf, layout, transform)

    return run


_define(
    "chop_unpack",
    "(Tensor kept, SymInt[] shape, ScalarType dtype, int cf, str layout, str transform) -> Tensor",
    _chop_unpack,
    lambda kept, shape, dtype, cf, layout, transform: kept.new_empty(shape, dtype=dtype),
)


# ---- CereSZ --------------------------------------------------------------------------------------


def _ceresz_pack(packing: Packing) -> Kernel:
    """The bytes in as much room as they could need, and how many they are."""

    def run(values: torch.Tensor, bound: float) -> tuple[torch.Tensor, torch.Tensor]:
        return packing.ceresz_pack(values.contiguous(), bound)

    return run


_define(
    "ceresz_pack",
    "(Tensor values, float bound) -> (Tensor, Tensor)",
    _ceresz_pack,
    lambda values, bound: (
        _bytes(values, ceresz_room(values.numel())),
        values.new_empty(1, dtype=torch.int64),
    ),
    any_strides=True,
)


def _ceresz_unpack(packing: Packing) -> Kernel:
    def run(
        packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bound: float
    ) -> torch.Tensor:
        return packing.ceresz_unpack(packed, shape, dtype, bound)

    return run


_define(
    "ceresz_unpack",
    "(Tensor packed, SymInt[] shape, ScalarType dtype, float bound) -> Tensor",
    _ceresz_unpack,
    lambda packed, shape, dtype, bound: packed.new_empty(shape, dtype=dtype),
)


def _bytes(like: torch.Tensor, count: int) -> torch.Tensor:
    return like.new_empty(count, dtype=torch.uint8)


quantize_pack = torch.ops.tensorpress.quantize_pack
quantize_unpack = torch.ops.tensorpress.quantize_unpack
cast_pack = torch.ops.tensorpress.cast_pack
cast_unpack = torch.ops.tensorpress.cast_unpack
fp8_pack = torch.ops.tensorpress.fp8_pack
fp8_unpack = torch.ops.tensorpress.fp8_unpack
sign_pack = torch.ops.tensorpress.sign_pack
sign_unpack = torch.ops.tensorpress.sign_unpack
restore_signs = torch.ops.tensorpress.restore_signs
mask_pack = torch.ops.tensorpress.mask_pack
mask_unpack = torch.ops.tensorpress.mask_unpack
chop_pack = torch.ops.tensorpress.chop_pack
chop_unpack = torch.ops.tensorpress.chop_unpack
ceresz_pack = torch.ops.tensorpress.ceresz_pack
ceresz_unpack = torch.ops.tensorpress.ceresz_unpack
