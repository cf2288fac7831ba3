"""The HDF5 filter in h5py: datasets that HDF5 compresses and decompresses by itself.

>>> import h5py, numpy, tensorpress.hdf5
>>> with h5py.File("x.h5", "w") as file:
...     data = numpy.sin(numpy.arange(10000.0)).reshape(100, 100)
...     dataset = file.create_dataset("x", data=data, **tensorpress.hdf5.Filter(absolute=1e-3))

Importing tensorpress makes the filter known to the HDF5 libraries of this process, those of h5py
and netCDF4 among them, so that files can also be read. Other programs find it when the folder
`plugin_path()` is in the environment variable HDF5_PLUGIN_PATH. docs/hdf5.md has the details.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import h5py
import numpy as np

from . import _core, _hdf5_plugin
from ._codec import Codec
from ._compression import fill_numbers
from ._reader import checked_threads

__all__ = ["FILTER_ID", "Filter", "plugin_path", "read_parallel", "register", "write_parallel"]

# The number of the filter, of the range that The HDF Group leaves to private use.
FILTER_ID = 0xD450
"""The filter's number in HDF5 files: "TP" in ASCII with the top bit set, of the private range."""


class Filter(h5py.filters.FilterRefBase):
    """How a dataset is compressed: `create_dataset(..., **Filter(absolute=1e-3))`, or
    `compression=Filter(...)`.

    Exactly one bound is given for the codecs "dense" (the default), "ceresz" and "ceresz2":
    `absolute` in the unit of the data, `relative` to the value range of each chunk,
    `pointwise_relative` to each value, or `psnr` in decibels, for each chunk. `effort` ("fast",
    "normal" or "best") is for dense, `codebook` ("default" or "dynamic") for ceresz2. "dct-chop"
    takes no bound but `cf`, `layout`, `transform`, `coefficients`.

    `fill_values` stand for no data: they come back bit for bit and do not count in the range. The
    dataset's own fill value is one of them by itself, and so is, with a bound of the range, an
    extreme that would make up more than nine tenths of it: HDF5 may write a chunk long after it was
    given the values, when it is too late for an error such as LikelyFillError. `threads` work on
    each chunk: 1 (or as many as TENSORPRESS_HDF5_THREADS says), 0 for all cores of this machine.
    """

    filter_id = FILTER_ID

    def __init__(
        self,
        codec: str = "",
        *,
        absolute: float | None = None,
        relative: float | None = None,
        pointwise_relative: float | None = None,
        psnr: float | None = None,
        effort: str | None = None,
        codebook: str | None = None,
        cf: int | None = None,
        layout: str | None = None,
        transform: str | None = None,
        coefficients: str | None = None,
        fill_values: float | Iterable[float] = (),
        threads: int = 1,
    ) -> None:
        chop = {"cf": cf, "layout": layout, "transform": transform, "coefficients": coefficients}
        bounds = {"absolute": absolute, "relative": relative, "psnr": psnr}
        bounds["pointwise_relative"] = pointwise_relative
        given = {"effort": effort, "codebook": codebook, **chop, **bounds}
        default = "dense" if all(value is None for value in chop.values()) else "dct-chop"
        chosen = Codec(
            codec or default, **{name: value for name, value in given.items() if value is not None}
        )
        count = checked_threads(threads)
        self.filter_options = tuple(
            _core.hdf5_filter_words(
                chosen.name,
                chosen.pairs,
                chosen.bound_text,
                fill_numbers(fill_values),
                0 if count == 1 else count,  # 0 leaves it to the variable
            )
        )


# ---- The shared library --------------------------------------------------------------------------


def _find_plugin() -> str:
    plugin = _hdf5_plugin.find()
    if plugin is None:
        looked = ", ".join(map(os.path.dirname, _hdf5_plugin.candidates()))
        raise ImportError(
            f"{_hdf5_plugin.LIBRARY} is not in {looked}; set TENSORPRESS_HDF5_PLUGIN to where it is"
        )
    return plugin


