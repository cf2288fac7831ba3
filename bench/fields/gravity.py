"""Matter that collapses under its own gravity in a periodic cube: the particle-mesh method.

Particles start on a grid, displaced as Zel'dovich (1970) does; density by clouds in cells, the
potential from Poisson's equation by FFT, leapfrog in time (Hockney and Eastwood, 1988). The
background expands as in an Einstein-de Sitter universe: the scale factor is the time variable.
Lengths in cells.
"""

from collections.abc import Iterator

import numba
import numpy as np
from scipy import fft

WORKERS = 2


@numba.njit(cache=True)
def deposit(position, points):
    """Density, with mean 1, of particles that are clouds of one cell."""
    density = np.zeros((points, points, points))
    mass = points**3 / position.shape[0]
    for p in range(position.shape[0]):
        x, y, z = position[p, 0], position[p, 1], position[p, 2]
        i, j, k = int(x), int(y), int(z)
        fx, fy, fz = x - i, y - j, z - k
        for a in range(2):
            wx = fx if a else 1 - fx
            for b in range(2):
                wxy = wx * (fy if b else 1 - fy)
                for c in range(2):
                    weight = wxy * (fz if c else 1 - fz)
                    density[(i + a) % points, (j + b) % points, (k + c) % points] += mass * weight
    return density


@numba.njit(parallel=True, cache=True)
def push(position, momentum, potential, kick, drift):
    """Momenta by the slope of the potential where the particles are, then positions."""
    n = potential.shape[0]
    for p in numba.prange(position.shape[0]):
        i, j, k = int(position[p, 0]), int(position[p, 1]), int(position[p, 2])
        fx, fy, fz = position[p, 0] - i, position[p, 1] - j, position[p, 2] - k
        gx = gy = gz = 0.0
        for corner in range(8):
            a, b, c = corner >> 2, (corner >> 1) & 1, corner & 1
            weight = (fx if a else 1 - fx) * (fy if b else 1 - fy) * (fz if c else 1 - fz)
            x, y, z = (i + a) % n, (j + b) % n, (k + c) % n
            gx += weight * (potential[(x + 1) % n, y, z] - potential[x - 1, y, z]) / 2
            gy += weight * (potential[x, (y + 1) % n, z] - potential[x, y - 1, z]) / 2
            gz += weight * (potential[x, y, (z + 1) % n] - potential[x, y, z - 1]) / 2
        momentum[p, 0] -= kick * gx
        momentum[p, 1] -= kick * gy
        momentum[p, 2] -= kick * gz
        for axis in range(3):
            moved = position[p, axis] + drift * momentum[p, axis]
            moved -= n * np.floor(moved / n)
            position[p, axis] = moved if moved < n else 0.0


class Poisson:
    def __init__(self, points: int) -> None:
        full, half = fft.fftfreq(points) * 2 * np.pi, fft.rfftfreq(points) * 2 * np.pi
        self.wave = np.meshgrid(full, full, half, indexing="ij", sparse=True)
        self.square = sum(wave**2 for wave in self.wave)
        self.square[0, 0, 0] = 1
        self.points = points

    def potential(self, source: np.ndarray) -> np.ndarray:
        """The solution, with mean 0, of laplace potential = source."""
        spectrum = -fft.rfftn(source, workers=WORKERS) / self.square
        spectrum[0, 0, 0] = 0
        return fft.irfftn(spectrum, s=source.shape, workers=WORKERS)

    def displacement(self, seed: int) -> np.ndarray:
        """Of a random field with the spectrum of cold dark matter, roughly: k, bent to k^-3."""
        noise = np.random.default_rng(seed).standard_normal((self.points,) * 3)
        length = np.sqrt(self.square) * self.points / (2 * np.pi)
        spectrum = fft.rfftn(noise, workers=WORKERS) * np.sqrt(length) / (1 + (length / 5) ** 2)
        spectrum[0, 0, 0] = 0
        spectrum *= 0.03 * 2.2 / fft.irfftn(spectrum, s=noise.shape).std()
        parts = [1j * wave * spectrum / self.square for wave in self.wave]
        return np.stack([fft.irfftn(part, s=noise.shape, workers=WORKERS) for part in parts], -1)


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    points = 160 if large else 24
    poisson = Poisson(points)
    displacement = poisson.displacement(seed=71).reshape(-1, 3)
    grid = np.indices((points,) * 3).reshape(3, -1).T + 0.5
    scale, last, steps = 0.03, 1.0, 48 if large else 20
    position = (grid + displacement) % points
    momentum = displacement * scale**1.5 / scale  # a^2 dx/dt, at the growing mode
    ratio = (last / scale) ** (1 / steps)
    for _ in range(steps):
        change = scale * (ratio - 1)
        middle = scale + change / 2
        potential = poisson.potential(1.5 * (deposit(position, points) - 1))
        # In units of the Hubble time: dp/da = -grad potential / (a^0.5), dx/da = p / a^1.5
        push(position, momentum, potential, change / scale**0.5, change / middle**1.5)
        scale += change
    density = deposit(position, points)
    yield "gravity_density", density.astype(np.float32)
    potential = poisson.potential(1.5 * (density - 1))
    yield "gravity_potential", potential.astype(np.float32)
    part = potential if not large else potential[:128, :128, :128]
    yield "gravity_potential_double", np.ascontiguousarray(part)
