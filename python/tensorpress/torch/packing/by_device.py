"""The packing functions, each run by the backend of its tensor's device. Files that
`tensorpress model emit` writes call these as tensorpress.torch.native_packing."""

from __future__ import annotations

from typing import Any

from ..backends.registry import kernels_for


def _by_device(operator: str) -> Any:
    def run(tensor: Any, *arguments: Any) -> Any:
        return getattr(kernels_for(tensor.device.type), operator)(tensor, *arguments)

    run.__name__ = operator
    return run


quantize_pack = _by_device("quantize_pack")
quantize_unpack = _by_device("quantize_unpack")
cast_pack = _by_device("cast_pack")
cast_unpack = _by_device("cast_unpack")
mask_pack = _by_device("mask_pack")
mask_unpack = _by_device("mask_unpack")
sign_pack = _by_device("sign_pack")
sign_unpack = _by_device("sign_unpack")
restore_signs = _by_device("restore_signs")
