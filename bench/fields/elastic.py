"""Elastic waves (P and S) in layered rock, on a staggered grid of velocities and stresses.

    rho dv/dt = div stress,    d stress/dt = lambda tr(strain rate) I + 2 mu strain rate

4th order in space, 2nd in time (Virieux, 1986; Graves, 1996). A shear source at depth, a sponge at
every side. Axes are x, y and depth; lengths in cells, density 1 at the surface.
"""

from collections.abc import Iterator

import numba
import numpy as np

NEAR, FAR = np.float32(9 / 8), np.float32(-1 / 24)


@numba.njit(inline="always")
def slope(a, b, c, d):
    """Derivative halfway between b and c."""
    return NEAR * (c - b) + FAR * (d - a)


@numba.njit(parallel=True, cache=True)
def move(v, s, buoyancy, damp):
    """Velocities from stresses. s holds xx, yy, zz, xy, xz, yz."""
    nx, ny, nz = buoyancy.shape
    for i in numba.prange(2, nx - 2):
        for j in range(2, ny - 2):
            for k in range(2, nz - 2):
                b = buoyancy[i, j, k]
                d = damp[0, i] * damp[1, j] * damp[2, k]
                force = slope(
                    s[0, i - 1, j, k], s[0, i, j, k], s[0, i + 1, j, k], s[0, i + 2, j, k]
                )
                force += slope(
                    s[3, i, j - 2, k], s[3, i, j - 1, k], s[3, i, j, k], s[3, i, j + 1, k]
                )
                force += slope(
                    s[4, i, j, k - 2], s[4, i, j, k - 1], s[4, i, j, k], s[4, i, j, k + 1]
                )
                v[0, i, j, k] = d * (v[0, i, j, k] + b * force)
                force = slope(
                    s[3, i - 2, j, k], s[3, i - 1, j, k], s[3, i, j, k], s[3, i + 1, j, k]
                )
                force += slope(
                    s[1, i, j - 1, k], s[1, i, j, k], s[1, i, j + 1, k], s[1, i, j + 2, k]
                )
                force += slope(
                    s[5, i, j, k - 2], s[5, i, j, k - 1], s[5, i, j, k], s[5, i, j, k + 1]
                )
                v[1, i, j, k] = d * (v[1, i, j, k] + b * force)
                force = slope(
                    s[4, i - 2, j, k], s[4, i - 1, j, k], s[4, i, j, k], s[4, i + 1, j, k]
                )
                force += slope(
                    s[5, i, j - 2, k], s[5, i, j - 1, k], s[5, i, j, k], s[5, i, j + 1, k]
                )
                force += slope(
                    s[2, i, j, k - 1], s[2, i, j, k], s[2, i, j, k + 1], s[2, i, j, k + 2]
                )
                v[2, i, j, k] = d * (v[2, i, j, k] + b * force)


