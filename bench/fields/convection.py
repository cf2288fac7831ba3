"""Rayleigh-Benard convection: a fluid between a warm plate below and a cold one above.

    du/dt + u.grad u = -grad p + T e_z + laplace u / sqrt(Ra),    div u = 0
    dT/dt + u.grad T = laplace T / sqrt(Ra)

Finite volumes on a staggered grid, 2nd order, plates without slip at T = 1/2 and -1/2, periodic
sideways; Adams-Bashforth in time, then a projection whose Poisson equation FFTs solve sideways and
a cosine transform upwards (Kim and Moin, 1985). Lengths in heights of the layer. Axes are z, y and
x.
"""

from collections.abc import Iterator

import numba
import numpy as np
from scipy import fft, ndimage

WORKERS = 2


@numba.njit(inline="always")
def face(a, b):
    return np.float32(0.5) * (a + b)


@numba.njit(parallel=True, cache=True)
def tendencies(u, v, w, t, du, dv, dw, dt, cell, viscosity, conductivity):
    """u, v, w lie on the lower x, y, z face of a cell; w[0] and w[nz] are the plates."""
    nz, ny, nx = t.shape
    inverse = np.float32(1) / cell
    drag, leak = viscosity * inverse * inverse, conductivity * inverse * inverse
    six, half = np.float32(6), np.float32(0.5)
    for k in numba.prange(nz):
        low, high = max(k - 1, 0), min(k + 1, nz - 1)
        floor, roof = k == 0, k == nz - 1
        for j in range(ny):
            south, north = j - 1, j + 1 if j < ny - 1 else 0
            for i in range(nx):
                left, right = i - 1, i + 1 if i < nx - 1 else 0
                here = u[k, j, i]
                under = -here if floor else u[low, j, i]
                over = -here if roof else u[high, j, i]
                flow = face(here, u[k, j, right]) ** 2 - face(u[k, j, left], here) ** 2
                flow += face(v[k, north, i], v[k, north, left]) * face(here, u[k, north, i])
                flow -= face(v[k, j, i], v[k, j, left]) * face(here, u[k, south, i])
                flow += face(w[k + 1, j, i], w[k + 1, j, left]) * face(here, over)
                flow -= face(w[k, j, i], w[k, j, left]) * face(here, under)
                spread = (
                    u[k, j, left] + u[k, j, right] + u[k, south, i] + u[k, north, i] + under + over
                )
                du[k, j, i] = drag * (spread - six * here) - inverse * flow

                here = v[k, j, i]
                under = -here if floor else v[low, j, i]
                over = -here if roof else v[high, j, i]
                flow = face(here, v[k, north, i]) ** 2 - face(v[k, south, i], here) ** 2
                flow += face(u[k, j, right], u[k, south, right]) * face(here, v[k, j, right])
                flow -= face(u[k, j, i], u[k, south, i]) * face(here, v[k, j, left])
                flow += face(w[k + 1, j, i], w[k + 1, south, i]) * face(here, over)
                flow -= face(w[k, j, i], w[k, south, i]) * face(here, under)
                spread = (
                    v[k, j, left] + v[k, j, right] + v[k, south, i] + v[k, north, i] + under + over
                )
                dv[k, j, i] = drag * (spread - six * here) - inverse * flow

                here = t[k, j, i]
                under = np.float32(1) - here if floor else t[low, j, i]
                over = -np.float32(1) - here if roof else t[high, j, i]
                flow = u[k, j, right] * face(here, t[k, j, right]) - u[k, j, i] * face(
                    here, t[k, j, left]
                )
                flow += v[k, north, i] * face(here, t[k, north, i]) - v[k, j, i] * face(
                    here, t[k, south, i]
                )
                flow += w[k + 1, j, i] * face(here, over) - w[k, j, i] * face(here, under)
                spread = (
                    t[k, j, left] + t[k, j, right] + t[k, south, i] + t[k, north, i] + under + over
                )
                dt[k, j, i] = leak * (spread - six * here) - inverse * flow

                if floor:
                    dw[k, j, i] = np.float32(0)
                    continue
                here = w[k, j, i]
                flow = face(here, w[k + 1, j, i]) ** 2 - face(w[k - 1, j, i], here) ** 2
                flow += face(u[k, j, right], u[low, j, right]) * face(here, w[k, j, right])
                flow -= face(u[k, j, i], u[low, j, i]) * face(here, w[k, j, left])
                flow += face(v[k, north, i], v[low, north, i]) * face(here, w[k, north, i])
                flow -= face(v[k, j, i], v[low, j, i]) * face(here, w[k, south, i])
                spread = w[k, j, left] + w[k, j, right] + w[k, south, i] + w[k, north, i]
                spread += w[k - 1, j, i] + w[k + 1, j, i] - six * here
                dw[k, j, i] = drag * spread - inverse * flow + half * (t[k, j, i] + t[low, j, i])


