"""Whole arrays to bytes and back."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _core
from ._arrays import as_input, as_output, dtype_of, with_fill_values
from ._codec import Codec, Parameter, codec_from
from ._reader import MAX_BYTES, checked_max_bytes, checked_threads, open_core, whole_number

if TYPE_CHECKING:
    from typing_extensions import Buffer  # every type checker knows it

    Source = Buffer | str | os.PathLike[str]


@overload
def compress(
    array: Any, codec: str | Codec = "dense", *, out: None = None, **rest: Any
) -> bytes: ...
@overload
def compress(array: Any, codec: str | Codec = "dense", *, out: Any, **rest: Any) -> memoryview: ...
def compress(
    array: Any,
    codec: str | Codec = "dense",
    *,
    absolute: float | None = None,
    relative: float | None = None,
    pointwise_relative: float | None = None,
    psnr: float | None = None,
    ratio: float | None = None,
    fill_values: float | Iterable[float] = (),
    value_range: tuple[float, float] | None = None,
    whole_range: bool = False,
    earlier_error: float | str | None = None,
    chunk_shape: Sequence[int] | None = None,
    attributes: Mapping[str, str] | None = None,
    threads: int = 1,
    out: Any = None,
    **parameters: Parameter,
) -> Any:
    """Compresses an array to a complete .tpz stream: bytes, or what it fills of `out`.

    `array` is a NumPy array, a PyTorch tensor on the CPU (or any other that speaks DLPack) or a
    buffer, of float32, float64, float16, bfloat16, uint8 or int16, with any strides, and is not
    copied. Arrays of the other byte order are swapped first, which takes a copy.

    A codec with an error bound takes one of these; every element keeps it:
      absolute            |x' - x| <= absolute
      relative            |x' - x| <= relative * (max - min) of finite values, fill values aside
      pointwise_relative  |x' - x| <= pointwise_relative * |x|
      psnr                at least so many decibels
      ratio               at least so many times smaller; the bound that achieves it is then kept

    NaN, infinities and `fill_values` come back exactly and do not count in the range. The fill
    value of a masked array, which takes the place of masked elements, is one of them by itself, and
    so are `_FillValue` and `missing_value` of an xarray.DataArray or an h5py.Dataset.
    relative= and psnr= raise LikelyFillError where one repeated extreme makes up most of the range:
    it is likely a fill value that was not named. Name it in `fill_values`, give `value_range` (low,
    high), which also saves the search for it, or pass whole_range=True if the range is meant.

    `earlier_error` is for values that were compressed before: how much they have lost already, of
    the kind of the bound (absolute for relative=), or the history that info() shows of the earlier
    stream. The bound then holds against the first values: this step uses what is left of it.

    `attributes` are texts stored with the array. Other keywords are the codec's own parameters,
    such as effort="fast" of dense or cf=4 of dct-chop. `threads` is as everywhere in the package:
    1 if absent, 0 for all cores.

    `out` is a writable buffer for callers who compress again and again; the result is then a
    memoryview of the part that was written. Streams are never much larger than the array.

    >>> packed = tensorpress.compress(field, relative=1e-4)
    >>> len(packed) < field.nbytes
    True
    """
    bounds = dict(
        absolute=absolute,
        relative=relative,
        pointwise_relative=pointwise_relative,
        psnr=psnr,
        ratio=ratio,
    )
    chosen = codec_from(codec, {**bounds, **parameters})
    array, known_fills = with_fill_values(array)
    fills = _all_fills(fill_values, known_fills, chosen)
    data, bits_of_bf16 = as_input(array)
    result = _core.compress(
        data,
        bits_of_bf16,
        chosen.name,
        chosen.pairs,
        chosen.bound_text,
        fills,
        None if value_range is None else range_numbers(value_range),
        flag("whole_range", whole_range),
        _history(earlier_error, chosen),
        None if chunk_shape is None else _extents(chunk_shape),
        _texts({} if attributes is None else attributes),
        checked_threads(threads),
        out,
    )
    return result if out is None else memoryview(out).cast("B")[:result]


def decompress(
    data: Buffer, out: Any = None, *, threads: int = 1, max_bytes: int = MAX_BYTES
) -> Any:
    """Decompresses a .tpz stream to a new NumPy array, or into `out`, which is returned.

    `out` is a NumPy array or a tensor on the CPU of the stream's shape and element type, with any
    strides. A stream of bfloat16 becomes an array of ml_dtypes.bfloat16 if that package is there;
    otherwise it needs `out`. Streams that claim more than `max_bytes` are refused before anything
    is allocated. Bytes that are no whole stream raise CorruptError; `out` then holds anything.

    >>> copy = tensorpress.decompress(tensorpress.compress(field, absolute=0.01))
    >>> copy.shape == field.shape
    True
    """
    threads, max_bytes = checked_threads(threads), checked_max_bytes(max_bytes)
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        raise TypeError(
            f"decompress takes the bytes of a stream, not a path: use tensorpress.load({path!r})"
        )
    result = out
    if out is None:
        fields = _core.Reader.of_buffer(data).info()
        if fields["bytes_in"] > max_bytes:
            raise _core.TooLargeError(
                f"the stream claims {fields['bytes_in']} bytes, more than max_bytes={max_bytes}"
            )
        result = np.empty(fields["shape"], dtype_of(fields["dtype"]))
    target, bits_of_bf16 = as_output(result)
    _core.decompress(data, target, bits_of_bf16, threads, max_bytes)
    return result


def info(source: Source) -> dict[str, Any]:
    """What a stream says about itself, from bytes or a path, without decompressing it.

    `history` has the steps of lossy compression that the values have behind them, the oldest first,
    each with the error that it kept.

    >>> about = tensorpress.info(tensorpress.compress(field, absolute=0.01))
    >>> about["codec"], about["history"]
    ('dense', 'dense abs 0.01')
    """
    reader = open_core(source)
    fields = reader.info()
    reader.close()
    statistics = fields.pop("statistics")
    attributes = fields.pop("attributes")
    count = math.prod(fields["shape"])
    fields["ratio"] = _quotient(fields["bytes_in"], fields["bytes_out"])
    fields["payload_ratio"] = _quotient(fields["bytes_in"], fields["payload_bytes"])
    fields["bits_per_value"] = _quotient(8 * fields["bytes_out"], count)
    return {**fields, **statistics, "attributes": attributes}


def verify(original: Any, source: Source, *, threads: int = 1) -> dict[str, Any]:
    """Compares a stream (bytes or a path) with the array it was made from.

    The result has max_abs_error, max_rel_error (of the value range), psnr_db, nrmse, l2_error and
    more; `ok` says whether the bound and the stored error hold, `reason` why not.

    >>> tensorpress.verify(field, tensorpress.compress(field, absolute=0.01))["ok"]
    True
    """
    original, _ = with_fill_values(original, "compare the stream with")
    data, bits_of_bf16 = as_input(original, "compare the stream with")
    reader = open_core(source)
    measured = reader.compare(data, bits_of_bf16, checked_threads(threads))
    fields = reader.info()
    reader.close()
    bound = fields["parameters"].get("bound", "")
    result: dict[str, Any] = dict(measured)
    if bound:
        result["bound"] = bound
        result["limit"] = float(fields["parameters"]["limit"])
    result["ratio"] = _quotient(fields["bytes_in"], fields["bytes_out"])
    result["stored_l2_error"] = fields["statistics"].get("l2_error")
    result["ok"] = not result["reason"]
    return result


def codecs() -> dict[str, dict[str, Any]]:
    """Every codec of this build: its summary, whether it keeps a bound, its parameters.

    >>> tensorpress.codecs()["dense"]["parameters"]["effort"]["choices"]
    'fast|normal|best'
    """
    return {codec.pop("name"): codec for codec in _core.codecs()}


def show_config() -> dict[str, Any]:
    """Versions and the instruction set in use, for bug reports.

    >>> sorted(tensorpress.show_config())[:3]
    ['detected_isa', 'format_version', 'free_threaded']
    """
    return _core.config()


def fill_numbers(values: float | Iterable[float]) -> list[float]:
    """One fill value or several, without those that come back exactly anyway and that a list of
    fill values cannot hold: NaN and infinities."""
    is_text = isinstance(values, (str, bytes))
    several = isinstance(values, Iterable) and not is_text and getattr(values, "ndim", 1) > 0
    numbers = [_number("fill_values", value) for value in (values if several else [values])]
    return [number for number in numbers if math.isfinite(number)]


def flag(argument: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{argument} is True or False, not {value!r}")
    return bool(value)


def _all_fills(given: Any, known: list[Any], codec: Codec) -> list[float]:
    """The given fill values, then those known of the array that are not among them."""
    fills = fill_numbers(given)
    for fill in fill_numbers(known):
        # Codecs of a fixed rate would store every chunk with a zero as it is.
        common = fill == 0 and codec.bound is None
        if fill not in fills and not common:
            fills.append(fill)
    return fills


def _history(earlier_error: float | str | None, codec: Codec) -> str | None:
    """The steps before this one, as streams hold them: "dense abs 0.05"."""
    if earlier_error is None or isinstance(earlier_error, str):
        return earlier_error
    number = _number("earlier_error", earlier_error)
    kind = "pw-rel" if codec.bound is not None and codec.bound[0] == "pointwise_relative" else "abs"
    return f"earlier {kind} {number!r}"


def _number(argument: str, value: Any) -> float:
    if not isinstance(value, (str, bytes)):
        with contextlib.suppress(TypeError, ValueError):
            return float(value)
    raise TypeError(f"{argument} takes numbers, and {value!r} is not one")


def range_numbers(value_range: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = value_range
    except (TypeError, ValueError):
        raise TypeError(f"value_range is (low, high), not {value_range!r}") from None
    return _number("value_range", low), _number("value_range", high)


def _extents(shape: Sequence[int]) -> list[int]:
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise TypeError(f"chunk_shape has one extent for each axis, as (32, 32), not {shape!r}")
    extents = [whole_number("chunk_shape", extent) for extent in shape]
    for extent in extents:
        if not 1 <= extent < 1 << 63:
            raise ValueError(f"chunk_shape {tuple(extents)} has an extent of {extent}")
    return extents


def _texts(attributes: Mapping[str, str]) -> list[tuple[str, str]]:
    if not isinstance(attributes, Mapping):
        raise TypeError(f"attributes is a dict of texts, not {attributes!r}")
    for name, value in attributes.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"attributes are texts, and {name!r}: {value!r} is not")
    return list(attributes.items())


def _quotient(above: float, below: float) -> float:
    return above / below if below else math.nan
