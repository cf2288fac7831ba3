"""The values of one piece of memory as a stream, and back.

A bound relative to each value asks for logarithms, which take longer than all the rest. The bits of
a positive float, read as a whole number, are such a logarithm, if a crude one: the exponent above
the fraction. An error of d in them is at most d / 2^23 of a normal float's value, so they are
compressed under that absolute bound (docs/checkpoint.md has the arithmetic). What that does not
suit (negative values, denormals, NaN, other types) goes the codec's own way.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..._codec import Codec
from ..._compression import compress, decompress, info, verify

# Bits of floats are held as floats, which round them by this much at most.
ROUNDING = 64
# Below it the error of the bound would be mostly rounding.
FINEST = 2.0**-15
SMALLEST_NORMAL = 0x00800000
SIGN = 0x80000000
LARGEST_BITS = np.float32(0x7F7FFF80)
BLOCK = 1 << 15  # elements that are looked at together, so that they stay in the cache


@dataclass(frozen=True)
class Coded:
    """A stream, and what has to be known beside it. Errors are None if nobody looked."""

    stream: bytes
    bits: bool  # the stream holds the bits of the values as whole numbers
    nonnegative: bool
    max_abs_error: float | None
    max_rel_error: float | None


def encode(
    values: torch.Tensor, codec: Codec, shape: tuple[int, ...], check: bool, threads: int, name: str
) -> Coded | None:
    """`values` in the order of memory, compressed in another shape; None if that saves nothing.
    With `check` the stream is read again, and the bound compared with what comes back."""
    low, high = _range(values)
    coded = _encode_bits(values, codec, shape, check, threads, low, high)
    if coded is None:
        coded = _encode_values(values, codec, shape, check, threads, low, high, name)
    return coded if len(coded.stream) < values.nbytes else None


def check_size(stream: Any, size: int) -> dict[str, Any]:
    """What the stream says about itself, if it stands for `size` bytes. Before they are taken."""
    told = info(stream)
    if told["bytes_in"] != size:
        raise ValueError(f"it holds {told['bytes_in']} bytes, not {size}")
    return told


def decode(stream: Any, values: torch.Tensor, bits: bool, nonnegative: bool, threads: int) -> None:
    """Fills `values`, which are contiguous and of the stream's number of bytes."""
    told = check_size(stream, values.nbytes)
    if bits and (values.dtype != torch.float32 or told["dtype"] != "f32"):
        raise ValueError("bits of floats stand for something else than float32")
    decompress(stream, values.view(told["shape"]), threads=threads)
    if bits:
        flat = values.view(-1).numpy()
        for part in _parts(len(flat)):
            flat[part] = _floats_of(flat[part])
    elif nonnegative:
        values.masked_fill_(values < 0, 0)  # clamp_ would change the bits of NaN


# ---- Values themselves --------------------------------------------------------------------------


def _encode_values(
    values: torch.Tensor,
    codec: Codec,
    shape: tuple[int, ...],
    check: bool,
    threads: int,
    low: float,
    high: float,
    name: str,
) -> Coded:
    zeros = (0.0,) if codec.bound is not None else ()
    view = values.view(shape)
    # Weights have no fill values: an extreme that many share was clipped.
    stream = compress(view, codec, fill_values=zeros, whole_range=True, threads=threads)
    worst: tuple[float | None, float | None] = (None, None)
    if check and len(stream) < values.nbytes:
        worst = _checked(view, stream, codec, threads, low, high, name)
    nonnegative = low >= 0 if low == low else not bool((values < 0).any())
    return Coded(stream, False, nonnegative, *worst)


def _checked(
    view: torch.Tensor,
    stream: bytes,
    codec: Codec,
    threads: int,
    low: float,
    high: float,
    name: str,
) -> tuple[float, float]:
    """The largest errors of what comes back; all other bounds than the plain ones, and values that
    are not finite, are for the library to look at."""
    limit = _plain_limit(view, codec, low, high)
    if limit is not None:
        copy = _space("copy", view.numel())
        decompress(stream, copy.view(view.shape), threads=threads)
        error = _largest_error(view.reshape(-1).numpy(), copy.numpy())
        if error <= limit:
            return error, error / (high - low) if high > low else 0.0
    found = verify(view, stream, threads=threads)
    if not found["ok"]:
        raise RuntimeError(f"{name} came back wrong: {found['reason']}")
    return found["max_abs_error"], found["max_rel_error"]


