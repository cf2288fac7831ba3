"""A substance released from a stack into a sheared, gusty wind.

    dc/dt + div (wind c) = div (K grad c) + source

Finite volumes with van Leer's limiter (1974), so that c stays positive and fronts stay sharp; a
logarithmic wind profile with drifting eddies that have no divergence; mixing that grows with
height. Most of the volume holds nothing. Axes are height, y and x.
"""

from collections.abc import Iterator

import numba
import numpy as np


@numba.njit(inline="always")
def upwind(courant, far, near, ahead, beyond):
    """What flows from `near` to `ahead` in one step; negative the other way."""
    if courant >= 0:
        back, forth, value = near - far, ahead - near, near
    else:
        back, forth, value = ahead - beyond, near - ahead, ahead
    product = back * forth
    slope = np.float32(2) * product / (back + forth) if product > 0 else np.float32(0)
    half = np.float32(0.5) * (np.float32(1) - abs(courant))
    return courant * (value + half * slope)


@numba.njit(parallel=True, cache=True)
def advect(c, out, courant, mixing, axis):
    """One axis. `courant` is the wind at the upper face of each cell times step over cell size."""
    nz, ny, nx = c.shape
    n = c.shape[axis]
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    for i in numba.prange(nz):
        for j in range(ny):
            for k in range(nx):
                along = i * di + j * dj + k * dk
                value = c[i, j, k]
                lower = c[i - di, j - dj, k - dk] if along > 0 else value
                lowest = c[i - 2 * di, j - 2 * dj, k - 2 * dk] if along > 1 else lower
                upper = c[i + di, j + dj, k + dk] if along < n - 1 else value
                top = c[i + 2 * di, j + 2 * dj, k + 2 * dk] if along < n - 2 else upper
                flow_in = np.float32(0)
                if along > 0:
                    wind = courant[i - di, j - dj, k - dk]
                    flow_in = upwind(wind, lowest, lower, value, upper)
                    flow_in += mixing[i] * (lower - value)
                flow_out = np.float32(0)
                if along < n - 1:
                    flow_out = upwind(courant[i, j, k], lower, value, upper, top)
                    flow_out += mixing[i] * (value - upper)
                elif axis > 0 and courant[i, j, k] > 0:
                    flow_out = courant[i, j, k] * value
                left = value + flow_in - flow_out
                # Single molecules: below them the scheme would only breed denormal numbers.
                out[i, j, k] = left if left > np.float32(1e-25) else np.float32(0)


def wind(shape: tuple[int, int, int], time: float, modes: np.ndarray) -> list[np.ndarray]:
    """Courant numbers along z, y and x: the profile, and eddies that have no divergence."""
    z, y, x = np.meshgrid(
        *(np.arange(n, dtype=np.float32) for n in shape), indexing="ij", sparse=True
    )
    ground = 1 - np.exp(-z / 6)
    profile = 0.11 * np.log1p(z / 1.5)
    along = np.broadcast_to(profile, shape).astype(np.float32)
    across, up = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for amplitude, kz, ky, kx, drift, phase in modes:
        angle = kx * (x - drift * time) + ky * y + kz * z + phase
        # The curl of a vector potential along x, amplitude * ground * sin(angle).
        sine, cosine = np.sin(angle), np.cos(angle)
        slope = np.exp(-z / 6) / 6
        across += amplitude * (ground * kz * cosine + slope * sine)
        up -= amplitude * ground * ky * cosine
    return [up, across, along]


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    shape = (96, 192, 256) if large else (24, 32, 40)
    rng = np.random.default_rng(81)
    modes = []
    for _ in range(14):
        size = rng.uniform(10, 70)
        direction = rng.normal(size=3)
        kz, ky, kx = 2 * np.pi / size * direction / np.linalg.norm(direction)
        modes.append(
            (0.05 * size**0.67 / 10, kz, ky, kx, rng.uniform(0.2, 0.5), rng.uniform(0, 6.28))
        )
    modes = np.array(modes, np.float32)
    height = np.arange(shape[0])
    mixing = (0.006 + 0.03 * np.minimum(1, height / 30)).astype(np.float32)
    stack = (shape[0] // 6, shape[1] * 9 // 20, shape[2] // 12)
    c, other = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for count in range(300 if large else 60):
        if count % 10 == 0:
            courant = wind(shape, count, modes)
        c[stack] += 1
        for axis in (0, 1, 2) if count % 2 else (2, 1, 0):
            advect(c, other, courant[axis], mixing, axis)
            c, other = other, c
    yield "plume_concentration", c
    yield "plume_counts", rng.poisson(4000 * c.astype(np.float64)).astype(np.float32)
