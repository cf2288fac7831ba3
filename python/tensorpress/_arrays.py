"""What may be compressed and what may be decompressed into, before the module sees it.

NumPy arrays, PyTorch tensors and whatever else speaks DLPack go on as they are. Buffers (bytes,
memoryview, array.array, mmap) become NumPy arrays of their format, without a copy. A copy is made
only where it cannot be helped: of masked elements, of the other byte order, of elements that are
not aligned, and of strides that are no multiple of the element size.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

NUMPY_NAMES = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "u8": "uint8",
    "i16": "int16",
}
SUPPORTED = frozenset(np.dtype(name) for name in NUMPY_NAMES.values())
ALLOWED = "float32, float64, float16, bfloat16, uint8 or int16"


def as_input(array: Any, use: str = "compress") -> tuple[Any, bool]:
    """What the module takes for `array`, and whether it is the bits of bfloat16 as uint16. `use` is
    the verb of errors."""
    if isinstance(array, (np.ndarray, np.generic)):
        return _as_native(np.asarray(array))
    if hasattr(array, "__dlpack__"):
        # A tensor that is to be read with the other sign would come through DLPack without it.
        return _detached(array.resolve_neg() if _is_negated(array) else array), False
    return _as_native(_as_numpy(array, use))


def with_fill_values(array: Any, use: str = "compress") -> tuple[Any, list[Any]]:
    """The array without a mask, and the values of it that are known to stand for no data: the fill
    value that takes the place of masked elements, and what the attributes of an xarray.DataArray or
    an h5py.Dataset name."""
    known = _named_by_attributes(array)
    if not isinstance(array, np.ndarray) and not hasattr(array, "__dlpack__"):
        # netCDF4.Variable gives masked arrays.
        array = _as_numpy(array, use)
    if not isinstance(array, np.ma.MaskedArray):
        return array, known
    if not np.ma.is_masked(array):
        return array.data, known
    if array.dtype.kind not in "fV":
        raise TypeError(
            f"a masked array of {array.dtype} has no value to spare for what its mask hides: pass "
            "array.filled(value)"
        )
    return array.filled(), [array.fill_value, *known]


def as_output(out: Any) -> tuple[Any, bool]:
    """The same for `out`, which must be written to as it is."""
    if isinstance(out, np.ma.MaskedArray):
        raise TypeError("a masked array would hide what is written; pass out=array.data")
    if isinstance(out, np.ndarray):
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        if is_bfloat16(out.dtype):
            return out.view(np.uint16), True
        _check_dtype(out.dtype)
        if not out.dtype.isnative or not out.flags.aligned:
            raise ValueError("out must have native byte order and aligned elements")
        return out, False
    if hasattr(out, "__dlpack__"):
        if _is_negated(out):
            raise ValueError("out is a view that turns signs around; pass out.resolve_neg()")
        return _detached(out), False
    try:
        view = memoryview(out)
    except TypeError:
        raise TypeError(f"cannot decompress into an object of type {type(out).__name__}") from None
    if view.readonly:
        raise ValueError("out is read-only")
    return as_output(np.asarray(view))


def dtype_of(name: str) -> np.dtype[Any]:
    """The NumPy type of a stream's type; ml_dtypes has bfloat16."""
    if name != "bf16":
        return np.dtype(NUMPY_NAMES[name])
    try:
        bfloat16: np.dtype[Any] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
        return bfloat16
    except ImportError:
        raise TypeError(
            "the stream holds bfloat16, which NumPy lacks: pip install ml_dtypes, or pass "
            "out=torch.empty(shape, dtype=torch.bfloat16)"
        ) from None


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    return dtype.name == "bfloat16" and dtype.itemsize == 2


def _as_numpy(array: Any, use: str) -> np.ndarray[Any, Any]:
    if isinstance(array, (str, os.PathLike)):
        raise TypeError(
            f"cannot {use} {os.fspath(array)!r}, which is not an array: read the file first, for "
            "instance with numpy.load"
        )
    try:
        view = memoryview(array)
    except TypeError:
        if not hasattr(array, "__array__"):
            raise TypeError(
                f"cannot {use} an object of type {type(array).__name__}; pass a NumPy array, a "
                "tensor on the CPU or a buffer"
            ) from None
        return np.asanyarray(array)
    return np.asarray(view)


def _named_by_attributes(array: Any) -> list[Any]:
    attributes = getattr(array, "attrs", None)
    if not hasattr(attributes, "get"):
        return []
    named = [attributes.get(name) for name in ("_FillValue", "missing_value")]
    numbers = [value for value in named if np.asarray(value).dtype.kind in "fiu"]
    return [number for value in numbers for number in np.ravel(value)]


def _as_native(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], bool]:
    bits_of_bf16 = is_bfloat16(array.dtype)
    if bits_of_bf16:
        array = array.view(np.uint16)
    else:
        _check_dtype(array.dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
        array = array.copy(order="C")
    return array, bits_of_bf16


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.newbyteorder("=") in SUPPORTED:
        return
    if dtype.hasobject:
        raise TypeError(f"an array of Python objects has no numbers to compress; use {ALLOWED}")
    raise TypeError(f"elements of type {dtype} are not supported; use {ALLOWED}")


def _detached(tensor: Any) -> Any:
    """PyTorch exports no tensor that records its gradient."""
    return tensor.detach() if getattr(tensor, "requires_grad", False) else tensor


def _is_negated(tensor: Any) -> bool:
    """PyTorch's lazy minus, which the imaginary part of a conjugate has."""
    return bool(getattr(tensor, "is_neg", bool)())
