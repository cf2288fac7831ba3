"""Parts of a .tpz file, read when they are asked for."""

from __future__ import annotations

import builtins
import itertools
import math
import operator
import os
from collections.abc import Iterator
from types import EllipsisType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arrays import as_output, dtype_of

if TYPE_CHECKING:
    from ._compression import Source

MAX_BYTES = 1 << 40
MAX_THREADS = 1024

Index = int | slice | EllipsisType | tuple[int | slice | EllipsisType, ...]


def open(source: Source, *, threads: int = 1) -> Reader:
    """Opens a .tpz file (or a buffer) for reading parts of it, on one thread or on `threads`.

    >>> with tensorpress.open(path) as reader:
    ...     part = reader[0:10, :, 5]
    """
    return Reader(source, threads=threads)


class Reader:
    """A compressed array that is sliced like a NumPy array and decompresses only the chunks that a
    slice needs. Safe to use from several threads; pickled by its path.

    >>> with tensorpress.open(path) as reader:
    ...     reader.shape, reader.dtype.name, reader[0, 0:2, -1].shape
    ((20, 30, 40), 'float32', (2,))
    """

    def __init__(self, source: Source, *, threads: int = 1) -> None:
        # A pickle may be read in another folder.
        is_path = isinstance(source, (str, os.PathLike))
        self._source = os.path.abspath(os.fsdecode(source)) if is_path else source
        self._threads = checked_threads(threads)
        self._core = open_core(source)
        fields = self._core.info()
        self._dtype_name: str = fields["dtype"]
        self.shape: tuple[int, ...] = fields["shape"]
        self.chunk_shape: tuple[int, ...] = fields["chunk_shape"]
        self.attributes: dict[str, str] = fields["attributes"]

    @property
    def dtype(self) -> np.dtype[Any]:
        return dtype_of(self._dtype_name)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def closed(self) -> bool:
        return self._core.closed

    def close(self) -> None:
        """Gives the file back. Reading afterwards is a ValueError."""
        self._core.close()

    def read(self, out: Any = None, *, threads: int | None = None) -> Any:
        """All of it, as a new array or into `out`; `threads` is the reader's own if absent."""
        result = np.empty(self.shape, self.dtype) if out is None else out
        shape = tuple(as_output(result)[0].shape)
        if shape != self.shape:
            raise ValueError(f"out has shape {shape}, the stream {self.shape}")
        self._read([0] * self.ndim, result, threads)
        return result

    def __getitem__(self, index: Index) -> Any:
        wanted = _positions(index, self.shape)
        result = np.empty([len(each) for each in wanted], self.dtype)
        for places in _without_skipped_chunks(wanted, self.chunk_shape):
            some = [each[place] for each, place in zip(wanted, places, strict=True)]
            self._read_positions(some, result[places])
        entries = _entries(index, self.ndim)
        return result[tuple(slice(None) if isinstance(each, slice) else 0 for each in entries)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("decompressing makes a new array; copy=False cannot be kept")
        whole: np.ndarray[Any, Any] = self.read()
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a 0-D array has no length")
        return self.shape[0]

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.closed:
            raise ValueError("the reader is closed")
        source = self._source
        if not isinstance(source, (str, bytes, os.PathLike)):
            source = bytes(source)
        return (_reopen, (source, self._threads))

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<{state} tensorpress.Reader of {self._dtype_name} {self.shape}>"

    def _read_positions(self, wanted: list[range], out: np.ndarray[Any, Any]) -> None:
        begins = [min(each[0], each[-1]) if each else 0 for each in wanted]
        if all(len(each) <= 1 or abs(each.step) == 1 for each in wanted):
            self._read(begins, out[tuple(slice(None, None, each.step) for each in wanted)])
            return
        extents = [abs(each[-1] - each[0]) + 1 if each else 0 for each in wanted]
        region = np.empty(extents, self.dtype)
        self._read(begins, region)
        out[...] = region[tuple(slice(None, None, each.step) for each in wanted)]

    def _read(self, origin: list[int], out: Any, threads: int | None = None) -> None:
        target, bits_of_bf16 = as_output(out)
        chosen = self._threads if threads is None else checked_threads(threads)
        self._core.read(origin, target, bits_of_bf16, chosen, MAX_BYTES)


def open_core(source: Source) -> _core.Reader:
    """The module's reader of a path or a buffer."""
    if isinstance(source, (str, os.PathLike)):
        with builtins.open(source, "rb"):
            pass  # Python's own exceptions: FileNotFoundError, PermissionError, IsADirectoryError
        return _core.Reader.of_file(os.fsencode(source))
    return _core.Reader.of_buffer(source)


def whole_number(argument: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{argument} takes whole numbers, and {value!r} is not one") from None


def checked_threads(threads: int) -> int:
    """What the module takes for `threads`: 0 is every core that this process may use."""
    count = whole_number("threads", threads)
    if not 0 <= count <= MAX_THREADS:
        raise ValueError(f"threads={threads} is not in 0..{MAX_THREADS}; 0 is all cores")
    return count or min(_usable_cores(), MAX_THREADS)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked_max_bytes(max_bytes: int) -> int:
    count = whole_number("max_bytes", max_bytes)
    if count < 0:
        raise ValueError(f"max_bytes={max_bytes} is below 0")
    return min(count, (1 << 64) - 1)


def _reopen(source: Source, threads: int) -> Reader:
    return Reader(source, threads=threads)


def _entries(index: Index, rank: int) -> list[int | slice]:
    """One entry for each axis, the ellipsis and missing ones at the end written out."""
    entries = list(index) if isinstance(index, tuple) else [index]
    ellipses = sum(entry is Ellipsis for entry in entries)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if len(entries) - ellipses > rank:
        raise IndexError(f"{len(entries) - ellipses} indices for an array of {rank} axes")
    at = next((i for i, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    whole = [slice(None)] * (rank - len(entries) + ellipses)
    return [*entries[:at], *whole, *entries[at + 1 :]]


def _positions(index: Index, shape: tuple[int, ...]) -> list[range]:
    """The positions along each axis; a single index is a range of one."""
    positions = []
    for axis, (entry, extent) in enumerate(zip(_entries(index, len(shape)), shape, strict=True)):
        if isinstance(entry, slice):
            positions.append(range(*entry.indices(extent)))
            continue
        try:
            at = operator.index(entry)
        except TypeError:  # arrays have __index__ too
            at = None
        if at is None or isinstance(entry, (bool, np.bool_)):
            shown = repr(entry)
            if hasattr(entry, "shape"):
                shown = f"an array of {entry.dtype} of shape {tuple(entry.shape)}"
            raise TypeError(
                f"a reader's index has integers, slices and an ellipsis, not {shown}: "
                "read a slice and index that"
            )
        if not -extent <= at < extent:
            raise IndexError(f"index {at} is out of bounds for axis {axis} with size {extent}")
        positions.append(range(at % extent, at % extent + 1))
    return positions


def _without_skipped_chunks(
    wanted: list[range], chunk_shape: tuple[int, ...]
) -> Iterator[tuple[slice, ...]]:
    """Parts of the result that are read at once: all of an axis, or one place after the other where
    the steps are as long as chunks, so that those in between are left alone."""
    parts = [
        [slice(place, place + 1) for place in range(len(each))]
        if abs(each.step) > 1 and abs(each.step) >= extent
        else [slice(None)]
        for each, extent in zip(wanted, chunk_shape, strict=True)
    ]
    return itertools.product(*parts)
