"""The interpolation predictor of dense: a coarse level of quanta, then passes that double one axis
after the other."""

import functools
import itertools
import math
import re
from dataclasses import dataclass

import numpy as np

from . import adaptive
from .fields import CODECS, Fields, unzigzag
from .rans import LANES, Decoder, Table, always_zero

SHAPES = CODECS / "dense" / "residuals" / "tables.cc"
F = np.float32
#: gradient, bend, a, b, floor
WEIGHTS = [
    (0.04, 0.1, 0.4, 0.3, 0.004),
    (0.01, 0.25, 0.4, 0.3, 0.004),
    (0.12, 0.0, 0.1, 0.1, 0.002),
]
GROUPS, CLASSES = 5, 32


@functools.cache
def tables() -> list[Table]:
    """Tables 0 to 62 of the map."""
    body = re.search(r"kShapes = [^{]*\{\{(.*?)\n\}\};", SHAPES.read_text(), re.DOTALL).group(1)
    shapes = []
    for halved, escapes, row in re.findall(r"\{(true|false),\s*\{([^}]*)\},\s*\{([^}]*)\}\}", body):
        frequencies = [0] * 256
        frequencies[:4] = map(int, escapes.split(","))
        for a, frequency in enumerate(map(int, row.split(","))):
            frequencies[128 + a] = frequencies[128 + (-1 - a if halved == "true" else -a)] = (
                frequency
            )
        shapes.append(frequencies)
    assert len(shapes) == 33
    return [Table(shape) for shape in shapes[:31]] + [
        Table(shapes[31 + j], k) for k in range(1, 17) for j in range(2)
    ]


class Bits:
    def __init__(self, fields: Fields):
        self.fields, self.byte, self.left = fields, 0, 0

    def take(self, count: int) -> int:
        value = 0
        for bit in range(count):
            if self.left == 0:
                self.byte, self.left = self.fields.one("B"), 8
            value |= (self.byte & 1) << bit
            self.byte, self.left = self.byte >> 1, self.left - 1
        return value


def read_map(fields: Fields) -> list[list[int]]:
    """For each group the table of each class."""
    bits, result = Bits(fields), []
    for _ in range(GROUPS):
        if not bits.take(1):
            result.append([min(c, 30) for c in range(CLASSES)])
            continue
        first, after, table = bits.take(5), bits.take(5), bits.take(6)
        assert first + after < CLASSES
        row = [table] * (first + 1)
        for _ in range(after):
            e = min(row[-1] + 1, 62)
            if not bits.take(1):
                row.append(e)
            elif not bits.take(1):
                row.append(e - 1 if bits.take(1) else e + 1)
            elif not bits.take(1):
                row.append(e - 2 if bits.take(1) else e + 2)
            else:
                row.append(bits.take(6))
        most = 62 if row[-1] > 30 else 30
        while len(row) < CLASSES:
            row.append(min(row[-1] + 1, most))
        assert all(0 <= number <= 62 for number in row)
        result.append(row)
    return result


@dataclass
class Mode:
    axes: tuple[bool, bool, bool]  # z y x
    cubic: bool
    weights: int
    average: bool
    tighten: bool
    keep_zeros: bool
    feedback: list[int]
    raised: int
    shrink: int
    scales: list  # of stencils, by group
    stencils: object = None


def coded_shape(shape) -> tuple[int, tuple[int, int, int]]:
    """C, how many values a place has, and the extents z y x of the chunk as it is coded."""
    extents = [extent for extent in shape if extent != 1]
    inner = 1
    if all(extent < 8 for extent in extents):
        extents = [math.prod(extents)]
    else:
        while extents[-1] < 8:
            inner *= extents.pop()
        if inner != 1:
            extents.insert(0, inner)
    extents = [1, 1, *extents]
    return inner, (math.prod(extents[:-2]), extents[-2], extents[-1])


