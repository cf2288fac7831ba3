"""Fourier transforms on a periodic cube of side 2 pi, and the operators that fluids need."""

import numpy as np
from scipy import fft

WORKERS = 2


class PeriodicCube:
    """Wave numbers of `points`^3. Single precision: it is far finer than any bound used here."""

    def __init__(self, points: int) -> None:
        self.points = points
        full = fft.fftfreq(points, 1 / points).astype(np.float32)
        half = fft.rfftfreq(points, 1 / points).astype(np.float32)
        self.wave = np.stack(np.meshgrid(full, full, half, indexing="ij"))
        self.square = (self.wave**2).sum(0)
        self.inverse_square = 1 / np.where(self.square == 0, 1, self.square)
        # The two-thirds rule: products of two fields then alias into what is cut off.
        self.kept = (np.abs(self.wave) < points / 3).all(0)

    def forward(self, values: np.ndarray) -> np.ndarray:
        return fft.rfftn(values, axes=(-3, -2, -1), workers=WORKERS)

    def inverse(self, spectrum: np.ndarray) -> np.ndarray:
        return fft.irfftn(spectrum, s=(self.points,) * 3, axes=(-3, -2, -1), workers=WORKERS)

    def curl(self, spectrum: np.ndarray) -> np.ndarray:
        return 1j * cross(self.wave, spectrum)

    def without_divergence(self, spectrum: np.ndarray) -> np.ndarray:
        return spectrum - self.wave * ((self.wave * spectrum).sum(0) * self.inverse_square)

    def random_solenoidal(self, seed: int, peak: float) -> np.ndarray:
        """A spectrum of unit mean energy a component, strongest near wave number `peak`."""
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((3,) + (self.points,) * 3, dtype=np.float32)
        length = np.sqrt(np.maximum(self.square, 1e-6))
        spectrum = self.forward(noise) * (length * np.exp(-((length / peak) ** 2)) * self.kept)
        spectrum = self.without_divergence(spectrum)
        return spectrum / np.sqrt((self.inverse(spectrum) ** 2).mean())


def time_step(cube: PeriodicCube, fastest: float) -> np.float32:
    """Stable for the method below, whose limit is 2.8, where the fastest flow is `fastest`."""
    return np.float32(1.8 / (cube.points / 3 * fastest))


def advance(cube: PeriodicCube, spectrum, change, diffusivity: float, step: np.float32):
    """Runge-Kutta of 4th order for ds/dt = change(s) + diffusivity laplace s."""
    decay = np.exp(-diffusivity * cube.square * (step / 2))
    half = step / 2
    first = change(spectrum)
    second = change(decay * (spectrum + half * first))
    third = change(decay * spectrum + half * second)
    fourth = change(decay * (decay * spectrum + step * third))
    middle = decay * (decay * first + 2 * (second + third))
    return decay * (decay * spectrum) + step / 6 * (middle + fourth)


def cross(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.stack(
        [
            left[1] * right[2] - left[2] * right[1],
            left[2] * right[0] - left[0] * right[2],
            left[0] * right[1] - left[1] * right[0],
        ]
    )
