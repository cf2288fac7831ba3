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
