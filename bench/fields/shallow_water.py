"""A jet that meanders on a rotating plane: one layer of shallow water.

    du/dt = q h v - d/dx (g h + (u^2 + v^2) / 2),    dv/dt = -q h u - d/dy (...)
    dh/dt = -d(h u)/dx - d(h v)/dy,    q = (f + dv/dx - du/dy) / h

Sadourny's enstrophy-conserving scheme on a C grid (1975), leapfrog with the filter of Asselin
(1972), periodic in x, walls in y; f grows with y. Axes are y and x. SI units: 20,000 km a side, 500
m of water, a jet of 30 m/s.
"""

from collections.abc import Iterator

import numba
import numpy as np
from scipy import ndimage

GRAVITY, DEPTH, SIDE = 9.81, 500.0, 2.0e7


@numba.njit(parallel=True, cache=True)
def fluxes(u, v, h, coriolis, d, flux_x, flux_y, energy, vorticity):
    """u and v lie west and south of h, the potential vorticity at the south-west corner."""
    rows, columns = h.shape
    for j in numba.prange(rows):
        below = max(j - 1, 0)
        above = j + 1
        for i in range(columns):
            west, east = i - 1, (i + 1) % columns
            flux_x[j, i] = (h[j, i] + h[j, west]) / 2 * u[j, i]
            flux_y[j, i] = (h[j, i] + h[below, i]) / 2 * v[j, i]
            north = v[above, i] if above < rows else 0.0
            square = u[j, i] ** 2 + u[j, east] ** 2 + v[j, i] ** 2 + north**2
            energy[j, i] = GRAVITY * h[j, i] + square / 4
            spin = (v[j, i] - v[j, west] - u[j, i] + u[below, i]) / d
            depth = (h[j, i] + h[j, west] + h[below, i] + h[below, west]) / 4
            vorticity[j, i] = (coriolis[j] + spin) / depth


@numba.njit(parallel=True, cache=True)
def step(before, now, ahead, d, double_step, viscosity, flux_x, flux_y, energy, vorticity):
    """Leapfrog from `before` to `ahead`, which filters `now`. Each holds u, v and h."""
    rows, columns = energy.shape
    for j in numba.prange(rows):
        below, above = max(j - 1, 0), min(j + 1, rows - 1)
        inside = 1.0 if j + 1 < rows else 0.0
        for i in range(columns):
            west, east = i - 1, (i + 1) % columns
            around = flux_y[j, i] + flux_y[j, west]
            around += inside * (flux_y[above, i] + flux_y[above, west])
            q = (vorticity[j, i] + vorticity[above, i]) / 2
            du = q * around / 4 - (energy[j, i] - energy[j, west]) / d
            around = flux_x[j, i] + flux_x[j, east] + flux_x[below, i] + flux_x[below, east]
            q = (vorticity[j, i] + vorticity[j, east]) / 2
            dv = -q * around / 4 - (energy[j, i] - energy[below, i]) / d
            north = inside * flux_y[above, i]
            dh = -(flux_x[j, east] - flux_x[j, i] + north - flux_y[j, i]) / d
            for part in range(2):
                old = before[part]
                spread = old[j, west] + old[j, east] + old[below, i] + old[above, i] - 4 * old[j, i]
                if part == 0:
                    du += viscosity * spread / d**2
                else:
                    dv += viscosity * spread / d**2
            ahead[0, j, i] = before[0, j, i] + double_step * du
            ahead[1, j, i] = before[1, j, i] + double_step * dv if j > 0 else 0.0
            ahead[2, j, i] = before[2, j, i] + double_step * dh
            for part in range(3):
                curvature = before[part, j, i] - 2 * now[part, j, i] + ahead[part, j, i]
                now[part, j, i] += 0.02 * curvature


def coriolis(points: int) -> np.ndarray:
    """f of each row."""
    return 1.0e-4 + 5.0e-12 * SIDE * ((np.arange(points) + 0.5) / points - 0.5)


def initial(points: int) -> np.ndarray:
    """A balanced jet with eddies on it."""
    y = (np.arange(points) + 0.5) / points
    rng = np.random.default_rng(61)
    noise = ndimage.gaussian_filter(rng.standard_normal((256, 256)), 7, mode="wrap")
    eddies = ndimage.zoom(
        noise / noise.std(), points / 256, order=3, mode="grid-wrap", grid_mode=True
    )
    envelope = np.exp(-(((y - 0.5) / 0.18) ** 2))[:, None]
    jet = -np.tanh((y - 0.5) / 0.035)[:, None]
    height = DEPTH + 110 * jet + 16 * envelope * eddies
    d = SIDE / points
    u = np.zeros_like(height)
    u[1:-1] = -(height[2:] - height[:-2]) / (2 * d)
    v = (height - np.roll(height, 1, 1)) / d
    u = (u + np.roll(u, 1, 1)) / 2
    v[1:] = (v[1:] + v[:-1]) / 2
    v[0] = 0
    factor = (GRAVITY / coriolis(points))[:, None]
    return np.stack([factor * u, factor * v, height])


def integrate(now: np.ndarray, coriolis: np.ndarray, hours: float) -> np.ndarray:
    points = now.shape[1]
    d = SIDE / points
    time_step = 0.33 * d / (np.sqrt(GRAVITY * 640) + 45)
    viscosity = 0.004 * d * d / time_step
    before, ahead = now.copy(), np.empty_like(now)
    buffers = [np.empty((points, points)) for _ in range(4)]
    double_step = time_step
    for _ in range(int(hours * 3600 / time_step)):
        fluxes(*now, coriolis, d, *buffers)
        step(before, now, ahead, d, double_step, viscosity, *buffers)
        before, now, ahead = now, ahead, before
        double_step = 2 * time_step
    return now


def refined(state: np.ndarray) -> np.ndarray:
    """On a grid of twice the points, by cubic splines."""
    points, margin = state.shape[1], 8
    fine = []
    for part, values in enumerate(state):
        # u lies on the western and v on the southern face of a cell, h in its middle.
        offset = [0.0 if part == 1 else -0.25, margin + (0.0 if part == 0 else -0.25)]
        wrapped = np.pad(values, ((0, 0), (margin, margin)), mode="wrap")
        shape = (2 * points, 2 * points)
        fine.append(
            ndimage.affine_transform(wrapped, [0.5, 0.5], offset, shape, order=3, mode="nearest")
        )
    return np.stack(fine)


def relative_vorticity(state: np.ndarray) -> np.ndarray:
    u, v, _ = state
    spin = v - np.roll(v, 1, 1)
    spin[1:] -= u[1:] - u[:-1]
    return spin * (u.shape[0] / SIDE)


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    points = 1024 if large else 64
    state = integrate(initial(points), coriolis(points), hours=66)
    yield "shallow_water_height_double", state[2].copy()
    state = integrate(refined(state), coriolis(2 * points), hours=6)
    yield "shallow_water_height", state[2].astype(np.float32)
    yield "shallow_water_vorticity", relative_vorticity(state).astype(np.float32)
