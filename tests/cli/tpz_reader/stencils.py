"""Stencils, a mode of dense's interpolation: values of a level by parity classes, each predicted
from points in all directions."""

import itertools

import numpy as np

from .fields import Fields
from .interpolation import Bits, F, Level, Mode, Pass

#: Axes on which coordinates are odd, as bits z 4, y 2, x 1.
ORDER = [1, 2, 4, 3, 5, 6, 7]
UNIT, LEVELS = 4096, 3


def axis_bit(axis: int) -> int:
    return 4 >> axis


def group(distances) -> list[tuple[int, int, int]]:
    """All points at these distances from a value, each followed by the opposite one."""
    points = []
    for signs in itertools.product((-1, 1), repeat=3):
        if any(s > 0 for s, d in zip(signs, distances, strict=True) if d == 0):
            continue
        offset = tuple(s * d for s, d in zip(signs, distances, strict=True))
        if next(o for o in offset if o) < 0:
            points += [offset, tuple(-o for o in offset)]
    return points


class Shape:
    """The groups of points of class `odd`, the first of them nearest, and those beside it."""

    def __init__(self, axes: int, odd: int, reach: int):
        def earlier(distances):
            other = odd
            for axis, d in enumerate(distances):
                other ^= axis_bit(axis) * (d & 1)
            known = other == 0 or ORDER.index(other) < ORDER.index(odd)
            return other if known and other != odd else None

        odd_axes = [axis for axis in range(3) if odd & axis_bit(axis)]
        self.axes = len(odd_axes)
        self.groups = [
            group([d if a == axis else 0 for a in range(3)]) for d in (1, 3, 5) for axis in odd_axes
        ]
        most = [3 if axes & axis_bit(axis) else 0 for axis in range(3)]
        for distances in itertools.product(*(range(m + 1) for m in most)):
            far = sum(d * d for d in distances) > reach
            if sum(d > 0 for d in distances) >= 2 and not far and earlier(distances) is not None:
                self.groups.append(group(distances))
        self.beside = []
        for nonzero in (1, 2):
            for distances in itertools.product((0, 1), repeat=3):
                used = sum(axis_bit(axis) * d for axis, d in enumerate(distances))
                if sum(distances) == nonzero and not used & ~axes and earlier(distances):
                    self.beside += group(distances)
            if self.beside:
                break

    @classmethod
    def one_sided(cls, odd: int):
        self = cls.__new__(cls)
        odd_axes = [axis for axis in range(3) if odd & axis_bit(axis)]
        self.axes, self.beside = len(odd_axes), []
        self.groups = [
            2 * [tuple(-d if a == axis else 0 for a in range(3))]
            for d in (1, 3, 5)
            for axis in odd_axes
        ]
        return self

    def weights(self, *eighths) -> list[int]:
        """Of the nearest groups, the next ones and so on, shared among the axes."""
        result = [int(UNIT * e / 8 / self.axes) for e in eighths for _ in range(self.axes)]
        return completed(result[1:] + [0] * (len(self.groups) - len(result)))


def completed(others: list[int]) -> list[int]:
    weights = [UNIT - sum(others), *others]
    assert sum(map(abs, weights)) <= 16 * UNIT
    return weights


def level_axes(extents, axes) -> int:
    return sum(axis_bit(a) for a in range(3) if axes[a] and extents[a] > 1)


class Stencils:
    def __init__(self, fields: Fields, axes, level_extents, top: int):
        flags = fields.one("B")
        assert flags <= 1
        self.reach = 14 if flags else 9
        bits, self.weights = Bits(fields), {}
        for level in range(1, min(top, LEVELS) + 1):
            used = level_axes(level_extents(level - 1), axes)
            for odd in ORDER:
                if odd & ~used:
                    continue
                count = bits.take(4)
                if count:
                    raw = [bits.take(count) for _ in Shape(used, odd, self.reach).groups[1:]]
                    signed = [r - 2**count if r >> (count - 1) else r for r in raw]
                    self.weights[level, odd] = completed(signed)


