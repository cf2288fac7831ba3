"""Which operators a tensor is packed with: those of its device, or PyTorch's own everywhere."""

from __future__ import annotations

import dataclasses

import torch

from ..backends.registry import Packing, default_kernels, kernels_for

__all__ = ["NATIVE", "PORTABLE", "Backend", "Packing"]


@dataclasses.dataclass(frozen=True)
class Backend:
    """Chosen once for a run, whose tensors may be on several devices. `portable`: PyTorch's own
    operations wherever there is memory."""

    portable: bool = False

    def packing_for(self, tensor: torch.Tensor) -> Packing:
        if self.portable and not tensor.is_meta:
            return default_kernels()
        return kernels_for(tensor.device.type)


NATIVE = Backend()
PORTABLE = Backend(portable=True)
