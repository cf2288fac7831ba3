"""Waves on a membrane of uneven thickness, struck at several places, 2-D.

    d2u/dt2 = c^2 laplace u - g du/dt

Leapfrog in time, 4th order in space; the rim is fixed. Lengths in grid cells, speeds in cells a
step.
"""

from collections.abc import Iterator

import numba
import numpy as np

C0, C1, C2 = -5 / 2, 4 / 3, -1 / 12
DAMPING = 1e-4


@numba.njit(parallel=True, cache=True)
def step(previous, now, scaled):
    """Writes the next height over the previous one. `scaled` is the speed squared."""
    ny, nx = now.shape
    for i in numba.prange(2, ny - 2):
        for j in range(2, nx - 2):
            near = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
            far = now[i - 2, j] + now[i + 2, j] + now[i, j - 2] + now[i, j + 2]
            laplace = 2 * C0 * now[i, j] + C1 * near + C2 * far
            change = (1 - DAMPING) * (now[i, j] - previous[i, j])
            previous[i, j] = now[i, j] + change + scaled[i, j] * laplace


def thickness(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Between 0.7 and 1.3, a few waves of each direction."""
    y, x = np.meshgrid(np.linspace(0, 1, shape[0]), np.linspace(0, 1, shape[1]), indexing="ij")
    found = np.ones(shape)
    for wave in range(1, 7):
        angle, phase = rng.uniform(0, 2 * np.pi, 2)
        along = np.cos(angle) * x + np.sin(angle) * y
        found += 0.1 / wave * np.cos(2 * np.pi * wave * along + phase)
    return found


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    shape = (1200, 1900) if large else (60, 90)
    rng = np.random.default_rng(11)
    scaled = 0.35**2 / thickness(shape, rng)
    now = np.zeros(shape)
    y, x = np.meshgrid(np.arange(shape[0]), np.arange(shape[1]), indexing="ij")
    for _ in range(4):
        at_y, at_x = rng.uniform(0.2, 0.8) * shape[0], rng.uniform(0.2, 0.8) * shape[1]
        width = rng.uniform(4, 9)
        now += rng.normal() * np.exp(-((y - at_y) ** 2 + (x - at_x) ** 2) / (2 * width**2))
    previous = now.copy()
    steps = {"membrane_early": 600, "membrane_late": 4500} if large else {"membrane_late": 60}
    done = 0
    for name, count in steps.items():
        for _ in range(count - done):
            step(previous, now, scaled)
            previous, now = now, previous
        done = count
        yield name, now.astype(np.float32)