@numba.njit(parallel=True, cache=True)
def strain(v, s, lame, shear, damp):
    """Stresses from velocities. `lame` and `shear` are moduli times the time step."""
    nx, ny, nz = lame.shape
    two = np.float32(2)
    for i in numba.prange(2, nx - 2):
        for j in range(2, ny - 2):
            for k in range(2, nz - 2):
                d = damp[0, i] * damp[1, j] * damp[2, k]
                xx = slope(v[0, i - 2, j, k], v[0, i - 1, j, k], v[0, i, j, k], v[0, i + 1, j, k])
                yy = slope(v[1, i, j - 2, k], v[1, i, j - 1, k], v[1, i, j, k], v[1, i, j + 1, k])
                zz = slope(v[2, i, j, k - 2], v[2, i, j, k - 1], v[2, i, j, k], v[2, i, j, k + 1])
                g = shear[i, j, k]
                all_round = lame[i, j, k] * (xx + yy + zz)
                s[0, i, j, k] = d * (s[0, i, j, k] + all_round + two * g * xx)
                s[1, i, j, k] = d * (s[1, i, j, k] + all_round + two * g * yy)
                s[2, i, j, k] = d * (s[2, i, j, k] + all_round + two * g * zz)
                xy = slope(v[0, i, j - 1, k], v[0, i, j, k], v[0, i, j + 1, k], v[0, i, j + 2, k])
                xy += slope(v[1, i - 1, j, k], v[1, i, j, k], v[1, i + 1, j, k], v[1, i + 2, j, k])
                s[3, i, j, k] = d * (s[3, i, j, k] + g * xy)
                xz = slope(v[0, i, j, k - 1], v[0, i, j, k], v[0, i, j, k + 1], v[0, i, j, k + 2])
                xz += slope(v[2, i - 1, j, k], v[2, i, j, k], v[2, i + 1, j, k], v[2, i + 2, j, k])
                s[4, i, j, k] = d * (s[4, i, j, k] + g * xz)
                yz = slope(v[1, i, j, k - 1], v[1, i, j, k], v[1, i, j, k + 1], v[1, i, j, k + 2])
                yz += slope(v[2, i, j - 1, k], v[2, i, j, k], v[2, i, j + 1, k], v[2, i, j + 2, k])
                s[5, i, j, k] = d * (s[5, i, j, k] + g * yz)


def rock(shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities of P and S in cells a time unit, and density: sediment over beds of rock."""
    rng = np.random.default_rng(21)
    x = np.linspace(-1, 1, shape[0])[:, None, None]
    y = np.linspace(-1, 1, shape[1])[None, :, None]
    depth = np.linspace(0, 1, shape[2])[None, None, :]
    bed = 0.25 + 0.12 * np.exp(-3 * (x**2 + 0.5 * y**2)) + 0.03 * np.sin(4 * x + 3 * y)
    p = np.broadcast_to(1.0 + 0.3 * depth, shape).copy()
    for _ in range(5):
        p += rng.uniform(0.05, 0.3) * (depth > bed)
        bed = bed + rng.uniform(0.08, 0.16) + 0.03 * rng.normal() * x + 0.03 * rng.normal() * y
    return p, p / 1.8, 0.6 + 0.4 * p**0.25


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    shape = (192, 192, 160) if large else (32, 32, 28)
    p, s, density = rock(shape)
    time_step = 0.45 / p.max()
    shear = density * s**2
    lame = density * p**2 - 2 * shear
    moduli = [(time_step * modulus).astype(np.float32) for modulus in (lame, shear)]
    buoyancy = (time_step / density).astype(np.float32)
    damp = np.ones((3, max(shape)), np.float32)
    for axis, extent in enumerate(shape):
        distance = np.minimum(np.arange(extent), np.arange(extent)[::-1])
        damp[axis, :extent] = np.exp(-((0.25 * np.maximum(0, 1 - distance / (extent / 8))) ** 2))
    velocity = np.zeros((3, *shape), np.float32)
    stress = np.zeros((6, *shape), np.float32)
    source = tuple(slice(n * 9 // 20 - 6, n * 9 // 20 + 7) for n in shape)
    distance = np.arange(-6, 7) / 2.0
    ball = np.exp(-sum(np.meshgrid(*[distance**2] * 3, indexing="ij"))).astype(np.float32)
    width = 4 / s.min()
    early, late = (210, 460) if large else (30, 60)
    for count in range(late):
        move(velocity, stress, buoyancy, damp)
        strain(velocity, stress, *moduli, damp)
        phase = count * time_step / width - 3
        rate = np.float32(-2 * phase * np.exp(-(phase**2))) * ball
        stress[4][source] += rate
        stress[3][source] += rate / 3
        if count + 1 == early:
            yield "elastic_velocity_early", velocity[2].copy()
    yield "elastic_velocity_late", velocity[2]
    yield "elastic_stress_late", stress[3]