class Extended(Level):
    """A level that goes on beyond its faces."""

    def __init__(self, values: np.ndarray, axes, huge):
        super().__init__(values, axes)
        self.sizes, self.huge = np.zeros(values.shape, "i8"), huge

    def beyond(self, axis: int, at: int):
        """The point of the end (None if it is not known) and the coordinate mirrored at it."""
        n, parity = self.values.shape[axis], at & 1
        if at < 0:
            return 0, min(-at, (n - 1 - parity) // 2 * 2 + parity)
        end = n - 1
        return (None if end & 1 else end), max(2 * end - at, parity)

    def mirrored(self, axis: int, at: int, values_at):
        end, mirrored = self.beyond(axis, at)
        values = values_at(mirrored)
        if end is None:
            return values
        values = self.type(2) * values_at(end) - values
        return np.where(np.abs(values) <= self.huge, values, self.type(0))

    def row(self, z: int, y: int, xs: np.ndarray) -> np.ndarray:
        nz, ny, nx = self.values.shape
        if not 0 <= z < nz:
            return self.mirrored(0, z, lambda at: self.row(at, y, xs))
        if not 0 <= y < ny:
            return self.mirrored(1, y, lambda at: self.row(z, at, xs))
        found = self.values[z, y, np.clip(xs, 0, nx - 1)]
        for i in np.flatnonzero((xs < 0) | (xs >= nx)):
            found[i] = self.mirrored(2, int(xs[i]), lambda at: self.values[z, y, at])
        return found

    def sizes_at(self, z: int, y: int, xs: np.ndarray) -> np.ndarray:
        nz, ny, nx = self.values.shape
        if not (0 <= z < nz and 0 <= y < ny):
            return np.zeros(xs.size, "i8")
        inside = (xs >= 0) & (xs < nx)
        return np.where(inside, self.sizes[z, y, np.clip(xs, 0, nx - 1)], 0)


class Stencil:
    """A shape with its weights, for values of a type."""

    def __init__(self, shape: Shape, weights: list[int], T):
        self.shape, self.near_share = shape, T(1) / T(2 * shape.axes)
        self.weights = [T(w) / T(UNIT * len(g)) for w, g in zip(weights, shape.groups, strict=True)]

    def predict(self, level: Extended, z: int, y: int, xs: np.ndarray):
        """p, the curvature and the sum of the sizes beside."""
        p = near = None
        for number, (points, weight) in enumerate(
            zip(self.shape.groups, self.weights, strict=True)
        ):
            rows = [level.row(z + dz, y + dy, xs + dx) for dz, dy, dx in points]
            s = rows[0] + rows[1]
            for first, second in zip(rows[2::2], rows[3::2], strict=True):
                s = s + (first + second)
            p = weight * s if p is None else p + weight * s
            if number < self.shape.axes:
                near = s if near is None else near + s
        beside = np.zeros(xs.size, "i8")
        for dz, dy, dx in self.shape.beside:
            beside += level.sizes_at(z + dz, y + dy, xs + dx)
        return p, np.abs(p - near * self.near_share), beside


class StencilPass(Pass):
    """One class of a level."""

    def __init__(self, level: Extended, odd: int, number: int, mode: Mode, step, coder, table_map):
        group_of_rows = {1: odd.bit_count() - 1, 2: 3}.get(number, 4)
        super().__init__(level, 2, group_of_rows, mode, step, coder, table_map)
        T, self.odd, self.used = self.T, odd, level_axes(level.values.shape, level.axes)
        curvature, a, b, self.wn, code = mode.scales[group_of_rows]
        self.wc = T(F(curvature / 128)) * self.inverse
        self.wa, self.wb = T(a / 512), T(b / 512)
        self.floor = T((16 + code % 16) * 2.0 ** (code // 16 - 12))
        self.stencils = {0: self.inner(mode.stencils, number)}
        self.cut = sum(
            axis_bit(axis)
            for axis in range(3)
            if odd & axis_bit(axis) and level.values.shape[axis] % 2 == 0
        )
        for ends in range(1, 8):
            if ends & ~self.cut == 0:
                self.stencils[ends] = self.at_ends(ends)

    def inner(self, stored: Stencils, number: int) -> Stencil:
        shape = Shape(self.used, self.odd, stored.reach)
        weights = stored.weights.get((number, self.odd)) or shape.weights(9, -1)
        return Stencil(shape, weights, self.T)

    def at_ends(self, ends: int) -> Stencil:
        if self.odd & ~ends:
            shape = Shape(self.used & ~ends, self.odd & ~ends, 9)
            return Stencil(shape, shape.weights(9, -1), self.T)
        shape = Shape.one_sided(self.odd)
        return Stencil(shape, shape.weights(15, -10, 3), self.T)

    def coordinates(self, axis: int) -> range:
        n = self.level.values.shape[axis]
        if not self.used & axis_bit(axis):
            return range(n)
        return range(1 if self.odd & axis_bit(axis) else 0, n, 2)

    def run(self, many_planes: bool):
        columns = np.array(self.coordinates(2))
        nothing = np.zeros(columns.size, self.T)
        self.behind, self.error = {}, nothing
        for z in self.coordinates(0):
            self.above = nothing
            for y in self.coordinates(1):
                self.row([z, y, columns], self.behind.get(y, nothing) if many_planes else None)

    def predict(self, place, above, back):
        T, (z, y, xs) = self.T, place
        nz, ny, _ = self.level.values.shape
        ends = self.cut & (4 * (z == nz - 1) | 2 * (y == ny - 1))
        pieces = [(self.stencils[ends], xs)]
        if self.cut & 1:
            pieces = [(self.stencils[ends], xs[:-1]), (self.stencils[ends | 1], xs[-1:])]
        p, scale, beside = [], [], []
        for stencil, columns in pieces:
            if not columns.size:
                continue
            found, curvature, sizes = stencil.predict(self.level, z, y, columns)
            count = len(stencil.shape.beside)
            p.append(found)
            scale.append(curvature * self.wc + self.floor)
            beside.append(sizes.astype(T) * (T(self.wn / 128) / T(count)) if count else None)
        for history, weight in ((above, self.wa), (back, self.wb)):
            if history is not None:
                padded = np.concatenate([[T(0)], history, [T(0)]]).astype(T)
                sums = ((padded[:-2] + padded[2:]) + (history + history)) * weight
                at = 0
                for number, part in enumerate(scale):
                    scale[number] = part + sums[at : at + part.size]
                    at += part.size
        scale = [s if b is None else s + b for s, b in zip(scale, beside, strict=True)]
        return np.concatenate(p), np.concatenate(scale)

    def residuals(self, scale: np.ndarray) -> np.ndarray:
        self.found = super().residuals(scale)
        return self.found

    def row(self, place, back):
        super().row(place, back)
        self.level.sizes[tuple(place)] = np.minimum(np.abs(self.found), 255)


def refine(values: np.ndarray, number: int, mode: Mode, many_planes: bool, step, coder, table_map):
    """Level number - 1, whose values of level `number` are in their places."""
    huge = values.dtype.type(2.0 ** (119 if values.dtype.itemsize == 4 else 1015))
    level = Extended(values, mode.axes, huge)
    used = level_axes(values.shape, mode.axes)
    for odd in ORDER:
        if not odd & ~used:
            StencilPass(level, odd, number, mode, step, coder, table_map).run(many_planes)
