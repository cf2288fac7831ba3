"""numcodecs: the codec `tensorpress`, as a compressor for Zarr v2 and for anything that takes
numcodecs.

    zarr.create_array(store, shape=..., dtype="float32", zarr_format=2,
                      compressors=tensorpress.numcodecs.Tensorpress(relative=1e-4))

Streams are complete .tpz, so decoding needs neither shape nor type. numcodecs speaks of memory
rather than of axes: an array in Fortran order is stored with its axes reversed, one of the other
byte order swapped; the attributes `order` and `byte_order` say so, and decoding undoes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numcodecs.abc import Codec as NumcodecsCodec
from numcodecs.compat import (
    ensure_contiguous_ndarray,
    ensure_ndarray,
)

from ._arrays import dtype_of
from ._codec import Codec, Parameter, codec_from
from ._compression import compress, decompress, info
from ._value_settings import ValueSettings


class Tensorpress(NumcodecsCodec):
    """A Codec for numcodecs; takes the same arguments, and besides

    fill_values  values that stand for no data and come back exactly; numcodecs does not tell us the
                 array's own
    value_range  (low, high) for relative= and psnr=, if the range is known
    whole_range  True: a bound of the range is meant even where one repeated extreme makes up most
                 of it, which raises LikelyFillError otherwise
    dtype        what bytes hold ("<f4"), for callers that hand over bytes instead of arrays

    A relative bound is one of each chunk's own range.

    >>> from tensorpress.numcodecs import Tensorpress
    >>> Tensorpress(codec='dense', absolute=0.001).get_config()
    {'id': 'tensorpress', 'codec': 'dense', 'absolute': 0.001}
    """

    codec_id = "tensorpress"

    def __init__(
        self,
        codec: str | Codec = "dense",
        *,
        fill_values: float | Iterable[float] = (),
        value_range: tuple[float, float] | None = None,
        whole_range: bool = False,
        dtype: Any = None,
        **keywords: Parameter,
    ) -> None:
        self._codec = codec_from(codec, keywords)
        self._values = ValueSettings.checked(fill_values, value_range, whole_range)
        self._dtype = None if dtype is None else np.dtype(dtype)

    def encode(self, buf: Any) -> bytes:
        array = self._as_array(buf)
        attributes = {}
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            array = array.T
            attributes["order"] = "F"
        if not array.dtype.isnative:
            attributes["byte_order"] = array.dtype.byteorder
        return compress(array, self._codec, attributes=attributes, **self._values.keywords())

    def decode(self, buf: Any, out: Any = None) -> Any:
        stream = ensure_contiguous_ndarray(buf)
        fields = info(stream)
        reversed_axes = fields["attributes"].get("order") == "F"
        native = dtype_of(fields["dtype"])
        swapped = fields["attributes"].get("byte_order") in ("<", ">")
        dtype = native.newbyteorder("S") if swapped else native
        if out is None:
            array = np.empty(fields["shape"], dtype)
        else:
            array = _place_in(out, dtype, fields["shape"], reversed_axes)
        decompress(stream, out=array.view(native))
        if swapped:
            array.byteswap(inplace=True)
        if out is not None:
            return out
        return array.T if reversed_axes else array

    def get_config(self) -> dict[str, Any]:
        config = {"id": self.codec_id, **self._codec.to_dict(), **self._values.to_dict()}
        if self._dtype is not None:
            config["dtype"] = self._dtype.str
        return config

    def __repr__(self) -> str:
        config = self.get_config()
        del config["id"]
        return f"Tensorpress({', '.join(f'{key}={value!r}' for key, value in config.items())})"

    def _as_array(self, buf: Any) -> np.ndarray[Any, Any]:
        if isinstance(buf, np.ma.MaskedArray):
            raise TypeError("a masked array has values that its mask hides: pass array.filled(...)")
        array: np.ndarray[Any, Any] = ensure_ndarray(buf)
        if array.dtype.itemsize == 1 and self._dtype is not None:
            array = ensure_contiguous_ndarray(array).view(self._dtype)
            return array
        if array.dtype.kind not in "fV" and self._codec.bound is not None:
            raise TypeError(
                f"{self!r} keeps a bound on floating-point numbers, and this is {array.dtype}; "
                "say what the bytes hold: dtype='<f4'"
            )
        return array


def _place_in(
    out: Any, dtype: np.dtype[Any], shape: tuple[int, ...], reversed_axes: bool
) -> np.ndarray[Any, Any]:
    """`out` as an array of the stream's type and shape: its axes if they are the same, otherwise
    its memory."""
    array: np.ndarray[Any, Any] = ensure_ndarray(out)
    if array.dtype == dtype and array.shape == (shape[::-1] if reversed_axes else shape):
        return array.T if reversed_axes else array
    flat: np.ndarray[Any, Any] = ensure_contiguous_ndarray(array)
    wanted = math.prod(shape) * dtype.itemsize
    if flat.nbytes != wanted:
        raise ValueError(f"out has {flat.nbytes} bytes, the stream holds {wanted}")
    return flat.view(dtype).reshape(shape)
