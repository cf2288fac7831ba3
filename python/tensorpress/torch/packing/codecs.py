"""What an activation may be stored as: one class a codec, and the list CODECS.

A codec turns contiguous values into tensors that take less memory, and back. `encode` gives None
for values that it cannot represent (NaN, infinity), which are then kept as they are. `fidelity`
orders codecs by how much they keep, in bits a value: of two codecs that are required of one value
the higher wins. A codec's parameters are the fields of its class, with their checks; policy/plan.py
reads them from JSON.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

import torch

import tensorpress

from ..chop import ChopCompressor
from . import native as native_packing
from . import portable as portable_packing

HALF_AND_SINGLE = (torch.float32, torch.float16, torch.bfloat16)
Payload = tuple[torch.Tensor, ...]


def packing_for(tensor: torch.Tensor, portable: bool = False) -> ModuleType:
    """The library for tensors on the CPU, PyTorch's own operations for all others."""
    return portable_packing if portable or tensor.device.type != "cpu" else native_packing


@dataclasses.dataclass(frozen=True)
class TensorCodec:
    name: ClassVar[str]
    # Values are coded for themselves or in short groups: part of a tensor shows the error of all.
    local: ClassVar[bool] = True

    @property
    def fidelity(self) -> float:
        raise NotImplementedError

    def takes(self, values: torch.Tensor) -> bool:
        """Whether this codec works on tensors of this type, shape and device."""
        raise NotImplementedError

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int | None:
        """What values take, or None if that depends on them."""
        raise NotImplementedError

    def encode(self, values: torch.Tensor, seed: int, portable: bool = False) -> Payload | None:
        raise NotImplementedError

    def decode(
        self,
        payload: Payload,
        shape: Sequence[int],
        dtype: torch.dtype,
        signs: torch.Tensor | None = None,
        portable: bool = False,
    ) -> torch.Tensor:
        """A new tensor. With `signs` (sign_pack of the originals) it agrees with them."""
        raise NotImplementedError

    def describe(self) -> str:
        """'quantize bits=4': the name and what differs from the defaults, bits always."""
        parts = [self.name]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default or field.name in ("bits", "to", "cf", "bound"):
                parts.append(f"{field.name}={value}")
        return " ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        return {"codec": self.name, **dataclasses.asdict(self)}


@dataclasses.dataclass(frozen=True)
class Keep(TensorCodec):
    """The tensor itself, as PyTorch would."""

    name = "keep"
    fidelity = 64.0

    def takes(self, values: torch.Tensor) -> bool:
        return True

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        return math.prod(shape) * dtype.itemsize

    def encode(self, values: torch.Tensor, seed: int, portable: bool = False) -> Payload:
        return (values,)

    def decode(
        self,
        payload: Payload,
        shape: Sequence[int],
        dtype: torch.dtype,
        signs: torch.Tensor | None = None,
        portable: bool = False,
    ) -> torch.Tensor:
        return payload[0]


@dataclasses.dataclass(frozen=True)
class Quantize(TensorCodec):
    """A minimum and a scale for every `group` values, and `bits` bits a value.

    >>> codec = Quantize(bits=4)
    >>> values = torch.rand(1000)
    >>> payload = codec.encode(values, seed=1)
    >>> back = codec.decode(payload, values.shape, values.dtype)
    >>> payload[0].numel() < 600 and bool((back - values).abs().max() < 0.04)
    True
    """

    name = "quantize"
    bits: int = 4
    group: int = 256
    rounding: str = "nearest"

    def __post_init__(self) -> None:
        _one_of("bits", self.bits, (1, 2, 4, 8))
        _one_of("rounding", self.rounding, ("nearest", "stochastic"))
        if not isinstance(self.group, int) or isinstance(self.group, bool):
            raise ValueError(f"group={self.group!r} is not a whole number")
        tensorpress._core.quantize_size(1, self.bits, self.group)  # says what is wrong with group

    @property
    def fidelity(self) -> float:
        return float(self.bits)

    def takes(self, values: torch.Tensor) -> bool:
        return values.dtype in HALF_AND_SINGLE

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        return tensorpress._core.quantize_size(math.prod(shape), self.bits, self.group)

    def encode(self, values: torch.Tensor, seed: int, portable: bool = False) -> Payload | None:
        packing = packing_for(values, portable)
        packed = packing.quantize_pack(values, self.bits, self.group, self.rounding, seed)
        return None if packed is None else (packed,)

    def decode(
        self,
        payload: Payload,
        shape: Sequence[int],
        dtype: torch.dtype,
        signs: torch.Tensor | None = None,
        portable: bool = False,
    ) -> torch.Tensor:
        packing = packing_for(payload[0], portable)
        return packing.quantize_unpack(payload[0], shape, dtype, self.bits, self.group, signs)


@dataclasses.dataclass(frozen=True)
class Cast(TensorCodec):
    """A smaller floating type: bf16, f16, or fp8 as e4m3 or e5m2."""

    name = "cast"
    to: str = "bf16"

    def __post_init__(self) -> None:
        _one_of("to", self.to, native_packing.CAST_TYPES)

    @property
    def itemsize(self) -> int:
        return 2 if self.to in ("bf16", "f16") else 1

    @property
    def fidelity(self) -> float:
        # fp8 has two or three bits of fraction: coarser than eight bits over a group's range.
        return 16.0 if self.itemsize == 2 else 5.0

    def takes(self, values: torch.Tensor) -> bool:
        return values.dtype in HALF_AND_SINGLE and values.dtype.itemsize > self.itemsize

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        return math.prod(shape) * self.itemsize

    def encode(self, values: torch.Tensor, seed: int, portable: bool = False) -> Payload | None:
        packed = packing_for(values, portable).cast_pack(values, self.to)
        return None if packed is None else (packed,)

    def decode(
        self,
        payload: Payload,
        shape: Sequence[int],
        dtype: torch.dtype,
        signs: torch.Tensor | None = None,
        portable: bool = False,
    ) -> torch.Tensor:
        values = packing_for(payload[0], portable).cast_unpack(payload[0], shape, dtype, self.to)
        return _with_signs(values, signs, portable)