def _open_plugin() -> ctypes.CDLL:
    library = ctypes.CDLL(os.path.abspath(_find_plugin()))
    library.H5PLget_plugin_info.restype = ctypes.c_void_p
    coder = [ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
    coder += [
        ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(ctypes.c_size_t),
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    library.tensorpress_hdf5_encode.argtypes = coder
    library.tensorpress_hdf5_decode.argtypes = coder
    library.tensorpress_hdf5_free.argtypes = [ctypes.c_void_p]
    library.tensorpress_hdf5_free.restype = None
    return library


_plugin = _open_plugin()


def plugin_path() -> str:
    """The folder to put into HDF5_PLUGIN_PATH for h5dump, ncdump and other programs that use
    HDF5."""
    return os.path.dirname(os.path.abspath(_find_plugin()))


def register() -> None:
    """Makes the filter known to h5py's HDF5. Importing this module has done it."""
    h5py.h5z.register_filter(_plugin.H5PLget_plugin_info())


register()


# ---- Chunks in parallel --------------------------------------------------------------------------


class _ChunkCoder:
    """Codes chunks of one dataset outside HDF5 and its lock; ctypes lets other Python threads run
    meanwhile."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        creation = dataset.id.get_create_plist()
        if (
            dataset.chunks is None
            or creation.get_nfilters() != 1
            or creation.get_filter(0)[0] != FILTER_ID
        ):
            raise ValueError(f"{dataset.name} is not a dataset whose only filter is tensorpress")
        values = creation.get_filter(0)[2]
        self.values = (ctypes.c_uint * len(values))(*values)

    def encode(self, chunk: np.ndarray) -> bytes:
        return self._call(_plugin.tensorpress_hdf5_encode, chunk.ctypes.data, chunk.nbytes)

    def decode(self, stream: bytes) -> bytes:
        return self._call(_plugin.tensorpress_hdf5_decode, stream, len(stream))

    def _call(self, function: object, data: object, size: int) -> bytes:
        result, count = ctypes.c_void_p(), ctypes.c_size_t()
        message = ctypes.create_string_buffer(512)
        status = function(
            self.values,
            len(self.values),
            data,
            size,
            ctypes.byref(result),
            ctypes.byref(count),
            message,
            512,
        )
        if status != 0:
            raise OSError(message.value.decode(errors="replace"))
        try:
            return ctypes.string_at(result, count.value)
        finally:
            _plugin.tensorpress_hdf5_free(result)


def _in_order(executor: ThreadPoolExecutor, window: int, tasks: Iterator) -> Iterator:
    """Results of (function, *arguments) in their order, with at most `window` of them under way."""
    waiting: deque[Future] = deque()
    for function, *arguments in tasks:
        waiting.append(executor.submit(function, *arguments))
        if len(waiting) >= window:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def write_parallel(dataset: h5py.Dataset, array: np.ndarray, threads: int = 0) -> None:
    """`dataset[...] = array`, with the chunks compressed on several threads outside HDF5's lock: on
    all cores, or on `threads`.

    The dataset's only filter must be tensorpress. The bytes are those that HDF5 would have written.
    """
    array = np.asarray(array)
    if array.shape != dataset.shape:
        raise ValueError(f"an array of {array.shape} does not fit the dataset of {dataset.shape}")
    coder, extents = _ChunkCoder(dataset), dataset.chunks
    threads = checked_threads(threads)

    def encode(origin: tuple[int, ...]) -> tuple[tuple[int, ...], bytes]:
        part = array[tuple(slice(o, o + extent) for o, extent in zip(origin, extents, strict=True))]
        chunk = np.ascontiguousarray(part, dtype=dataset_type)
        if chunk.shape != extents:
            whole = np.full(extents, fill, dtype=dataset_type)
            whole[tuple(slice(extent) for extent in part.shape)] = chunk
            chunk = whole
        return origin, coder.encode(chunk)

    dataset_type, fill = dataset.dtype, dataset.fillvalue
    origins = itertools.product(
        *(range(0, n, extent) for n, extent in zip(dataset.shape, extents, strict=True))
    )
    with ThreadPoolExecutor(threads) as executor:
        for origin, stream in _in_order(
            executor, 2 * threads, ((encode, origin) for origin in origins)
        ):
            dataset.id.write_direct_chunk(origin, stream)


def read_parallel(dataset: h5py.Dataset, threads: int = 0) -> np.ndarray:
    """`dataset[...]`, with the chunks decompressed on several threads outside HDF5's lock: on all
    cores, or on `threads`."""
    coder, extents, dtype = _ChunkCoder(dataset), dataset.chunks, dataset.dtype
    threads = checked_threads(threads)
    array = np.full(dataset.shape, dataset.fillvalue, dtype=dtype)

    def decode(origin: tuple[int, ...], mask: int, stored: bytes) -> None:
        chunk = np.frombuffer(stored if mask & 1 else coder.decode(stored), dtype=dtype).reshape(
            extents
        )
        place = array[
            tuple(slice(o, o + extent) for o, extent in zip(origin, extents, strict=True))
        ]
        place[...] = chunk[tuple(slice(extent) for extent in place.shape)]

    def tasks() -> Iterator:
        for number in range(dataset.id.get_num_chunks()):
            origin = dataset.id.get_chunk_info(number).chunk_offset
            mask, stored = dataset.id.read_direct_chunk(origin)
            yield decode, origin, mask, stored

    with ThreadPoolExecutor(threads) as executor:
        for _ in _in_order(executor, 2 * threads, tasks()):
            pass
    return array
