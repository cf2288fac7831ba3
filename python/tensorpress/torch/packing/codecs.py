"""What an activation may be stored as: one class a codec, and the list CODECS.

A codec packs contiguous values into a tensor that takes less memory, and unpacks them. `pack` gives
None for values that it cannot represent (NaN, infinity), which are then kept as they are.
`fidelity` orders codecs by how much they keep, in bits a value: of two codecs that are required of
one value the higher wins. A codec's parameters are the fields of its class, with their checks;
policy/policy.py reads them from JSON.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch

import tensorpress

from ..chop import ChopCompressor
from .backend import NATIVE, Backend, Packing

CAST_TYPES = ("bf16", "f16", "e4m3", "e5m2")

HALF_AND_SINGLE = (torch.float32, torch.float16, torch.bfloat16)


class Stored(NamedTuple):
    """The values of a tensor as a codec has packed them, with all it takes to bring them back."""

    codec: TensorCodec
    packed: torch.Tensor
    shape: Sequence[int]
    dtype: torch.dtype
    packing: Packing

    @property
    def held_bytes(self) -> int:
        return self.packed.untyped_storage().nbytes()

    def values(self, signs: torch.Tensor | None = None) -> torch.Tensor:
        """A new tensor. With `signs` (sign_pack of the originals) it agrees with them."""
        if signs is None or self.codec.exact:
            return self.codec.unpack(self)
        return self.codec.unpack_with_signs(self, signs)


@dataclasses.dataclass(frozen=True)
class TensorCodec:
    name: ClassVar[str]
    # Values are coded for themselves or in short groups: part of a tensor shows the error of all.
    local: ClassVar[bool] = True
    # Values come back as they were, signs included.
    exact: ClassVar[bool] = False

    @property
    def fidelity(self) -> float:
        raise NotImplementedError

    def takes(self, values: torch.Tensor) -> bool:
        """Whether this codec works on tensors of this type, shape and device."""
        raise NotImplementedError

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int | None:
        """What values take, or None if that depends on them."""
        raise NotImplementedError

    def pack(self, values: torch.Tensor, seed: int, packing: Packing) -> torch.Tensor | None:
        raise NotImplementedError

    def unpack(self, stored: Stored) -> torch.Tensor:
        raise NotImplementedError

    def unpack_with_signs(self, stored: Stored, signs: torch.Tensor) -> torch.Tensor:
        return stored.packing.restore_signs(self.unpack(stored), signs)

    def store(self, values: torch.Tensor, seed: int, backend: Backend = NATIVE) -> Stored | None:
        packing = backend.packing_for(values)
        packed = self.pack(values, seed, packing)
        return None if packed is None else Stored(self, packed, values.shape, values.dtype, packing)

    # Emitted steps hold the packed bytes alone: the text of the model says shape and type.

    def encode(self, values: torch.Tensor, seed: int) -> tuple[torch.Tensor] | None:
        stored = self.store(values, seed)
        return None if stored is None else (stored.packed,)

    def decode(
        self, payload: tuple[torch.Tensor], shape: Sequence[int], dtype: torch.dtype
    ) -> torch.Tensor:
        packed = payload[0]
        return Stored(self, packed, shape, dtype, NATIVE.packing_for(packed)).values()

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
    exact = True

    def takes(self, values: torch.Tensor) -> bool:
        return True

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        return math.prod(shape) * dtype.itemsize

    def pack(self, values: torch.Tensor, seed: int, packing: Packing) -> torch.Tensor:
        return values

    def unpack(self, stored: Stored) -> torch.Tensor:
        return stored.packed


@dataclasses.dataclass(frozen=True)
class Quantize(TensorCodec):
    """A minimum and a scale for every `group` values, and `bits` bits a value.

    >>> codec = Quantize(bits=4)
    >>> values = torch.rand(1000)
    >>> stored = codec.store(values, seed=1)
    >>> stored.held_bytes < 600 and bool((stored.values() - values).abs().max() < 0.04)
    True
    """

    name = "quantize"
    bits: int = 4
    group: int = 256
    rounding: str = "nearest"

    def __post_init__(self) -> None:
        _one_of("bits", self.bits, (1, 2, 3, 4, 5, 6, 8))
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

    def pack(self, values: torch.Tensor, seed: int, packing: Packing) -> torch.Tensor | None:
        return packing.quantize_pack(values, self.bits, self.group, self.rounding, seed)

    def unpack(self, stored: Stored, signs: torch.Tensor | None = None) -> torch.Tensor:
        packed, shape, dtype = stored.packed, stored.shape, stored.dtype
        return stored.packing.quantize_unpack(packed, shape, dtype, self.bits, self.group, signs)

    def unpack_with_signs(self, stored: Stored, signs: torch.Tensor) -> torch.Tensor:
        return self.unpack(stored, signs)


@dataclasses.dataclass(frozen=True)
class Cast(TensorCodec):
    """A smaller floating type: bf16, f16, or fp8 as e4m3 or e5m2."""

    name = "cast"
    to: str = "bf16"

    def __post_init__(self) -> None:
        _one_of("to", self.to, CAST_TYPES)

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

    def pack(self, values: torch.Tensor, seed: int, packing: Packing) -> torch.Tensor | None:
        return packing.cast_pack(values, self.to)

    def unpack(self, stored: Stored) -> torch.Tensor:
        return stored.packing.cast_unpack(stored.packed, stored.shape, stored.dtype, self.to)


@dataclasses.dataclass(frozen=True)
class Mask(TensorCodec):
    """One bit a value, exactly, for tensors of zeros and one other value."""

    name = "mask"
    fidelity = 64.0
    local = False
    exact = True

    def takes(self, values: torch.Tensor) -> bool:
        return values.dtype in (*HALF_AND_SINGLE, torch.float64, torch.bool, torch.uint8)

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        return tensorpress._core.mask_size(math.prod(shape))

    def pack(self, values: torch.Tensor, seed: int, packing: Packing) -> torch.Tensor | None:
        return packing.mask_pack(values)

    def unpack(self, stored: Stored) -> torch.Tensor:
        return stored.packing.mask_unpack(stored.packed, stored.shape, stored.dtype)


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

    def pack(self, values: torch.Tensor, seed: int, packing: Packing) -> torch.Tensor | None:
        compressor = self._compressor(values.shape).to(values.device, values.dtype)
        kept = compressor(values)
        # Only where the answer is at hand; elsewhere what is not finite spoils its plane.
        return kept if not packing.asks or bool(torch.isfinite(kept.sum())) else None

    def unpack(self, stored: Stored) -> torch.Tensor:
        compressor = self._compressor(stored.shape).to(stored.packed.device, stored.dtype)
        return compressor.decompressor()(stored.packed).contiguous()


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

    def pack(self, values: torch.Tensor, seed: int, packing: Packing) -> torch.Tensor | None:
        # NaN and infinities come back exactly: the bound holds for the others. There are no fill
        # values: an extreme that many share is where a function is flat.
        threads = torch.get_num_threads()
        stream = tensorpress.compress(
            values.detach(), self.codec, whole_range=True, threads=threads
        )
        packed = torch.empty(len(stream), dtype=torch.uint8)
        packed.numpy()[:] = memoryview(stream)
        return packed

    def unpack(self, stored: Stored) -> torch.Tensor:
        values = torch.empty(stored.shape, dtype=stored.dtype)
        threads = torch.get_num_threads()
        tensorpress.decompress(stored.packed.numpy(), out=values, threads=threads)
        return values

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