class Level:
    """The values of a level l on their way from level l + 1, and how their neighbours are found."""

    def __init__(self, values: np.ndarray, axes):
        self.values, self.axes = values, axes
        self.type = values.dtype.type

    def neighbours(self, place, axis: int):
        """Far left, left, right, far right of the values at `place` = [z, y, columns], odd on
        `axis`."""
        n = self.values.shape[axis]
        k = -(-n // 2)

        def e(i):
            at = list(place)
            at[axis] = 2 * i
            return self.values[tuple(at)]

        if axis == 2:
            # All columns at once as if none were missing, then those at the ends.
            where = place[2] // 2
            found = [e(np.clip(where + shift, 0, k - 1)) for shift in (-1, 0, 1, 2)]
            for at in sorted({0, k - 2, k - 1} & set(where.tolist())):
                for values, value in zip(found, self._one(e, at, k, n, on_x=True), strict=True):
                    values[at - where[0]] = value
            return found
        return self._one(e, place[axis] // 2, k, n, on_x=False)

    def _one(self, e, i, k, n, on_x):
        number = self.type
        two, three = number(2), number(3)
        if i > 0:
            far_left = e(i - 1)
        elif k >= 3:
            far_left = (three * e(0) + -three * e(1)) + e(2)
        else:
            far_left = two * e(0) + -number(1) * e(1) if k == 2 else e(0)
        left = e(i)
        if i + 1 < k:
            right = e(i + 1)
        elif k == 1:
            right = two * e(0) + -number(1) * e(0) if on_x and n % 2 == 0 else e(0)
        else:
            right = two * e(k - 1) + -number(1) * e(k - 2)
        if i + 2 < k:
            far_right = e(i + 2)
        elif i + 2 == k:
            if on_x and n % 2 == 0:
                far_right = two * e(k - 1) + -number(1) * e(k - 2)
            elif k >= 3:
                far_right = (three * e(k - 1) + -three * e(k - 2)) + e(k - 3)
            else:
                far_right = two * e(1) + -number(1) * e(0)
        elif k == 1:
            far_right = three * e(0) + -two * e(0) if on_x and n % 2 == 0 else e(0)
        else:
            far_right = three * e(k - 1) + -two * e(k - 2)
        return [far_left, left, right, far_right]

    def split(self, axis: int, average: bool) -> list:
        """Even before odd coordinates of an axis where that matters, else all at once."""
        n = self.values.shape[axis]
        if average and self.axes[axis] and n > 1:
            return [range(0, n, 2), range(1, n, 2)]
        return [range(n)]

    def planes(self, axis: int, average: bool):
        """What a pass does, in order: planes, in each of them some rows."""
        nz, ny, _ = self.values.shape
        if axis == 0:
            yield from ((z, range(0, ny, 2 if self.axes[1] else 1)) for z in range(1, nz, 2))
        elif axis == 1:
            for planes in self.split(0, average):
                yield from ((z, range(1, ny, 2)) for z in planes)
        else:
            for planes in self.split(0, average):
                for rows in self.split(1, average):
                    yield from ((z, rows) for z in planes)

    def columns(self, axis: int) -> np.ndarray:
        nx = self.values.shape[2]
        if axis == 2:
            return np.arange(1, nx, 2)
        return np.arange(0, nx, 2 if self.axes[2] else 1)


class Pass:
    """Predicts, decodes and reconstructs the rows of one pass."""

    def __init__(
        self, level: Level, axis: int, group: int, mode: Mode, step, coder: Decoder, table_map
    ):
        self.level, self.axis, self.group, self.mode = level, axis, group, mode
        self.step, self.coder, self.map = step, coder, table_map[group]
        T = level.type
        self.T, self.inverse = T, T(1) / step
        gradient, bend, a, b, floor = map(F, WEIGHTS[mode.weights % 3])
        self.wg, self.wc = T(gradient) * self.inverse, T(bend * F(0.0625)) * self.inverse
        self.wa, self.wb, self.floor = T(a * F(0.25)), T(b * F(0.25)), T(floor)
        self.huge = T(2.0 ** (119 if T is np.float32 else 1015))
        self.magic = T(1.5 * 2.0 ** (23 if T is np.float32 else 52))

    def run(self, many_planes: bool):
        columns = self.level.columns(self.axis)
        nothing = np.zeros(columns.size, self.T)
        self.behind = {}
        for z, rows in self.level.planes(self.axis, self.mode.average):
            self.above, self.error = nothing, nothing
            for y in rows:
                self.row([z, y, columns], self.behind.get(y, nothing) if many_planes else None)

    def row(self, place, back):
        T, step = self.T, self.step
        p, scale = self.predict(place, self.above, back)
        prediction = p
        if self.mode.feedback[self.group]:
            prediction = p + T(self.mode.feedback[self.group]) / T(16) * self.error
        if self.mode.keep_zeros:
            rounded = ((prediction * self.inverse + self.magic) - self.magic) * step
            prediction = np.where(np.abs(prediction) < step + step, rounded, prediction)
        residuals = self.residuals(scale)
        values = prediction + residuals.astype(T) * step
        if self.mode.keep_zeros:
            values = np.where(np.abs(values) <= step * T(0.50048828125), T(0), values)
        values = np.where(np.abs(values) <= self.huge, values, T(0))
        self.level.values[tuple(place)] = values
        size = np.maximum(np.minimum(np.abs(residuals), 255).astype(T), T(2.0**-20))
        self.above = (self.above + size) * T(0.5)
        if back is not None:
            self.behind[place[1]] = (back + size) * T(0.5)
        self.error = values - p

    def predict(self, place, above, back):
        T = self.T
        odd = {0: place[0] % 2 == 1, 1: place[1] % 2 == 1, 2: False}
        directions = [self.axis]
        if self.mode.average:
            directions += [axis for axis in range(self.axis) if self.level.axes[axis] and odd[axis]]
        S = D = G = None
        for axis in sorted(directions, reverse=True):  # x y z
            far_left, left, right, far_right = self.level.neighbours(place, axis)
            s = left + right
            b = s - (far_left + far_right)
            g = np.abs(left - right)
            S, D, G = (s, b, g) if S is None else (S + s, D + b, G + g)
        h, c = T(0.5), T(1 / 16 if self.mode.cubic else 0)
        share = {1: T(1), 2: T(0.5), 3: T(F(1 / 3))}[len(directions)]
        h, c, wg, wc = h * share, c * share, self.wg * share, self.wc * share
        p = h * S + c * D
        scale = G * wg + self.floor
        scale = scale + np.abs(D) * wc
        for history, weight in ((above, self.wa), (back, self.wb)):
            if history is not None:
                padded = np.concatenate([[T(0)], history, [T(0)]]).astype(T)
                scale = scale + ((padded[:-2] + padded[2:]) + (history + history)) * weight
        return p, scale

    def residuals(self, scale: np.ndarray) -> np.ndarray:
        bits = scale.astype(F).view("<u4").astype("i8")
        classes = np.clip((bits >> 22) - 238 - 2 * self.mode.raised, 0, CLASSES - 1)
        if isinstance(self.coder, adaptive.Rows):
            return self.coder.row(self.group, classes)
        found = []
        for at in range(0, scale.size, LANES):
            row = [tables()[self.map[c]] for c in classes[at : at + LANES]]
            found += self.coder.group(row + [always_zero()] * (LANES - len(row)))
        return np.array(found[: scale.size], "i8")


def coarsest(next_number, extents, step, huge, T) -> np.ndarray:
    nz, ny, nx = extents
    quanta = np.zeros(extents, object)
    for z, y, x in itertools.product(range(nz), range(ny), range(nx)):
        if z > 0:
            prediction = quanta[z - 1, y, x]
        elif x > 0 and y > 0:
            prediction = quanta[z, y, x - 1] + quanta[z, y - 1, x] - quanta[z, y - 1, x - 1]
        else:
            prediction = quanta[z, y, x - 1] if x > 0 else quanta[z, y - 1, x] if y > 0 else 0
        wrapped = (unzigzag(next_number()) + prediction) & 2**64 - 1
        quanta[z, y, x] = wrapped - 2**64 if wrapped >> 63 else wrapped
    values = quanta.astype("i8").astype(T) * step
    return np.where(np.abs(values) <= huge, values, T(0))


def read_places(fields: Fields, element) -> tuple[list[int], list]:
    positions, values, at = [], [], 0
    for _ in range(fields.varint()):
        at += fields.varint()
        positions.append(at)
        values.append(fields.array(element, 1)[0])
    return positions, values


def read_zeros(fields: Fields, count: int) -> np.ndarray | bytes:
    """Whether each value is zero, or flags that say so."""
    listed, at, period = np.zeros(count, bool), 0, count
    runs = fields.varint()
    if runs == 0:
        period, runs = fields.varint(), fields.varint()
        if period == 0:
            return b"".join(fields.take(f"{runs}s"))
    for _ in range(runs):
        start = at + fields.varint()
        at = start + fields.varint()
        listed[start:at] = True
    for start in range(period, count, period):
        end = min(start + period, count)
        listed[start:end] ^= listed[start - period : end - period]
    return listed


def with_exact(values: np.ndarray, outliers, zeros, bound: float, inner: int) -> np.ndarray:
    """The chunk's elements in their order, with outliers and zeros."""
    flat = values.reshape(-1)
    flat[outliers[0]] = outliers[1]
    if isinstance(zeros, bytes):
        adaptive.set_zeros(zeros, values, bound)
    else:
        flat[zeros] = 0
    return flat.astype(values.dtype.newbyteorder("<")).reshape(inner, -1).T.reshape(-1)


def decode(payload: bytes, chunk, shape, value_type: type, bound: float) -> np.ndarray:
    from . import stencils  # which is built on this file

    T = value_type
    fields = Fields(payload)
    first, second, third = fields.take("BBB")
    raised = fields.one("B") if second & 8 else 0
    feedback = list(fields.take("5b")) if second & 2 else [0] * GROUPS
    axes = (bool(first & 1), bool(first & 2), bool(first & 4))
    mode = Mode(
        axes,
        bool(first & 8),
        first >> 4 & 3,
        bool(first & 64),
        bool(first & 128),
        bool(second & 1),
        feedback,
        raised,
        third & 127,
        [fields.take("5B") for _ in range(GROUPS)] if first >> 4 & 3 == 3 else [],
    )
    inner, extents = coded_shape(shape)
    least = 8 if mode.scales else 2
    assert any(axes) and all(extents[axis] >= least for axis in range(3) if axes[axis])
    assert not (mode.scales and (mode.average or any(feedback)))
    longest = max(extents[axis] for axis in range(3) if axes[axis])
    top = min((6, 4, 2, 1)[second >> 6], (longest - 1).bit_length())

    def level_extents(level):
        return tuple(
            -(-n // 2**level) if used else n for n, used in zip(extents, axes, strict=True)
        )

    def step(level):
        plain = T((2 * bound) * (1 - mode.shrink / 4096))
        divisors = (1, 1.25, 1.5, 2) if mode.scales else (1, 1.5, 2.25, 3)
        return plain / T(divisors[min(level, 4) - 1]) if mode.tighten else plain

    if mode.scales:
        mode.stencils = stencils.Stencils(fields, axes, level_extents, top)
    ways = second >> 4 & 3
    table_map = read_map(fields) if ways < 3 else [[]] * GROUPS
    huge = T(2.0 ** (119 if T is np.float32 else 1015))

    def coarse(next_number):
        return coarsest(next_number, level_extents(top), step(top + 1), huge, T)

    values = coarse(fields.varint) if ways < 3 else None
    element = np.dtype(T).newbyteorder("<")
    outliers = read_places(fields, element) if second & 4 else ([], [])
    zeros = read_zeros(fields, math.prod(shape)) if third & 128 else []
    coder = None
    if top and ways < 3:
        coder = Decoder(fields.rest(), 2**ways)
    elif top:
        coder = adaptive.Rows(fields.rest())
        values = coarse(coder.number)
    for level in range(top, 0, -1):
        finer = np.zeros(level_extents(level - 1), T)
        finer[tuple(slice(None, None, 2 if used else 1) for used in axes)] = values
        done = 0
        if mode.scales:
            stencils.refine(finer, level, mode, extents[0] > 1, step(level), coder, table_map)
        for axis in [] if mode.scales else range(3):
            if axes[axis] and finer.shape[axis] > 1:
                group = {1: done, 2: 3}.get(level, 4)
                Pass(Level(finer, axes), axis, group, mode, step(level), coder, table_map).run(
                    extents[0] > 1
                )
                done += 1
        values = finer
    if coder:
        coder.end()
    fields.end()
    return with_exact(values, outliers, zeros, bound, inner)
