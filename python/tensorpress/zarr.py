"""Zarr v3: the array-to-bytes codec `tensorpress`, which takes the place of the serializer.

    zarr.create_array(store, shape=..., dtype="float32", chunks=...,
                      serializer=tensorpress.zarr.TensorpressCodec(relative=1e-4), compressors=None)

Every Zarr chunk is a complete .tpz stream. A relative bound is one of the chunk's own range, which
is never larger than the array's. NaN and the array's fill_value come back exactly; a fill_value of
0 only with codecs that keep a bound. A chunk with another fill value that was not named, in
fill_values=, raises LikelyFillError when it is written. zarr-python finds this by its entry point
when it meets the name in zarr.json.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from zarr.abc.codec import ArrayBytesCodec

from ._arrays import SUPPORTED
from ._codec import Codec, Parameter, codec_from
from ._compression import codecs, compress, decompress
from ._value_settings import ValueSettings, split

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer

NAME = "tensorpress"


@dataclass(frozen=True, init=False)
class TensorpressCodec(ArrayBytesCodec):
    """A Codec for Zarr; takes the same arguments, and of compress() `fill_values` (besides the
    array's own), `value_range` and `whole_range`, which are kept in the array's metadata.

    >>> from tensorpress.zarr import TensorpressCodec
    >>> TensorpressCodec(absolute=0.001).to_dict()["configuration"]
    {'codec': 'dense', 'absolute': 0.001}
    """

    is_fixed_size = False

    codec: Codec
    values: ValueSettings

    def __init__(
        self,
        codec: str | Codec = "dense",
        *,
        fill_values: float | Iterable[float] = (),
        value_range: tuple[float, float] | None = None,
        whole_range: bool = False,
        **keywords: Parameter,
    ) -> None:
        values = ValueSettings.checked(fill_values, value_range, whole_range)
        object.__setattr__(self, "codec", codec_from(codec, keywords))
        object.__setattr__(self, "values", values)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TensorpressCodec:
        name, configuration = data.get("name"), data.get("configuration", {})
        if name != NAME or not isinstance(configuration, dict):
            raise ValueError(f"{data!r} does not describe the codec {NAME}")
        codec, about_values = split(configuration)
        return cls(Codec.from_dict(codec), **about_values)

    def to_dict(self) -> dict[str, Any]:
        configuration = {**self.codec.to_dict(), **self.values.to_dict()}
        return {"name": NAME, "configuration": configuration}

    def validate(self, *, shape: tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:
        native = _native(dtype)
        bounded = codecs()[self.codec.name]["error_bounded"]
        if native not in SUPPORTED or (bounded and native.kind != "f"):
            kinds = "float32, float64 and float16" + ("" if bounded else ", uint8 and int16")
            raise TypeError(f"codec {self.codec.name} takes {kinds}, and this array is {native}")
        if len(shape) > 8:
            raise ValueError(f"{len(shape)} dimensions are too many; the limit is 8")

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        raise NotImplementedError("the size depends on the data")

    def _encode_sync(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        array = chunk_array.as_numpy_array()
        fills = (*self.values.fill_values, *self._own_fill_value(chunk_spec))
        keywords = {**self.values.keywords(), "fill_values": dict.fromkeys(fills)}
        stream = compress(array, self.codec, **keywords)
        return chunk_spec.prototype.buffer.from_bytes(stream)

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        wanted = chunk_spec.dtype.to_native_dtype()
        array = np.empty(chunk_spec.shape, _native(chunk_spec.dtype))
        decompress(chunk_bytes.as_buffer_like(), out=array)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(array.astype(wanted, copy=False))

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    def _own_fill_value(self, chunk_spec: ArraySpec) -> list[float]:
        if chunk_spec.fill_value is None:
            return []
        value = float(chunk_spec.fill_value)
        # Zarr's default: codecs of a fixed rate would store every chunk with a zero as it is.
        common = value == 0 and self.codec.bound is None
        return [value] if math.isfinite(value) and not common else []


def _native(dtype: Any) -> np.dtype[Any]:
    """NumPy's type for Zarr's, in the byte order of this machine."""
    found: np.dtype[Any] = dtype.to_native_dtype()
    return found.newbyteorder("=")
