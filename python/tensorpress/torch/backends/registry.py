"""Which backend runs an operator: the first in BACKENDS that serves the tensor's device and has it.

A backend is a module with functions of the names of `Packing`, some or all, and a line here.
`ops.py` registers the same choice with PyTorch's dispatcher, for compiled and exported code.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch


class Packing(Protocol):
    """The operators. What packs gives None for values that cannot be represented, on the CPU; on a
    device, where knowing would mean waiting, see each operator in default/."""

    @property
    def asks(self) -> bool:
        """Whether it costs nothing to look at values before they are packed."""

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

    def fp8_pack(self, values: torch.Tensor, to: str, group: int) -> torch.Tensor: ...

    def fp8_unpack(
        self, packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str, group: int
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

    def chop_pack(
        self, values: torch.Tensor, cf: int, layout: str, transform: str
    ) -> torch.Tensor: ...

    def chop_unpack(
        self,
        kept: torch.Tensor,
        shape: Sequence[int],
        dtype: torch.dtype,
        cf: int,
        layout: str,
        transform: str,
    ) -> torch.Tensor: ...

    def ceresz_pack(
        self, values: torch.Tensor, bound: float
    ) -> tuple[torch.Tensor, torch.Tensor]: ...

    def ceresz_unpack(
        self, packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bound: float
    ) -> torch.Tensor: ...


@dataclasses.dataclass(frozen=True)
class Backend:
    """`module` is imported when a tensor of one of the devices comes along, if what it `needs` is
    installed. Without devices: any."""

    module: str
    devices: tuple[str, ...] = ()
    needs: str | None = None

    @property
    def name(self) -> str:
        return self.module.removeprefix(".")

    def serves(self, device: str) -> bool:
        return not self.devices or device in self.devices

    @functools.cached_property
    def operators(self) -> Any:
        """The module, or None if what it needs is missing."""
        if self.needs is not None and importlib.util.find_spec(self.needs) is None:
            return None
        return importlib.import_module(self.module, __package__)


# ROCm's devices are called cuda too.
BACKENDS = (
    Backend(".meta", ("meta",)),
    Backend(".cpu", ("cpu",)),
    Backend(".triton", ("cuda", "xpu"), needs="triton"),
    Backend(".default"),
)
DEVICES = tuple(device for backend in BACKENDS for device in backend.devices)


class Kernels:
    """The operators for a device, each of the first backend that has it."""

    def __init__(self, device: str, backends: Sequence[Backend] = BACKENDS) -> None:
        self.device = device
        self.asks = device == "cpu"
        self._backends = [backend for backend in backends if backend.serves(device)]

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if operator.startswith("_"):
            raise AttributeError(operator)
        for backend in self._backends:
            kernel = getattr(backend.operators, operator, None)
            if kernel is not None:
                setattr(self, operator, kernel)  # found at once from now on
                return kernel  # type: ignore[no-any-return]
        raise AttributeError(f"no backend has the operator {operator} for {self.device}")

    def backend_of(self, operator: str) -> str:
        for backend in self._backends:
            if hasattr(backend.operators, operator):
                return backend.name
        raise AttributeError(operator)


@functools.cache
def kernels_for(device: str) -> Packing:
    """Of a type of devices, such as 'cuda'."""
    return Kernels(device)  # type: ignore[return-value]


@functools.cache
def default_kernels() -> Packing:
    """In PyTorch's own operations, whatever the device is."""
    return Kernels("any", [BACKENDS[-1]])  # type: ignore[return-value]
