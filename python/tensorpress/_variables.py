"""What the attributes of a stream say about it as a variable, and the other way round.

`tensorpress compress run.nc --var TEMP` keeps what a NetCDF file knows of a variable as JSON in the
attribute `netcdf` (going on in `netcdf.1`, `netcdf.2`, ... when it is long):

    {"variable": "TEMP", "type": "f32", "dimensions": ["time", "lat"],
     "attributes": {"units": "K", "_FillValue": {"f32": [-1e34]}},
     "coordinates": {"lat": {"attributes": {...}, "values": {"f64": [...]}}}, "global": {...}}

Streams without it may say the same in plain attributes; see `describe`. What makes no sense is left
out, so that the data can be read in any case.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._reader import Reader

PIECE = 60000  # strings in a stream have at most 65535 bytes
TYPES = {
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f32": "float32",
    "f64": "float64",
}
# Attributes that are numbers of the variable's own type, and those that speak of packed numbers.
NUMBERS = ("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range")
PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")


@dataclass
class Coordinate:
    values: np.ndarray[Any, Any]
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Description:
    name: str
    dims: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    encoding: dict[str, Any] = field(default_factory=dict)
    coordinates: dict[str, Coordinate] = field(default_factory=dict)
    dataset_attributes: dict[str, Any] = field(default_factory=dict)


def describe(reader: Reader, stem: str) -> Description:
    """From the notes in `netcdf`, or else from plain attributes, all of which are texts:

    name, var         what the variable is called; the file's stem without them
    dims, dimensions  names of the axes: ["time", "lat"], time,lat or time lat; dim_0... without
    coord:time        the coordinate of the axis `time`: a JSON list
    anything else     an attribute of the variable, a number or a list where it is one in JSON
    """
    described = _from_notes(reader) or _from_plain_attributes(reader, stem)
    for key in ("scale_factor", "add_offset"):
        if isinstance(described.attributes.get(key), str):
            del described.attributes[key]
    if len(described.dims) != reader.ndim or len(set(described.dims)) != reader.ndim:
        described.dims = tuple(f"dim_{axis}" for axis in range(reader.ndim))
    extents = dict(zip(described.dims, reader.shape, strict=True))
    described.coordinates = {
        dim: coordinate
        for dim, coordinate in described.coordinates.items()
        if coordinate.values.shape == (extents.get(dim, -1),) and dim != described.name
    }
    return described


def _from_notes(reader: Reader) -> Description | None:
    pieces: list[str] = []
    while (key := f"netcdf.{len(pieces)}" if pieces else "netcdf") in reader.attributes:
        pieces.append(reader.attributes[key])
    try:
        notes = json.loads("".join(pieces))
        attributes = _arrays(notes.get("attributes", {}))
        described = Description(
            name=str(notes["variable"]),
            dims=tuple(str(name) for name in notes["dimensions"]),
            attributes=attributes,
            dataset_attributes=_arrays(notes.get("global", {})),
            coordinates={
                dim: Coordinate(
                    np.atleast_1d(_from_json(each["values"])), _arrays(each.get("attributes", {}))
                )
                for dim, each in notes.get("coordinates", {}).items()
            },
        )
        if str(notes.get("type", ""))[:1] in ("i", "u"):  # the stream holds the unpacked numbers
            packing = {key: attributes.pop(key) for key in PACKING if key in attributes}
            described.encoding = {**packing, "dtype": TYPES[notes["type"]]}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
    return described


def _from_plain_attributes(reader: Reader, stem: str) -> Description:
    rest = dict(reader.attributes)
    names = [rest.pop(key) for key in ("name", "var") if key in rest]
    dims = [_names(rest.pop(key)) for key in ("dims", "dimensions") if key in rest]
    described = Description(name=next(filter(None, names), stem), dims=dims[0] if dims else ())
    for key, text in rest.items():
        value = _value(text)
        if key.startswith("coord:"):
            described.coordinates[key.removeprefix("coord:")] = Coordinate(np.asarray(value))
        elif key in NUMBERS and not isinstance(value, str):
            with contextlib.suppress(ValueError, OverflowError):  # -1 in a variable of uint8
                described.attributes[key] = np.asarray(value, reader.dtype)[()]
        else:
            described.attributes[key] = value
    return described


def to_notes(
    name: str,
    dtype: np.dtype[Any],
    dims: tuple[str, ...],
    attributes: Mapping[str, Any],
    coordinates: Mapping[str, Coordinate],
) -> dict[str, str]:
    """The attributes that describe() and `tensorpress decompress -o out.nc` read."""
    notes: dict[str, Any] = {
        "variable": name,
        "type": "f64" if dtype.itemsize == 8 else "f32",
        "dimensions": list(dims),
        "attributes": {key: _to_json(value) for key, value in attributes.items()},
        "coordinates": {
            dim: {
                "attributes": {key: _to_json(value) for key, value in each.attributes.items()},
                "values": _to_json(each.values),
            }
            for dim, each in coordinates.items()
        },
    }
    text = json.dumps(notes)
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    return {f"netcdf.{i}" if i else "netcdf": piece for i, piece in enumerate(pieces)}


def _arrays(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): _from_json(value) for key, value in fields.items()}


def _from_json(value: Any) -> Any:
    """A text, or {"f32": [1, "nan"]}: one number, or several."""
    if isinstance(value, str):
        return value
    ((kind, values),) = value.items()
    if kind == "text":
        return bytes(values).decode("utf-8", "replace")
    if kind == "string":
        return values[0] if len(values) == 1 else np.asarray(values, str)
    dtype = np.dtype(TYPES[kind])
    numbers = [float(each) if isinstance(each, str) else each for each in values]
    return np.asarray(numbers, dtype)[0] if len(numbers) == 1 else np.asarray(numbers, dtype)


def _to_json(value: Any) -> Any:
    if isinstance(value, str):
        return value
    array = np.atleast_1d(np.asarray(value))
    if array.dtype.kind in "US":
        return {"string": array.astype(str).tolist()}
    names = {np.dtype(numpy): name for name, numpy in TYPES.items()}
    if array.dtype not in names:
        array = array.astype("float64" if array.dtype.kind == "f" else "int64")
    return {
        names[array.dtype]: [
            each if math.isfinite(each) else str(each).lower() for each in array.ravel().tolist()
        ]
    }


def _names(text: str) -> tuple[str, ...]:
    value = _value(text)
    parts = value if isinstance(value, list) else text.replace(",", " ").split()
    return tuple(str(part) for part in parts)


def _value(text: str) -> Any:
    """What the text is in JSON, if that is a number or a list of simple values; else itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, list) and all(isinstance(each, (int, float, str)) for each in value):
        return value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number else text
