"""xarray: `xarray.open_dataset("x.tpz", engine="tensorpress")` gives a dataset of one variable that
reads the chunks it needs when they are needed.

The stream's attributes say what the variable is called and what its axes are; see `describe`.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from ._reader import Reader, open

# Attributes of NetCDF that are numbers of the variable's own type.
NUMBERS = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range")


@dataclass
class Description:
    """What the attributes of a stream say about it as a variable."""

    name: str
    dims: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    coordinates: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)


def describe(reader: Reader, stem: str) -> Description:
    """The one place that knows how attributes are read. All of them are texts:

    name, var         what the variable is called; the file's stem without them
    dims, dimensions  names of the axes: ["time", "lat"], time,lat or time lat; dim_0... without
    coord:time        a coordinate of the axis `time`: a JSON list of numbers or texts
    anything else     an attribute of the variable, a number or a list where it is one in JSON
    """
    rest = dict(reader.attributes)
    names = [rest.pop(key) for key in ("name", "var") if key in rest]
    dims = [_names(rest.pop(key)) for key in ("dims", "dimensions") if key in rest]
    fitting = [each for each in dims if len(each) == reader.ndim == len(set(each))]
    described = Description(
        name=names[0] if names and names[0] else stem,
        dims=fitting[0] if fitting else tuple(f"dim_{axis}" for axis in range(reader.ndim)),
    )
    for key, text in rest.items():
        axis = key.removeprefix("coord:")
        if axis != key and axis in described.dims:
            values = np.asarray(_value(text))
            if values.shape == (reader.shape[described.dims.index(axis)],):
                described.coordinates[axis] = values
                continue
        value = _value(text)
        is_number = key in NUMBERS and not isinstance(value, str)
        described.attributes[key] = np.asarray(value, reader.dtype)[()] if is_number else value
    return described


class TensorpressBackend(BackendEntrypoint):
    """The engine `tensorpress` of xarray."""

    description = "Open compressed arrays (.tpz) with Tensorpress"
    open_dataset_parameters = (
        "filename_or_obj",
        "drop_variables",
        "mask_and_scale",
        "decode_times",
        "threads",
    )

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        threads: int = 1,
    ) -> xarray.Dataset:
        path = os.fspath(filename_or_obj)
        reader = open(path, threads=threads)
        described = describe(reader, pathlib.Path(path).stem)
        lazy = indexing.LazilyIndexedArray(LazyArray(reader))
        variable = xarray.Variable(described.dims, lazy, described.attributes)
        dataset = xarray.Dataset(
            {described.name: variable},
            coords={axis: (axis, values) for axis, values in described.coordinates.items()},
        )
        if drop_variables is not None:
            dataset = dataset.drop_vars(drop_variables, errors="ignore")
        dataset = xarray.decode_cf(
            dataset, mask_and_scale=mask_and_scale, decode_times=decode_times
        )
        dataset.encoding["source"] = path
        dataset.set_close(reader.close)
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        return isinstance(filename_or_obj, (str, os.PathLike)) and os.fspath(
            filename_or_obj
        ).endswith(".tpz")


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


def _names(text: str) -> tuple[str, ...]:
    value = _value(text)
    parts = value if isinstance(value, list) else text.replace(",", " ").split()
    return tuple(str(part) for part in parts)


def _value(text: str) -> Any:
    """What the text is in JSON, if that is a number or a list of simple values; else itself."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, list) and all(isinstance(each, (int, float, str)) for each in value):
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else text


def attributes_of(array: xarray.DataArray) -> Mapping[str, str]:
    """The reverse of describe, for compress(array, attributes=...)."""
    result = {"dims": json.dumps([str(dim) for dim in array.dims])}
    if array.name is not None:
        result["name"] = str(array.name)
    for dim in array.dims:
        if dim in array.coords and array.coords[dim].dtype.kind in "fiuU":
            result[f"coord:{dim}"] = json.dumps(array.coords[dim].values.tolist())
    for key, value in array.attrs.items():
        if isinstance(value, (np.generic, np.ndarray)):
            value = value.tolist()
        result[str(key)] = value if isinstance(value, str) else json.dumps(value)
    return result
