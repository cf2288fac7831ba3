"""Two phases that separate (spinodal decomposition) in a periodic cube.

    dc/dt = laplace (c^3 - c - gradient_energy laplace c)

Fourier in space; the stiff terms implicit, with the stabilizing constant of Eyre's splitting
(1998).
"""

from collections.abc import Iterator

import numpy as np
from scipy import fft
from spectral import WORKERS, PeriodicCube


def run(large: bool) -> Iterator[tuple[str, np.ndarray]]:
    cube = PeriodicCube(144 if large else 24)
    cell = 1.0
    square = cube.square * (2 * np.pi / (cube.points * cell)) ** 2
    rng = np.random.default_rng(31)
    shape = (cube.points,) * 3
    concentration = -0.1 + 0.05 * rng.standard_normal(shape, dtype=np.float32)
    spectrum = cube.forward(concentration)
    time_step, gradient_energy, stabilizer = 0.4, 0.8, 2.0
    implicit = 1 + time_step * square * (stabilizer + gradient_energy * square)
    early, late = (60, 500) if large else (30, 80)
    for count in range(late):
        explicit = concentration**3 - (1 + stabilizer) * concentration
        spectrum = (spectrum - time_step * square * cube.forward(explicit)) / implicit
        concentration = fft.irfftn(spectrum, s=shape, workers=WORKERS)
        if count + 1 == early:
            yield "cahn_hilliard_early", concentration.astype(np.float32)
    yield "cahn_hilliard_late", concentration.astype(np.float32)
