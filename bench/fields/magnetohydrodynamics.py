"""A conducting incompressible fluid and its magnetic field in a periodic cube.

    du/dt = u x curl u + curl b x b - grad P + viscosity laplace u
    db/dt = curl (u x b) + resistivity laplace b,    div u = div b = 0

Pseudo-spectral with the two-thirds rule; b in units of the Alfven velocity.
"""

from collections.abc import Iterator

import numpy as np
from spectral import PeriodicCube, advance, cross, time_step


def change(cube: PeriodicCube, both: np.ndarray) -> np.ndarray:
    """Of the flow and the magnetic field, three components each."""
    u, vorticity = cube.inverse(both[:3]), cube.inverse(cube.curl(both[:3]))
    b, current = cube.inverse(both[3:]), cube.inverse(cube.curl(both[3:]))
    force = cube.forward(cross(u, vorticity) + cross(current, b)) * cube.kept
    induction = cube.curl(cube.forward(cross(u, b)) * cube.kept)
    return np.concatenate([cube.without_divergence(force), induction])


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    cube = PeriodicCube(128 if large else 24)
    flow = cube.random_solenoidal(seed=11, peak=2.5)
    both = np.concatenate([flow, cube.random_solenoidal(seed=12, peak=2.0)])
    time, end = 0.0, 0.7 if large else 0.3
    while time < end:
        # Alfven waves run along the magnetic field, on top of the flow.
        step = time_step(cube, 1.5 * np.abs(cube.inverse(both)).max())
        both = advance(cube, both, lambda spectrum: change(cube, spectrum), 1 / 140, step)
        time += step
    yield "mhd_magnetic", cube.inverse(both[3]).astype(np.float32)
    yield "mhd_current", cube.inverse(cube.curl(both[3:])[2]).astype(np.float32)