class Projection:
    """Takes the divergence out of a velocity."""

    def __init__(self, shape: tuple[int, int, int], cell: float) -> None:
        nz, ny, nx = shape
        up = 2 - 2 * np.cos(np.pi * np.arange(nz) / nz)
        across = 2 - 2 * np.cos(2 * np.pi * fft.fftfreq(ny))
        along = 2 - 2 * np.cos(2 * np.pi * fft.rfftfreq(nx))
        square = up[:, None, None] + across[None, :, None] + along[None, None, :]
        square[0, 0, 0] = 1
        self.inverse = (-(cell**2) / square).astype(np.float32)
        self.inverse[0, 0, 0] = 0
        self.shape, self.cell = shape, np.float32(cell)

    def __call__(self, u: np.ndarray, v: np.ndarray, w: np.ndarray) -> None:
        divergence = (np.roll(u, -1, 2) - u + np.roll(v, -1, 1) - v + w[1:] - w[:-1]) / self.cell
        spectrum = fft.rfftn(
            fft.dct(divergence, axis=0, workers=WORKERS), axes=(1, 2), workers=WORKERS
        )
        pressure = fft.irfftn(
            spectrum * self.inverse, s=self.shape[1:], axes=(1, 2), workers=WORKERS
        )
        pressure = fft.idct(pressure, axis=0, workers=WORKERS)
        u -= (pressure - np.roll(pressure, 1, 2)) / self.cell
        v -= (pressure - np.roll(pressure, 1, 1)) / self.cell
        w[1:-1] -= (pressure[1:] - pressure[:-1]) / self.cell


def integrate(state: list[np.ndarray], rayleigh: float, until: float) -> None:
    """Of u, v, w and T, in free-fall times. w has one level more than the others: both plates."""
    u, v, w, t = state
    cell = 1 / t.shape[0]
    viscosity = conductivity = np.float32(1 / np.sqrt(rayleigh))  # Pr = 1
    project = Projection(t.shape, cell)
    project(u, v, w)
    now, before = ([np.zeros(t.shape, np.float32) for _ in state] for _ in range(2))
    time_step = np.float32(0.4 * cell)
    for count in range(int(until / time_step)):
        tendencies(u, v, w, t, *now, np.float32(cell), viscosity, conductivity)
        weight = np.float32(0.5 if count else 0)
        for values, change, older in zip((u, v, w[:-1], t), now, before, strict=True):
            values += time_step * ((1 + weight) * change - weight * older)
        now, before = before, now
        project(u, v, w)


def at_rest(shape: tuple[int, int, int]) -> list[np.ndarray]:
    """Heat conducted from plate to plate, and a little noise."""
    nz, ny, nx = shape
    noise = np.random.default_rng(91).standard_normal(shape, dtype=np.float32)
    t = 0.5 - (np.arange(nz, dtype=np.float32) + 0.5)[:, None, None] / nz + 0.05 * noise
    levels = (nz, nz, nz + 1)
    return [np.zeros((level, ny, nx), np.float32) for level in levels] + [t]


def refined(state: list[np.ndarray]) -> list[np.ndarray]:
    """On twice the cells in each direction; the projection that follows removes what diverges."""
    u, v, w, t = (ndimage.zoom(part, 2, order=1, mode="nearest", grid_mode=True) for part in state)
    w = w[:-1]
    w[0] = w[-1] = 0
    return [u, v, w, t]


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    rayleigh = 2e6 if large else 5e4
    state = at_rest((36, 96, 96) if large else (12, 16, 16))
    integrate(state, rayleigh, until=24)
    if large:
        state = refined(state)
        integrate(state, rayleigh, until=3)
    yield "convection_temperature", state[3]
    yield "convection_vertical_velocity", state[2][:-1].copy()
