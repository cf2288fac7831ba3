"""Decaying turbulence of an incompressible fluid in a periodic cube, from large random eddies.

    du/dt = u x curl u - grad P + viscosity laplace u,    div u = 0

Pseudo-spectral with the two-thirds rule (Orszag), viscosity by an integrating factor. The pressure
is P minus the kinetic energy, from Poisson's equation.
"""

from collections.abc import Iterator

import numpy as np
from spectral import PeriodicCube, advance, cross, time_step


def acceleration(cube: PeriodicCube, spectrum: np.ndarray) -> np.ndarray:
    velocity, vorticity = cube.inverse(spectrum), cube.inverse(cube.curl(spectrum))
    return cube.without_divergence(cube.forward(cross(velocity, vorticity)) * cube.kept)


def pressure(cube: PeriodicCube, spectrum: np.ndarray) -> np.ndarray:
    velocity, vorticity = cube.inverse(spectrum), cube.inverse(cube.curl(spectrum))
    force = cube.forward(cross(velocity, vorticity))
    total = -1j * (cube.wave * force).sum(0) * cube.inverse_square
    return cube.inverse(total) - (velocity**2).sum(0) / 2


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    cube = PeriodicCube(128 if large else 24)
    spectrum = cube.random_solenoidal(seed=1, peak=3.0)
    time, end = 0.0, 1.0 if large else 0.3
    while time < end:
        step = time_step(cube, np.abs(cube.inverse(spectrum)).max())
        spectrum = advance(cube, spectrum, lambda s: acceleration(cube, s), 1 / 160, step)
        time += step
    yield "turbulence_velocity", cube.inverse(spectrum[0]).astype(np.float32)
    yield "turbulence_vorticity", cube.inverse(cube.curl(spectrum)[2]).astype(np.float32)
    yield "turbulence_pressure", pressure(cube, spectrum).astype(np.float32)
