"""Two substances that react and diffuse (Gray-Scott; patterns of Pearson, 1993) in a periodic cube.

du/dt = Du laplace u - u v^2 + feed (1 - u),    dv/dt = Dv laplace v + u v^2 - (feed + kill) v
"""

from collections.abc import Iterator

import numba
import numpy as np


@numba.njit(parallel=True, cache=True)
def step(u, v, new_u, new_v, feed, kill):
    n = u.shape[0]
    six, one = np.float32(6), np.float32(1)
    diffusion_u, diffusion_v = np.float32(0.16), np.float32(0.08)
    for i in numba.prange(n):
        before, after = (i - 1) % n, (i + 1) % n
        for j in range(n):
            left, right = (j - 1) % n, (j + 1) % n
            for k in range(n):
                down = k - 1 if k > 0 else n - 1
                up = k + 1 if k < n - 1 else 0
                a, b = u[i, j, k], v[i, j, k]
                spread_u = u[before, j, k] + u[after, j, k] + u[i, left, k] + u[i, right, k]
                spread_u += u[i, j, down] + u[i, j, up] - six * a
                spread_v = v[before, j, k] + v[after, j, k] + v[i, left, k] + v[i, right, k]
                spread_v += v[i, j, down] + v[i, j, up] - six * b
                reaction = a * b * b
                new_u[i, j, k] = a + diffusion_u * spread_u - reaction + feed * (one - a)
                new_v[i, j, k] = b + diffusion_v * spread_v + reaction - (feed + kill) * b


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    points, seeds, steps = (160, 60, 2600) if large else (32, 6, 300)
    rng = np.random.default_rng(51)
    u = np.ones((points,) * 3, np.float32)
    v = np.zeros_like(u)
    for corner in rng.integers(0, points - 8, (seeds, 3)):
        box = tuple(slice(start, start + 8) for start in corner)
        u[box], v[box] = 0.5, 0.25 + 0.05 * rng.random((8, 8, 8))
    new_u, new_v = np.empty_like(u), np.empty_like(v)
    for _ in range(steps):
        step(u, v, new_u, new_v, np.float32(0.035), np.float32(0.0625))
        u, new_u, v, new_v = new_u, u, new_v, v
    yield "gray_scott_concentration", v
