"""The matrices of DCT+Chop in its form of two dense products, for tensorpress.torch and .onnx.

    Y  = L X R'     L and R: the first CF rows of the transform T, once per block of the plane
    X' = P Y Q'     P and Q: the first CF columns of its inverse S, once per block

A plane whose sides are no multiple of the block is padded by repeating its last row and column,
and cropped afterwards (docs/format.md, codec dct-chop). Both are linear, so they are folded into
the matrices: the columns of L that meet copies of one row are summed, the rows of P that would be
cropped are left out. What remains is nothing but products. All values are float64; torch and
onnx round them once, to their own type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LAYOUTS = ("square", "triangle")
POINTS = {"dct": 8, "zfp": 4}
MOST_PARTS = 64


def transform_matrices(transform: str) -> tuple[np.ndarray, np.ndarray]:
    """T and S, its inverse, as docs/format.md writes them."""
    if transform == "dct":
        frequency, place = np.mgrid[0:8, 0:8]
        forward = np.cos((2 * place + 1) * frequency * math.pi / 16) / 2
        forward[0] = math.sqrt(1 / 8)
        return forward, forward.T
    forward = np.array([[4, 4, 4, 4], [5, 1, -1, -5], [-4, 4, 4, -4], [-2, 6, -6, 2]]) / 16
    inverse = np.array([[4, 6, -4, -1], [4, 2, 4, 5], [4, -2, 4, -5], [4, -6, -4, 1]]) / 4
    return forward, inverse


@dataclass(frozen=True)
class Axis:
    """One side of a plane, cut into parts of `step` blocks; the last part may be smaller."""

    extent: int
    points: int
    keep: int
    step: int

    @property
    def blocks(self) -> int:
        return _divided_up(self.extent, self.points)

    @property
    def coefficients(self) -> int:
        return self.blocks * self.keep

    def _sizes(self, total: int, size: int) -> list[int]:
        return [min(size, total - first) for first in range(0, total, size)]

    @property
    def element_sizes(self) -> list[int]:
        return self._sizes(self.extent, self.step * self.points)

    @property
    def coefficient_sizes(self) -> list[int]:
        return self._sizes(self.coefficients, self.step * self.keep)

    def forward(self, transform: str, elements: int) -> np.ndarray:
        """L of a part with so many elements: coefficients x elements."""
        blocks = _divided_up(elements, self.points)
        rows = np.kron(np.eye(blocks), transform_matrices(transform)[0][: self.keep])
        rows[:, elements - 1] = rows[:, elements - 1 :].sum(axis=1)
        return rows[:, :elements].copy()

    def inverse(self, transform: str, elements: int) -> np.ndarray:
        """P of a part with so many elements: elements x coefficients."""
        blocks = _divided_up(elements, self.points)
        columns = np.kron(np.eye(blocks), transform_matrices(transform)[1][:, : self.keep])
        return columns[:elements].copy()


class Chop:
    """Checked parameters, and what they make of planes of one size."""

    def __init__(
        self,
        shape: Sequence[int | str | None],
        cf: int,
        layout: str = "square",
        transform: str = "dct",
        serialize: int = 1,
    ) -> None:
        if transform not in POINTS:
            raise ValueError(f"transform is {transform!r}; it is one of dct, zfp")
        if layout not in LAYOUTS:
            raise ValueError(f"layout is {layout!r}; it is one of square, triangle")
        points = POINTS[transform]
        because = f" because transform {transform} works on {points} x {points} blocks"
        self.cf = _whole("cf, the chop factor,", cf, 1, points, because)
        self.serialize = _whole("serialize", serialize, 1, MOST_PARTS)
        self.layout, self.transform = layout, transform
        height, width = last_two(shape)
        self.rows, self.columns = (
            Axis(extent, points, self.cf, _divided_up(_divided_up(extent, points), self.serialize))
            for extent in (height, width)
        )

    @property
    def plane(self) -> tuple[int, int]:
        return self.rows.extent, self.columns.extent

    @property
    def square(self) -> tuple[int, int]:
        """A plane's coefficients as the two products give them."""
        return self.rows.coefficients, self.columns.coefficients

    @property
    def compressed_plane(self) -> tuple[int, int]:
        """A plane's coefficients as they are kept: in the order of the stream."""
        if self.layout == "square":
            return self.square
        return self.rows.blocks * self.columns.blocks, self.cf * (self.cf + 1) // 2

    @property
    def ratio(self) -> float:
        return math.prod(self.plane) / math.prod(self.compressed_plane)

    def triangle_places(self) -> np.ndarray:
        """Where in the flattened square each kept value is: block by block, u, then v < CF - u."""
        block_row, block, u, v = np.meshgrid(
            *(np.arange(n) for n in (self.rows.blocks, self.columns.blocks, self.cf, self.cf)),
            indexing="ij",
        )
        places = (block_row * self.cf + u) * self.columns.coefficients + block * self.cf + v
        return places[u + v < self.cf]

    def arguments(self) -> str:
        return (
            f"{self.plane}, cf={self.cf}, layout={self.layout!r}, "
            f"transform={self.transform!r}, serialize={self.serialize}"
        )


def last_two(shape: Sequence[int | str | None]) -> tuple[int, int]:
    """Height and width out of (..., height, width)."""
    if len(shape) < 2:
        raise ValueError(
            f"shape {tuple(shape)} has no planes; DCT+Chop takes (..., height, width), "
            "so reshape the tensor to at least two axes"
        )
    return _whole("the height", shape[-2], 1), _whole("the width", shape[-1], 1)


def _divided_up(number: int, divisor: int) -> int:
    return -(-number // divisor)


def _whole(name: str, value: object, least: int, most: int | None = None, why: str = "") -> int:
    to = "" if most is None else f" to {most}"
    sort = "at least" if most is None else "from"
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"{name} is {value!r}; it is a whole number {sort} {least}{to}") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise ValueError(f"{name} is {value!r}; it is a whole number {sort} {least}{to}{why}")
    return number
