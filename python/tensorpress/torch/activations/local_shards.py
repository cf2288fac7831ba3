"""DTensors of tensor parallelism: what this process holds of one is stored, and wrapped again.

PyTorch saves the whole DTensor, whose memory is that of its local tensor. Which function saves it,
and whether it is an input or a weight, is asked of the DTensor; what is packed is the local tensor.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import torch


class Shard(NamedTuple):
    """How a local tensor is part of a whole."""

    mesh: Any
    placements: Any
    shape: torch.Size
    strides: tuple[int, ...]

    def wrap(self, local: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = _dtensor().from_local(
                local,
                self.mesh,
                self.placements,
                run_check=False,
                shape=self.shape,
                stride=self.strides,
            )
        return found


def local_of(tensor: torch.Tensor) -> tuple[torch.Tensor, Shard] | None:
    """The local tensor of a DTensor, and its place. None for other tensors, and while the local
    tensor is still on its way from other processes."""
    kind = _dtensor()
    if kind is None or type(tensor) is not kind:
        return None
    with torch.no_grad():
        local = tensor.to_local()
    if type(local) is not torch.Tensor:
        return None
    return local, Shard(tensor.device_mesh, tensor.placements, tensor.shape, tensor.stride())


def _dtensor() -> Any:
    """The class, if the program has imported it."""
    module = sys.modules.get("torch.distributed.tensor")
    return getattr(module, "DTensor", None)
