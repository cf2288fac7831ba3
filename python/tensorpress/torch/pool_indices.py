"""The indices that max-pooling saves, exactly: 2 bits for a 2 x 2 window instead of an int64.

What the pooling was called with says where every window begins. Indices that do not fit are kept
as they are, so a wrong guess costs memory and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from .. import _core
from .saved_by import Call

Pair = tuple[int, int]
TWO = ("max_pool2d", "max_pool2d_with_indices")
ONE = ("max_pool1d", "max_pool1d_with_indices")


class Windows(NamedTuple):
    extent: Pair  # of the input's planes
    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair


def windows_of(call: Call) -> Windows | None:
    """Of a pooling that is at work, or None if this is not one, or one of too large windows."""
    if call.name not in TWO + ONE:
        return None
    tensor = call.argument(0, "input", None)
    kernel = call.argument(1, "kernel_size", None)
    stride = call.argument(2, "stride", None)
    padding = call.argument(3, "padding", 0)
    dilation = call.argument(4, "dilation", 1)
    axes = 2 if call.name in TWO else 1
    if not isinstance(tensor, torch.Tensor) or kernel is None or tensor.dim() < axes:
        return None
    extent = tuple(tensor.shape[-axes:])
    kernel = _pair(kernel, axes, 1)
    windows = Windows(
        _pair(extent, axes, 1),
        kernel,
        _pair(stride, axes, 1) if stride not in (None, [], ()) else kernel,
        _pair(padding, axes, 0),
        _pair(dilation, axes, 1),
    )
    return windows if kernel[0] * kernel[1] <= 256 else None


def pack(indices: torch.Tensor, windows: Windows) -> torch.Tensor | None:
    packed = torch.empty(_core.window_size(indices.numel(), windows.kernel), dtype=torch.uint8)
    fits = _core.window_pack(_planes(indices), packed, *windows)
    return packed if fits else None


def unpack(packed: torch.Tensor, shape: Sequence[int], windows: Windows) -> torch.Tensor:
    indices = torch.empty(shape, dtype=torch.int64)
    if not _core.window_unpack(packed, _planes(indices), *windows):
        raise RuntimeError("the packed indices of a max-pooling have been overwritten")
    return indices


def _planes(indices: torch.Tensor) -> torch.Tensor:
    return indices.detach().reshape(-1, *indices.shape[-2:])


def _pair(value: Any, axes: int, missing: int) -> Pair:
    numbers = tuple(value) if isinstance(value, (tuple, list, torch.Size)) else (value,)
    if len(numbers) < axes:
        numbers = numbers * axes
    return (missing, numbers[0]) if axes == 1 else (numbers[0], numbers[1])
