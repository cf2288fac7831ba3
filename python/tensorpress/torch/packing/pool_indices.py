"""The indices that max-pooling saves, exactly: 2 bits for a 2 x 2 window instead of an int64.

What the pooling was called with says where every window begins. Indices that do not fit are kept
as they are, so a wrong guess costs memory and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from ... import _core

Pair = tuple[int, int]


class Windows(NamedTuple):
    extent: Pair  # of the input's planes
    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair


def has_planes(indices: torch.Tensor) -> bool:
    """Whether they are in the order (N, C, H, W) in memory, or channels last."""
    return indices.is_contiguous() or is_channels_last(indices)


def is_channels_last(tensor: torch.Tensor) -> bool:
    """In memory, (N, H, W, C), and not (N, C, H, W) at the same time."""
    if tensor.dim() != 4 or tensor.is_contiguous():
        return False
    return tensor.is_contiguous(memory_format=torch.channels_last)


def pack(dense: torch.Tensor, windows: Windows, channels_last: bool = False) -> torch.Tensor | None:
    """`dense` has its axes in the order of memory."""
    indices = dense.permute(0, 3, 1, 2) if channels_last else dense
    packed = torch.empty(_core.window_size(indices.numel(), windows.kernel), dtype=torch.uint8)
    if dense.is_meta:  # which has sizes and no values
        return packed.to("meta")
    fits = _core.window_pack(_planes(indices), packed, *windows)
    return packed if fits else None


def unpack(
    packed: torch.Tensor, shape: Sequence[int], windows: Windows, channels_last: bool = False
) -> torch.Tensor:
    """In the `shape` and order that they were packed from."""
    if packed.is_meta:
        return torch.empty(shape, dtype=torch.int64, device="meta")
    last = [0, 3, 1, 2] if channels_last else range(len(shape))
    indices = torch.empty([shape[axis] for axis in last], dtype=torch.int64)
    if not _core.window_unpack(packed, _planes(indices), *windows):
        raise RuntimeError("the packed indices of a max-pooling have been overwritten")
    return indices.permute(0, 2, 3, 1).contiguous() if channels_last else indices


def _planes(indices: torch.Tensor) -> torch.Tensor:
    return indices.detach().contiguous().view(-1, *indices.shape[-2:])
