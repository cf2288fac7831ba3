"""How kernels are started: tiles of a size that suits the machine, and no fused multiply-add."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
import triton
from triton import knobs

OPTIONS = {"enable_fp_fusion": False}


def tile_values() -> int:
    """Values of a program; the interpreter runs few large ones faster."""
    return 1 << 16 if knobs.runtime.interpret else 1 << 11


def tiles(count: int, size: int) -> tuple[int]:
    return (triton.cdiv(count, size),)


def warps_for(values: int) -> int:
    """8 values a thread of NVIDIA's, so that many programs fit a processor."""
    return min(32, max(4, values // 256))


def on_device_of(tensor: torch.Tensor) -> Any:
    """Kernels start on the current device."""
    if tensor.device.type == "cpu":
        return contextlib.nullcontext()
    return torch.get_device_module(tensor.device.type).device(tensor.device)