@dataclasses.dataclass(frozen=True)
class Mask(TensorCodec):
    """One bit a value, exactly, for tensors of zeros and one other value."""

    name = "mask"
    fidelity = 64.0
    local = False

    def takes(self, values: torch.Tensor) -> bool:
        return values.dtype in (*HALF_AND_SINGLE, torch.float64, torch.bool, torch.uint8)

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        return tensorpress._core.mask_size(math.prod(shape))

    def encode(self, values: torch.Tensor, seed: int, portable: bool = False) -> Payload | None:
        packed = packing_for(values, portable).mask_pack(values)
        return None if packed is None else (packed,)

    def decode(
        self,
        payload: Payload,
        shape: Sequence[int],
        dtype: torch.dtype,
        signs: torch.Tensor | None = None,
        portable: bool = False,
    ) -> torch.Tensor:
        return packing_for(payload[0], portable).mask_unpack(payload[0], shape, dtype)


@dataclasses.dataclass(frozen=True)
class DctChop(TensorCodec):
    """CF x CF of the 8 x 8 DCT coefficients of planes, by PyTorch's products, on any device.

    Takes tensors of three axes or more whose planes are worth it: 4 x 4 maps would grow.
    """

    name = "dct-chop"
    local = False
    cf: int = 4
    layout: str = "square"
    transform: str = "dct"

    def __post_init__(self) -> None:
        self._compressor((8, 8))  # says what is wrong with the parameters

    def _compressor(self, plane: Sequence[int]) -> ChopCompressor:
        return ChopCompressor(plane, self.cf, self.layout, self.transform, dtype=torch.float32)

    @property
    def fidelity(self) -> float:
        return 32 / self._compressor((8, 8)).ratio

    def takes(self, values: torch.Tensor) -> bool:
        if values.dtype not in HALF_AND_SINGLE or values.dim() < 3:
            return False
        return self._compressor(values.shape).ratio >= 1.25

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        return math.prod(self._compressor(shape).compressed_shape(shape)) * dtype.itemsize

    def encode(self, values: torch.Tensor, seed: int, portable: bool = False) -> Payload | None:
        compressor = self._compressor(values.shape).to(values.device, values.dtype)
        kept = compressor(values)
        return (kept,) if bool(torch.isfinite(kept.sum())) else None

    def decode(
        self,
        payload: Payload,
        shape: Sequence[int],
        dtype: torch.dtype,
        signs: torch.Tensor | None = None,
        portable: bool = False,
    ) -> torch.Tensor:
        compressor = self._compressor(shape).to(payload[0].device, dtype)
        return _with_signs(compressor.decompressor()(payload[0]).contiguous(), signs, portable)


@dataclasses.dataclass(frozen=True)
class ErrorBounded(TensorCodec):
    """A codec of the library that keeps a bound, such as dense; on the CPU."""

    local = False
    bound: str = "relative"
    value: float = 1e-2
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def codec(self) -> tensorpress.Codec:
        return tensorpress.Codec(self.name, **{self.bound: self.value}, **dict(self.parameters))

    fidelity = 12.0

    def takes(self, values: torch.Tensor) -> bool:
        floats = (*HALF_AND_SINGLE, torch.float64)
        return values.device.type == "cpu" and values.dtype in floats and values.dim() <= 8

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> None:
        return None

    def encode(self, values: torch.Tensor, seed: int, portable: bool = False) -> Payload | None:
        # NaN and infinities come back exactly: the bound holds for the others. There are no fill
        # values: an extreme that many share is where a function is flat.
        threads = torch.get_num_threads()
        stream = tensorpress.compress(
            values.detach(), self.codec, whole_range=True, threads=threads
        )
        packed = torch.empty(len(stream), dtype=torch.uint8)
        packed.numpy()[:] = memoryview(stream)
        return (packed,)

    def decode(
        self,
        payload: Payload,
        shape: Sequence[int],
        dtype: torch.dtype,
        signs: torch.Tensor | None = None,
        portable: bool = False,
    ) -> torch.Tensor:
        values = torch.empty(shape, dtype=dtype)
        threads = torch.get_num_threads()
        tensorpress.decompress(payload[0].numpy(), out=values, threads=threads)
        return _with_signs(values, signs, portable)

    def describe(self) -> str:
        extra = "".join(f" {name}={value}" for name, value in self.parameters)
        return f"{self.name} {self.bound}={self.value:g}{extra}"

    def as_dict(self) -> dict[str, Any]:
        return {"codec": self.name, self.bound: self.value, **dict(self.parameters)}


class Dense(ErrorBounded):
    name = "dense"


class CereSz(ErrorBounded):
    name = "ceresz"


class CereSz2(ErrorBounded):
    name = "ceresz2"


CODECS: dict[str, type[TensorCodec]] = {
    codec.name: codec for codec in (Keep, Quantize, Cast, Mask, DctChop, Dense, CereSz, CereSz2)
}


def _one_of(name: str, value: Any, allowed: Sequence[Any]) -> None:
    if isinstance(value, bool) or value not in allowed:
        raise ValueError(f"{name}={value!r}; use one of {', '.join(map(str, allowed))}")


def _with_signs(values: torch.Tensor, signs: torch.Tensor | None, portable: bool) -> torch.Tensor:
    if signs is None:
        return values
    return packing_for(values, portable).restore_signs(values, signs)
