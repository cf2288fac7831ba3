"""The wavelet predictor of dense: coefficients band by band, synthesis, corrections."""

import math
import re

import numpy as np

from . import adaptive
from .fields import CODECS, Fields
from .interpolation import coded_shape, read_map, read_places, read_zeros, tables, with_exact
from .rans import LANES, Decoder, always_zero

FILTERS = CODECS.parent / "kernels" / "wavelet" / "filters.h"
WEIGHTS = CODECS / "dense" / "wavelet" / "weights.cc"
ORDER = (1, 2, 4, 3, 5, 6, 7)
GROUPS, CORRECTIONS = 5, 5
MOST = 127


def filters() -> list[tuple[list[float], list[float]]]:
    """Half filters low and high of 9/7, 13/11, 17/11 and 25/19, the middle tap first."""
    found = re.findall(
        r"WaveletTaps<\d+, \d+>\{\s*\{([^}]*)\},\s*\{([^}]*)\}\}", FILTERS.read_text()
    )
    halves = [tuple([float(tap) for tap in half.split(",")] for half in pair) for pair in found]
    assert [len(low) for low, _ in halves] == [5, 7, 9, 13]
    return halves


def standard_weights() -> list[list[int]]:
    body = re.search(r"kWeights = \{\{(.*?)\}\};", WEIGHTS.read_text(), re.DOTALL).group(1)
    rows = [[int(n) for n in row.split(",")] for row in re.findall(r"\{([^}]*)\}", body)]
    assert len(rows) == GROUPS + 1 and all(len(row) == 10 for row in rows)
    return rows


class Level:
    """Extents of a level: of its values, made odd, and of the next level."""

    def __init__(self, size, number: int, axes):
        self.size = size
        self.split = [n >= 8 and number < 6 and may for n, may in zip(size, axes, strict=True)]
        self.odd = [n | 1 if split else n for n, split in zip(size, self.split, strict=True)]
        self.low = [
            (n + 1) // 2 if split else n for n, split in zip(self.odd, self.split, strict=True)
        ]

    def band(self, which: int):
        """Where a band begins and its extents, or nothing if it has no values."""
        high = [which >> 2 & 1, which >> 1 & 1, which & 1]
        start = [low if is_high else 0 for low, is_high in zip(self.low, high, strict=True)]
        size = [
            odd - low if is_high else low
            for odd, low, is_high in zip(self.odd, self.low, high, strict=True)
        ]
        return (start, size) if all(size) else None


def levels_of(extents, axes=(True, True, True)) -> list[Level]:
    levels = [Level(list(extents), 0, axes)]
    while any(levels[-1].split):
        levels.append(Level(levels[-1].low, len(levels), axes))
    return levels


