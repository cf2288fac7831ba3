"""Which packing a tensor gets: the library's on the CPU, PyTorch's operations on any device, or
sizes alone where there is no memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import torch

from . import native, portable, sizes


class Packing(Protocol):
    """What native.py and portable.py offer. None means that values cannot be represented."""

    def quantize_pack(
        self, values: torch.Tensor, bits: int, group: int, rounding: str, seed: int
    ) -> torch.Tensor | None: ...

    def quantize_unpack(
        self,
        packed: torch.Tensor,
        shape: Sequence[int],
        dtype: torch.dtype,
        bits: int,
        group: int,
        signs: torch.Tensor | None = None,
    ) -> torch.Tensor: ...

    def cast_pack(self, values: torch.Tensor, to: str) -> torch.Tensor | None: ...

    def cast_unpack(
        self, packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
    ) -> torch.Tensor: ...

    def mask_pack(self, values: torch.Tensor) -> torch.Tensor | None: ...

    def mask_unpack(
        self, packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype
    ) -> torch.Tensor: ...

    def sign_pack(self, values: torch.Tensor) -> torch.Tensor: ...

    def sign_unpack(
        self, packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype
    ) -> torch.Tensor: ...

    def restore_signs(self, values: torch.Tensor, signs: torch.Tensor) -> torch.Tensor: ...


@dataclasses.dataclass(frozen=True)
class Backend:
    """Chosen once for a run, whose tensors may be on several devices."""

    on_cpu: Packing
    elsewhere: Packing

    def packing_for(self, tensor: torch.Tensor) -> Packing:
        if tensor.is_meta:
            return sizes
        return self.on_cpu if tensor.device.type == "cpu" else self.elsewhere


NATIVE = Backend(on_cpu=native, elsewhere=portable)
PORTABLE = Backend(on_cpu=portable, elsewhere=portable)