def _plain_limit(view: torch.Tensor, codec: Codec, low: float, high: float) -> float | None:
    """What no error may exceed, a little less for the float32 in which errors are computed."""
    if view.dtype != torch.float32 or codec.bound is None or not -np.inf < low <= high < np.inf:
        return None
    kind, value = codec.bound
    scale = {"absolute": 1.0, "relative": high - low}.get(kind)
    return None if scale is None else value * scale * (1 - 2.0**-20)


# ---- Bits as logarithms -------------------------------------------------------------------------


def _encode_bits(
    values: torch.Tensor,
    codec: Codec,
    shape: tuple[int, ...],
    check: bool,
    threads: int,
    low: float,
    high: float,
) -> Coded | None:
    limit = _limit_of_bits(values, codec, low, high)
    if limit is None:
        return None
    flat = values.view(-1).numpy()
    numbers = _space("numbers", len(flat))
    whole, bits = numbers.numpy(), flat.view(np.uint32)
    for part in _parts(len(flat)):
        some = bits[part]
        # Less one, zeros are the largest.
        if int((some - np.uint32(1)).min()) < SMALLEST_NORMAL - 1 or int(some.max()) >= SIGN:
            return None
        whole[part] = some
    fields = {key: each for key, each in codec.to_dict().items() if key != "pointwise_relative"}
    plain = Codec.from_dict({**fields, "absolute": limit})
    view = numbers.view(shape)
    stream = compress(view, plain, fill_values=(0.0,), whole_range=True, threads=threads)
    if not check or len(stream) >= values.nbytes:
        return Coded(stream, True, True, None, None)
    copy = _space("copy", len(flat))
    decompress(stream, copy.view(shape), threads=threads)
    back = copy.numpy()
    if not _largest_error(whole, back) <= limit:
        return None
    error = 0.0
    for part in _parts(len(back)):
        floats = back[part].astype(np.int32).view(np.float32)
        error = max(error, _largest_error(flat[part], floats))
    return Coded(stream, True, True, error, error / (high - low) if high > low else 0.0)


def _limit_of_bits(values: torch.Tensor, codec: Codec, low: float, high: float) -> float | None:
    if codec.bound is None or codec.bound[0] != "pointwise_relative":
        return None
    share = float(codec.bound[1])
    if values.dtype != torch.float32 or not 0 <= low <= high < 2.0**126 or high == 0:
        return None
    return share * 2.0**23 - ROUNDING if FINEST <= share <= 0.5 else None


def _floats_of(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Of whole numbers in float32. What a damaged file says becomes some float or other: with NaN
    zero, without it one that is not negative and not infinite."""
    bounded = np.minimum(np.maximum(numbers, np.float32(0)), LARGEST_BITS)
    with np.errstate(invalid="ignore"):
        return bounded.astype(np.int32).view(np.float32)


# ---- Memory -------------------------------------------------------------------------------------

_local = threading.local()


def _space(name: str, count: int) -> torch.Tensor:
    """Floats for what a thread needs again and again: new memory costs as much as decompressing."""
    spaces = _local.__dict__
    if name not in spaces or not count <= spaces[name].numel() <= 4 * count + 4 * BLOCK:
        spaces[name] = torch.empty(count, dtype=torch.float32)
    found: torch.Tensor = spaces[name][:count]
    return found


def _parts(count: int) -> list[slice]:
    return [slice(at, at + BLOCK) for at in range(0, count, BLOCK)]


def _range(values: torch.Tensor) -> tuple[float, float]:
    """Both NaN if a value is."""
    if values.numel() == 0:
        return (float("nan"),) * 2
    low, high = torch.aminmax(values)
    return float(low), float(high)


def _largest_error(values: np.ndarray[Any, Any], copy: np.ndarray[Any, Any]) -> float:
    largest = 0.0
    space = np.empty(BLOCK, values.dtype)
    for part in _parts(len(values)):
        some = values[part]
        difference = np.subtract(some, copy[part], out=space[: len(some)])
        high, low = float(difference.max()), float(difference.min())
        if high != high:  # NaN came back
            return float("inf")
        largest = max(largest, high, -low)
    return largest