def lanes_of(shape) -> tuple[int, int]:
    """How many lanes a line has, and their length."""
    (count,) = [n for n in shape if n != 1]
    assert count >= 2**16
    lanes = 16 if count < 2**18 else 64
    return lanes, -(-count // lanes)


def synthesize(values: np.ndarray, axis: int, pair, through_point: bool) -> np.ndarray:
    """One step back along an axis: low values first, high ones behind them."""
    low_taps, high_taps = pair
    T = values.dtype.type
    values = np.moveaxis(values, axis, 0)
    n = len(values)
    reach = max(len(low_taps), len(high_taps)) - 1
    s = np.zeros((n + 2 * reach, *values.shape[1:]), T)
    s[reach : reach + n : 2], s[reach + 1 : reach + n : 2] = (
        values[: (n + 1) // 2],
        values[(n + 1) // 2 :],
    )
    first, last = reach, reach + n - 1
    for k in range(1, reach + 1):
        for end, inside, outside in ((first, first + k, first - k), (last, last - k, last + k)):
            if not through_point:
                s[outside] = s[inside]
            elif k % 2:
                s[outside] = -s[inside]
            else:
                s[outside] = (s[end] + s[end]) - s[inside]
    result = np.empty_like(values)
    for parity in (0, 1):
        at = np.arange(parity, n, 2) + reach
        total = None
        for k in range(reach + 1):
            is_low = (parity + k) % 2 == 0
            taps = high_taps if is_low else low_taps
            if k >= len(taps):
                continue
            tap = T(-taps[k] if not is_low and k % 2 else taps[k])
            term = tap * s[at] if k == 0 else tap * (s[at - k] + s[at + k])
            total = term if total is None else total + term
        result[parity::2] = total
    return np.moveaxis(result, 0, axis)


class Contexts:
    """Magnitudes with zeros around them."""

    def __init__(self, size):
        self.grid = np.zeros([n + 4 for n in size], "i8")

    def row(self, z: int, y: int, count: int, dx: int = 0) -> np.ndarray:
        nz, ny = self.grid.shape[:2]
        result = np.zeros(count, "i8")
        if 0 <= z + 2 < nz and 0 <= y + 2 < ny:
            have = self.grid[z + 2, y + 2, max(0, 2 + dx) : 2 + dx + count]
            result[: len(have)] = have
        return result

    def keep(self, z: int, y: int, magnitudes):
        self.grid[z + 2, y + 2, 2 : 2 + len(magnitudes)] = magnitudes


def classes(own: Contexts, z, y, count, w, parent, siblings) -> np.ndarray:
    floor, above, above_side, behind, ring, wide, _, _, sibling, sibling_ring = w

    def at(dz, dy, dx=0):
        return own.row(z + dz, y + dy, count, dx)

    total = floor + parent
    total = total + above * at(0, -1) + above_side * (at(0, -1, -1) + at(0, -1, 1))
    total = total + behind * at(-1, 0)
    total = total + ring * (at(-1, 0, -1) + at(-1, 0, 1) + at(-1, -1) + at(-1, 1))
    far = at(0, -2) + at(-2, 0) + at(0, -1, -2) + at(0, -1, 2) + at(-1, 0, -2) + at(-1, 0, 2)
    corners = at(-1, -1, -1) + at(-1, -1, 1) + at(-1, 1, -1) + at(-1, 1, 1)
    total = total + wide * (far + corners)
    if siblings is not None:
        total = total + sibling * siblings.row(z, y, count)
        total = total + sibling_ring * six_around(siblings, z, y, count)
    return np.array([class_of(int(n)) for n in total])


def six_around(grid: Contexts, z, y, count) -> np.ndarray:
    return (
        grid.row(z, y, count, -1)
        + grid.row(z, y, count, 1)
        + grid.row(z, y - 1, count)
        + grid.row(z, y + 1, count)
        + grid.row(z - 1, y, count)
        + grid.row(z + 1, y, count)
    )


def class_of(expectation: int) -> int:
    if expectation == 0:
        return 0
    octave = expectation.bit_length() - 1
    half = expectation >> (octave - 1) & 1 if octave else 0
    return min(2 * octave + half + 1, 31)


def parent_row(grid: Contexts | None, z, y, count, split, w) -> np.ndarray:
    if grid is None:
        return np.zeros(count, "i8")
    pz, py = z // 2 if split[0] else z, y // 2 if split[1] else y
    width = (count + 1) // 2 if split[2] else count
    row = w[6] * grid.row(pz, py, width) + w[7] * six_around(grid, pz, py, width)
    return np.repeat(row, 2)[:count] if split[2] else row


class Rows:
    """Decodes rows; groups of 16 that take no bits are not there."""

    def __init__(self, coder: Decoder, maps, silent: int):
        self.coder, self.maps, self.silent = coder, maps, silent

    def row(self, group: int, row_classes) -> np.ndarray:
        if isinstance(self.coder, adaptive.Rows):
            return self.coder.row(group, row_classes)
        quiet = self.silent >> group & 1
        found = []
        for at in range(0, len(row_classes), LANES):
            chosen = [
                None if quiet and c == 0 else tables()[self.maps[group][c]]
                for c in row_classes[at : at + LANES]
            ]
            if all(table is None for table in chosen):
                found += [0] * LANES
                continue
            chosen += [None] * (LANES - len(chosen))
            found += self.coder.group([table or always_zero() for table in chosen])
        return np.array(found[: len(row_classes)], "i8")


def sizes(quanta, shift: int = 0):
    return np.minimum(np.abs(quanta) >> shift, MOST)


def wrap32(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


class Chunk:
    def __init__(self, levels, rows: Rows, weights, shifts, empty: int):
        self.levels, self.rows, self.weights = levels, rows, weights
        self.shifts, self.empty = shifts, empty

    def coarsest(self) -> np.ndarray:
        nz, ny, nx = self.levels[-1].size
        own, quanta = Contexts((nz, ny, nx)), np.zeros((nz, ny, nx), "i8")
        for z in range(nz):
            for y in range(ny):
                row_classes = classes(own, z, y, nx, self.weights[4], 0, None)
                differences = self.rows.row(4, row_classes)
                own.keep(z, y, sizes(differences, self.shifts[4]))
                for x in range(nx):
                    if z:
                        prediction = quanta[z - 1, y, x]
                    elif y and x:
                        prediction = (
                            quanta[z, y, x - 1] + quanta[z, y - 1, x] - quanta[z, y - 1, x - 1]
                        )
                    else:
                        prediction = quanta[z, y, x - 1] if x else quanta[z, y - 1, x] if y else 0
                    quanta[z, y, x] = wrap32(int(prediction) + int(differences[x]))
        return quanta

    def bands(self, number: int, parents: dict) -> tuple[np.ndarray, dict, Contexts]:
        """The quanta of a level with its low corner left out, the magnitudes of its bands, and
        their sums."""
        level = self.levels[number]
        quanta = np.zeros(level.odd, "i8")
        siblings, own_bands = Contexts(level.low), {}
        for order, which in enumerate(ORDER):
            place = level.band(which)
            if place is None:
                continue
            (z0, y0, x0), size = place
            own = own_bands[which] = Contexts(size)
            if self.empty >> (7 * number + order) & 1:
                continue
            group = 4 if number > 1 else 3 if number == 1 else which.bit_count() - 1
            w = self.weights[group]
            split = self.levels[number + 1].split
            for z in range(size[0]):
                for y in range(size[1]):
                    parent = parent_row(parents.get(which), z, y, size[2], split, w)
                    row_classes = classes(own, z, y, size[2], w, parent, siblings)
                    row = self.rows.row(group, row_classes)
                    own.keep(z, y, sizes(row, self.shifts[group]))
                    quanta[z0 + z, y0 + y, x0 : x0 + size[2]] = row
            nz, ny, nx = size
            inside = siblings.grid[2 : 2 + nz, 2 : 2 + ny, 2 : 2 + nx]
            inside[...] = np.minimum(inside + own.grid[2:-2, 2:-2, 2:-2], MOST)
        return quanta, own_bands, siblings

    def corrections(self, siblings: Contexts) -> np.ndarray:
        level = self.levels[0]
        nz, ny, nx = level.size
        own, found = Contexts(level.size), np.zeros(level.size, "i8")
        w = self.weights[CORRECTIONS]
        for z in range(nz):
            for y in range(ny):
                parent = parent_row(siblings, z, y, nx, level.split, w)
                row = self.rows.row(CORRECTIONS, classes(own, z, y, nx, w, parent, None))
                own.keep(z, y, sizes(row))
                found[z, y] = row
        return found


def decode_lanes(payload: bytes, chunk, shape, value_type: type, bound: float) -> np.ndarray:
    lanes, length = lanes_of(shape)
    rows = decode(payload, chunk, (length, lanes), value_type, bound, axes=(False, True, False))
    return rows.reshape(length, lanes).T.reshape(-1)[: math.prod(shape)]


def decode(
    payload: bytes, chunk, shape, value_type: type, bound: float, axes=(True, True, True)
) -> np.ndarray:
    T = value_type
    fields = Fields(payload)
    first, step, second = fields.take("BBB")
    snap, step = step >> 7, step & 127
    assert step
    shifts = list(fields.take("5B")) if second & 128 else [0] * GROUPS
    offset, empty = fields.signed_varint(), fields.varint()
    weights = standard_weights()
    if first & 32:
        weights = [list(fields.take("10B")) for _ in weights]
    inner, extents = coded_shape(shape)
    levels = levels_of(extents, axes)
    maps = []
    if first >> 6 < 3:
        maps = read_map(fields)
        maps.append(read_map(fields)[0] if second & 64 else None)
    element = np.dtype(T).newbyteorder("<")
    outliers = read_places(fields, element) if first & 8 else ([], [])
    zeros = read_zeros(fields, math.prod(shape)) if first & 16 else []
    rest = fields.rest()
    coder = Decoder(rest, 2 ** (first >> 6)) if first >> 6 < 3 else adaptive.Rows(rest)
    parts = Chunk(levels, Rows(coder, maps, second & 63), weights, shifts, empty)

    q = T(bound * (step / 16))
    quanta, parents, siblings = [], {}, None
    coarse = parts.coarsest().astype(T) * q
    for number in reversed(range(len(levels) - 1)):
        band_quanta, parents, siblings = parts.bands(number, parents)
        quanta.append(band_quanta)
    values = coarse
    for number, band_quanta in zip(reversed(range(len(levels) - 1)), quanta, strict=True):
        level = levels[number]
        below = values
        values = band_quanta.astype(T) * q
        values[tuple(slice(n) for n in level.low)] = below
        for axis in range(3):
            if level.split[axis]:
                pair = filters()[first & 3]
                if level.odd[axis] <= max(map(len, pair)) - 1:
                    pair = filters()[0]
                values = synthesize(values, axis, pair, bool(first & 4))
        values = values[tuple(slice(n) for n in level.size)]
    values = values + T(offset) * q
    if snap:
        values = np.where(np.abs(values) <= T(bound), T(0), values)
    if second & 64:
        correction = T(bound * (2 - 2.0**-10))
        values = values + parts.corrections(siblings).astype(T) * correction
    coder.end()
    fields.end()
    assert values.size == math.prod(shape)
    return with_exact(values, outliers, zeros, bound, inner)
