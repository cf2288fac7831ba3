"""xarray: `xarray.open_dataset("x.tpz", engine="tensorpress")` gives a dataset of one variable that
reads the chunks it needs when they are needed. Names, axes, coordinates and attributes come from
the stream's attributes, where it has them.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from ._reader import Reader, open
from ._variables import Coordinate, describe, to_notes


class TensorpressBackend(BackendEntrypoint):
    """The engine `tensorpress` of xarray."""

    description = "Open compressed arrays (.tpz) with Tensorpress"
    open_dataset_parameters = (
        "filename_or_obj",
        "drop_variables",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "use_cftime",
        "decode_timedelta",
        "threads",
    )

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        mask_and_scale: bool = True,
        decode_times: Any = True,
        concat_characters: bool = True,
        decode_coords: Any = True,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        threads: int = 1,
    ) -> xarray.Dataset:
        path = os.fspath(filename_or_obj)
        reader = open(path, threads=threads)
        try:
            dataset = _dataset_of(reader, pathlib.Path(path).stem)
            if drop_variables is not None:
                dataset = dataset.drop_vars(drop_variables, errors="ignore")
            dataset = xarray.decode_cf(
                dataset,
                mask_and_scale=mask_and_scale,
                decode_times=decode_times,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
            )
        except BaseException:
            reader.close()
            raise
        dataset.encoding["source"] = path
        dataset.set_close(reader.close)
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        is_path = isinstance(filename_or_obj, (str, os.PathLike))
        return is_path and os.fspath(filename_or_obj).endswith(".tpz")


class LazyArray(BackendArray):
    """A reader as xarray indexes it."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.shape = reader.shape
        self.dtype = reader.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._read
        )

    def _read(self, key: tuple[Any, ...]) -> Any:
        return np.asarray(self.reader[key])


def _dataset_of(reader: Reader, stem: str) -> xarray.Dataset:
    described = describe(reader, stem)
    lazy = indexing.LazilyIndexedArray(LazyArray(reader))
    variable = xarray.Variable(described.dims, lazy, described.attributes, described.encoding)
    coordinates = {
        dim: (dim, each.values, each.attributes) for dim, each in described.coordinates.items()
    }
    return xarray.Dataset({described.name: variable}, coordinates, described.dataset_attributes)


def attributes_of(array: xarray.DataArray) -> dict[str, str]:
    """What keeps an array's name, axes, coordinates and attributes in a stream:

    tensorpress.compress(array, relative=1e-4, attributes=attributes_of(array))

    Coordinates of one axis are kept, times as CF conventions write them, and attributes that are
    numbers, texts and lists of them.
    """
    coordinates = {}
    for dim in array.dims:
        if dim in array.coords:
            encoded = xarray.conventions.encode_cf_variable(array.coords[dim].variable)
            if encoded.dtype.kind in "fiuU":
                coordinates[str(dim)] = Coordinate(np.asarray(encoded.values), dict(encoded.attrs))
    kept = {str(key): value for key, value in array.attrs.items() if _is_simple(value)}
    name = str(array.name) if array.name is not None else "variable"
    dims = tuple(str(dim) for dim in array.dims)
    return to_notes(name, array.dtype, dims, kept, coordinates)


def _is_simple(value: Any) -> bool:
    if not isinstance(value, (str, int, float, np.number, np.ndarray, list, tuple)):
        return False
    try:
        return np.asarray(value).dtype.kind in "biufSU"
    except ValueError:  # lists of different lengths
        return False
