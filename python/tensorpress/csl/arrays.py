"""Arrays of 16-bit values travel as 32-bit values."""

from __future__ import annotations

import numpy as np


def memcpy_view(array: np.ndarray, datatype: np.dtype) -> np.ndarray:
    """The values of ``datatype`` in an array of 32-bit words: of 16 bits, the low half counts.

    >>> memcpy_view(np.array([3, 0x10004], np.uint32), np.dtype(np.uint16)).tolist()
    [3, 4]
    """
    datatype = np.dtype(datatype)
    if datatype.itemsize == 4:
        return array.view(datatype)
    if datatype.itemsize != 2:
        raise TypeError(f"values have 16 or 32 bits, not {datatype}")
    halves = array.view(np.uint16)
    return halves[..., ::2].view(datatype)


def input_array_to_u32(np_arr: np.ndarray, sentinel: int | None, fast_dim_sz: int) -> np.ndarray:
    """32-bit words of an array: values of 16 bits in the low half, and above it the index.

    With ``sentinel`` the high half is the position within the fast dimension, otherwise 0.
    """
    flat = np_arr.reshape(-1)
    if flat.dtype.itemsize == 4:
        return flat.view(np.uint32).copy()
    low = flat.view(np.uint16).astype(np.uint32)
    if sentinel is None:
        return low
    high = (np.arange(flat.size, dtype=np.uint32) % fast_dim_sz) << 16
    return low | high
