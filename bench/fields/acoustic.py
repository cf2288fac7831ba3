"""A pressure wave on a layered model of the subsurface, as reverse time migration computes it.

    d2p/dt2 = v^2 (laplace p + source)

Leapfrog in time, 8th order in space (coefficients of Fornberg, 1988), a Ricker wavelet near the
surface, and a sponge at five sides (Cerjan et al., 1985). Axes are x, y and depth. Lengths in grid
cells, velocities in cells a millisecond: 2.0 km/s is 0.2 at 10 m a cell.
"""

from collections.abc import Iterator

import numba
import numpy as np

C0, C1, C2, C3, C4 = -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560


def layered_model(shape: tuple[int, int, int], seed: int) -> np.ndarray:
    """Velocity with a gradient in each layer, folded interfaces, one fault and a salt body."""
    rng = np.random.default_rng(seed)
    nx, ny, nz = shape
    x, y = np.meshgrid(np.linspace(0, 1, nx), np.linspace(0, 1, ny), indexing="ij")
    depth = np.arange(nz) / nz
    fold = np.zeros_like(x)
    for wave in range(1, 6):
        angle, phase = rng.uniform(0, 2 * np.pi, 2)
        along = np.cos(angle) * x + np.sin(angle) * y
        fold += 0.03 / wave * np.cos(2 * np.pi * wave * along + phase)
    throw = np.where(x + 0.35 * y > 0.75, 0.045, 0.0)
    velocity = np.full(shape, 0.15) + 0.04 * depth
    for interface in np.linspace(0.12, 0.88, 9) + rng.normal(0, 0.015, 9):
        below = depth[None, None, :] > (interface + interface * fold + throw)[:, :, None]
        velocity += rng.uniform(-0.012, 0.05) * below
    across = ((x - 0.4) / 0.16) ** 2 + ((y - 0.55) / 0.2) ** 2
    salt = across[:, :, None] + ((depth[None, None, :] - 0.62) / 0.17) ** 2 < 1
    velocity[salt] = 0.45
    return velocity


def sponge(extent: int, width: int, open_start: bool) -> np.ndarray:
    """Factors below one within `width` cells of the ends."""
    distance = np.minimum(np.arange(extent), np.arange(extent)[::-1]) if open_start else None
    if distance is None:
        distance = np.arange(extent)[::-1]
    inside = np.maximum(0, width - distance) / width
    return np.exp(-((0.3 * inside) ** 2))


@numba.njit(parallel=True, cache=True)
def step(previous, now, scaled, damp_x, damp_y, damp_z):
    """Writes the next pressure over the previous one. `scaled` is (velocity * time step)^2."""
    nx, ny, nz = now.shape
    two = now.dtype.type(2)
    c0, c1, c2 = now.dtype.type(3 * C0), now.dtype.type(C1), now.dtype.type(C2)
    c3, c4 = now.dtype.type(C3), now.dtype.type(C4)
    for i in numba.prange(4, nx - 4):
        for j in range(4, ny - 4):
            side = damp_x[i] * damp_y[j]
            for k in range(4, nz - 4):
                laplace = c0 * now[i, j, k]
                laplace += c1 * (
                    (now[i - 1, j, k] + now[i + 1, j, k])
                    + (now[i, j - 1, k] + now[i, j + 1, k])
                    + (now[i, j, k - 1] + now[i, j, k + 1])
                )
                laplace += c2 * (
                    (now[i - 2, j, k] + now[i + 2, j, k])
                    + (now[i, j - 2, k] + now[i, j + 2, k])
                    + (now[i, j, k - 2] + now[i, j, k + 2])
                )
                laplace += c3 * (
                    (now[i - 3, j, k] + now[i + 3, j, k])
                    + (now[i, j - 3, k] + now[i, j + 3, k])
                    + (now[i, j, k - 3] + now[i, j, k + 3])
                )
                laplace += c4 * (
                    (now[i - 4, j, k] + now[i + 4, j, k])
                    + (now[i, j - 4, k] + now[i, j + 4, k])
                    + (now[i, j, k - 4] + now[i, j, k + 4])
                )
                factor = side * damp_z[k]
                older = factor * previous[i, j, k]
                value = two * now[i, j, k] - older + scaled[i, j, k] * laplace
                previous[i, j, k] = factor * value


def propagate(velocity: np.ndarray, dtype: type, snapshots: list[int]) -> Iterator[np.ndarray]:
    """Pressure after each number of steps in `snapshots`."""
    shape = velocity.shape
    time_step = 0.45 / velocity.max()
    scaled = ((velocity * time_step) ** 2).astype(dtype)
    damping = [sponge(n, n // 8, axis < 2).astype(dtype) for axis, n in enumerate(shape)]
    now, previous = np.zeros(shape, dtype), np.zeros(shape, dtype)
    frequency = velocity.min() / 9  # nine cells in the shortest wave of that frequency
    source = (shape[0] * 9 // 20, shape[1] // 2, 8)
    for count in range(max(snapshots)):
        argument = (np.pi * frequency * (count * time_step - 1.2 / frequency)) ** 2
        step(previous, now, scaled, *damping)
        previous[source] += (1 - 2 * argument) * np.exp(-argument) * scaled[source]
        previous, now = now, previous
        if count + 1 in snapshots:
            yield now.copy()


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    shape = (256, 256, 192) if large else (40, 40, 32)
    velocity = layered_model(shape, seed=3)
    yield "acoustic_velocity", velocity.astype(np.float32)
    snapshots = [240, 900] if large else [40, 90]
    names = ("acoustic_early", "acoustic_late")
    yield from zip(names, propagate(velocity, np.float32, snapshots), strict=True)
    shape = (160, 160, 128) if large else (32, 32, 24)
    late = next(propagate(layered_model(shape, seed=4), np.float64, [520 if large else 80]))
    yield "acoustic_late_double", late
