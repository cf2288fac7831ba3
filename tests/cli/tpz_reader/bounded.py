"""What ceresz, ceresz2 and dense share: special values, signs, patches, point-wise bounds."""

import math

import numpy as np

from . import ceresz, dense
from .fields import Fields
from .rounding import as_elements

CONSTANT, SPECIAL, SIGNS, PATCHES, CODED, LOGARITHMS_F64, HALF_LIMIT = (
    1 << bit for bit in range(7)
)
CODERS = {"ceresz": ceresz.decode_ceresz, "ceresz2": ceresz.decode_ceresz2, "dense": dense.decode}


def read_mask(fields: Fields, shape: tuple[int, ...]) -> np.ndarray:
    count = math.prod(shape)
    earlier, runs = fields.varint(), fields.varint()
    differs, at = np.zeros(count, bool), 0
    for _ in range(runs):
        start = at + fields.varint()
        at = start + fields.varint()
        assert at <= count
        differs[start:at] = True
    if earlier == 0:
        return differs
    assert earlier in (1, 2) and len(shape) > earlier
    stride = math.prod(shape[-earlier:])
    assert stride < count
    return np.logical_xor.accumulate(differs.reshape(-1, stride), axis=0).reshape(-1)


def read_special_values(fields: Fields, count: int, numpy_type: str) -> np.ndarray:
    distinct = fields.varint()
    assert distinct <= 64
    if distinct == 0:
        return fields.array(numpy_type, count)
    known = fields.array(numpy_type, distinct)
    values = np.empty(count, numpy_type)
    told = 0
    while told < count:
        which, length = fields.varint(), fields.varint()
        values[told : told + length] = known[which]
        told += length
    assert told == count
    return values


def read_patches(fields: Fields, numpy_type: str):
    positions, values, at = [], [], 0
    for _ in range(fields.varint()):
        at += fields.varint()
        positions.append(at)
        values.append(fields.array(numpy_type, 1)[0])
        at += 1
    return positions, values


def bound_of_coder(chunk, flags: int, pointwise: bool, value_type: type) -> float:
    limit = float(chunk.parameters["limit"]) / (2 if flags & HALF_LIMIT else 1)
    if pointwise:
        limit -= 2.0**-42 if flags & LOGARITHMS_F64 else 2.0**-17
    return min(limit, float(np.finfo(value_type).max) / 16)


def power_of_two(y: np.ndarray) -> np.ndarray:
    """2^y in f64, each operation rounded by itself."""
    y = np.asarray(y, "f8")
    nothing = ~(y > -1100)
    y = np.where(nothing, 0.0, np.minimum(y, 1100.0))
    w = (y + 1.5 * 2.0**52) - 1.5 * 2.0**52
    z = (y - w) * 0.6931471805599453
    s = np.full_like(y, 1 / math.factorial(14))
    for k in range(13, 0, -1):
        s = s * z + 1 / math.factorial(k)
    h = np.trunc(w / 2)
    with np.errstate(over="ignore", under="ignore"):
        power = ((1 + z * s) * np.exp2(h)) * np.exp2(w - h)
    return np.where(nothing, 0.0, power)


def decode(payload: bytes, chunk) -> np.ndarray:
    fields = Fields(payload)
    flags = fields.one("B")
    assert flags < 128 and not (flags & CONSTANT and flags & CODED)
    assert flags & CODED or not flags & (SIGNS | PATCHES | LOGARITHMS_F64 | HALF_LIMIT)
    shape = chunk.shape or (1,)
    pointwise = chunk.parameters["bound"].startswith("pw-rel")
    elements = np.zeros(chunk.count, chunk.numpy_type)
    special = np.zeros(chunk.count, bool)
    if flags & CONSTANT:
        elements[:] = fields.array(chunk.numpy_type, 1)
    if flags & SPECIAL:
        special = read_mask(fields, shape)
        special_values = read_special_values(fields, int(special.sum()), chunk.numpy_type)
    negative = read_mask(fields, shape) if flags & SIGNS else np.zeros(chunk.count, bool)
    patches = read_patches(fields, chunk.numpy_type) if flags & PATCHES else ([], [])
    if flags & CODED:
        wide = flags & LOGARITHMS_F64 if pointwise else chunk.dtype == "f64"
        value_type = np.float64 if wide else np.float32
        bound = bound_of_coder(chunk, flags, pointwise, value_type)
        assert bound >= float(np.finfo(value_type).tiny)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            values = CODERS[chunk.codec](fields.rest(), chunk, shape, value_type, bound)
            if pointwise:
                values = np.where(negative, -power_of_two(values), power_of_two(values))
                values = values.astype("<f8" if chunk.dtype == "f64" else "<f4")
            elements = as_elements(values, chunk.dtype)
    elif not flags & CONSTANT:
        assert special.all()
    for position, value in zip(*patches, strict=True):
        elements[position] = value
    if flags & SPECIAL:
        elements[special] = special_values
    fields.end()
    return elements
