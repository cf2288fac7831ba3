"""A large field that is made in seconds: the pressure of sound in layers of rock.

    d2p/dt2 = v^2 laplace p

Leapfrog in time, 4th order in space, p = 0 at all sides. The velocity v differs by layer, the
layers are bent, and one body in the middle is fastest. Three pulses start at once; waves are
bent and reflected where the velocity changes.

The field has the same bits on every machine: float32, and only additions, subtractions,
multiplications and divisions, one after the other, which IEEE 754 rounds alike everywhere. A plane
at a time stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SHAPE = (128, 160, 160)  # depth, rows, columns: 13 MB
STEPS = 220
PULSES = ((1, (0.25, 0.5, 0.35)), (-0.7, (0.45, 0.3, 0.7)), (0.8, (0.75, 0.7, 0.3)))
LAYERS = ((0.2, 0.04), (0.36, 0.05), (0.5, -0.03), (0.66, 0.08), (0.84, 0.05))  # depth, change
TITLE = "Sound in layered rock"
ABOUT = (
    f"Pressure of three pulses in bent layers of rock after {STEPS} steps in time, in arbitrary "
    "units: finite differences, computed by examples/demo/waves.py."
)

ONE = np.float32(1)
# Of the second derivative at 4th order.
NEAR, FAR = np.float32(4) / np.float32(3), np.float32(-1) / np.float32(12)
CENTRE = np.float32(-15) / np.float32(2)  # three times -5/2


def waves(shape: tuple[int, int, int] = SHAPE, steps: int = STEPS) -> np.ndarray:
    """The pressure after so many steps."""
    scaled = _velocity(shape)
    scaled *= scaled  # (velocity x time step / cell)^2
    now = _pulses(shape)
    before = now.copy()  # at rest
    plane, further = np.empty((2, shape[1] - 4, shape[2] - 4), np.float32)
    for _ in range(steps):
        for k in range(2, shape[0] - 2):
            _advance(before, now, scaled, k, plane, further)
        before, now = now, before
    return now


def _advance(
    before: np.ndarray,
    now: np.ndarray,
    scaled: np.ndarray,
    k: int,
    plane: np.ndarray,
    further: np.ndarray,
) -> None:
    """Writes the next plane k over the one before; plane and further are scratch."""
    inner = (slice(2, -2), slice(2, -2))
    here = now[k]
    np.add(now[k - 1][inner], now[k + 1][inner], out=plane)
    for row, column in ((1, 2), (3, 2), (2, 1), (2, 3)):
        plane += _shifted(here, row, column)
    plane *= NEAR
    np.add(now[k - 2][inner], now[k + 2][inner], out=further)
    for row, column in ((0, 2), (4, 2), (2, 0), (2, 4)):
        further += _shifted(here, row, column)
    further *= FAR
    plane += further
    np.multiply(here[inner], CENTRE, out=further)
    plane += further
    plane *= scaled[k][inner]
    older = before[k][inner]
    np.subtract(plane, older, out=older)
    older += here[inner]
    older += here[inner]


def _shifted(plane: np.ndarray, row: int, column: int) -> np.ndarray:
    """What lies inside two cells of margin, moved by row - 2 and column - 2 cells."""
    height, width = plane.shape
    return plane[row : height - 4 + row, column : width - 4 + column]


def _axes(shape: tuple[int, int, int]) -> list[np.ndarray]:
    """Places from 0 to 1 along each axis, in a shape that spreads over the others."""
    grids = []
    for axis, extent in enumerate(shape):
        places = np.arange(extent, dtype=np.float32) / np.float32(extent - 1)
        grids.append(places.reshape([-1 if each == axis else 1 for each in range(3)]))
    return grids


def _bump(square: np.ndarray) -> np.ndarray:
    """(1 - r^2)^3 inside r = 1, where it ends smoothly; 0 outside."""
    inside = np.maximum(ONE - square, np.float32(0))
    return inside * inside * inside


def _square_distance(
    shape: tuple[int, int, int], centre: Sequence[float], radii: Sequence[float]
) -> np.ndarray:
    parts = [
        (each - np.float32(middle)) / np.float32(radius)
        for each, middle, radius in zip(_axes(shape), centre, radii, strict=True)
    ]
    z, y, x = (each * each for each in parts)
    return z + y + x


def _velocity(shape: tuple[int, int, int]) -> np.ndarray:
    """In cells a step; these differences are stable up to 0.5."""
    z, y, x = _axes(shape)
    bend = np.float32(0.12) * (x * (ONE - x) + y * y * (ONE - y))
    velocity = np.full(shape, np.float32(0.22))
    for depth, more in LAYERS:
        velocity += np.float32(more) * ((z + bend) > np.float32(depth))
    body = _square_distance(shape, (0.6, 0.45, 0.6), (0.14, 0.2, 0.16)) < ONE
    velocity[body] = np.float32(0.48)
    return velocity


def _pulses(shape: tuple[int, int, int]) -> np.ndarray:
    pressure = np.zeros(shape, np.float32)
    radii = [5.5 / extent for extent in shape]
    for strength, centre in PULSES:
        pressure += np.float32(strength) * _bump(_square_distance(shape, centre, radii))
    return pressure
