"""The large field of the demo: it follows its equation, and its bits are the same everywhere."""

import hashlib
import importlib.util

import numpy as np
from conftest import ROOT

spec = importlib.util.spec_from_file_location("waves", ROOT / "examples" / "demo" / "waves.py")
waves = importlib.util.module_from_spec(spec)
spec.loader.exec_module(waves)

SMALL = (24, 28, 32)


def reference(shape, steps):
    """The same equation on whole arrays, in double precision."""
    scaled = waves._velocity(shape).astype(np.float64) ** 2
    now = waves._pulses(shape).astype(np.float64)
    before = now.copy()
    inner = (slice(2, -2),) * 3
    for _ in range(steps):
        laplace = np.zeros(shape)
        for axis in range(3):
            for move, weight in ((0, -5 / 2), (1, 4 / 3), (-1, 4 / 3), (2, -1 / 12), (-2, -1 / 12)):
                laplace += weight * np.roll(now, move, axis)
        after = before.copy()
        after[inner] = (2 * now - before + scaled * laplace)[inner]
        before, now = now, after
    return now


def test_the_field_is_large():
    assert 4 * np.prod(waves.SHAPE) >= 8_000_000


def test_it_follows_the_wave_equation():
    found = waves.waves(SMALL, 60)
    expected = reference(SMALL, 60)
    assert found.dtype == np.float32 and found.shape == SMALL
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()


def test_waves_stay_finite_and_do_not_grow():
    assert np.abs(waves.waves(SMALL, 600)).max() < 2


def test_its_bits_are_the_same_on_every_machine():
    """Sums, products and quotients of float32 in a fixed order: no library decides about them."""
    digest = hashlib.sha256(waves.waves(SMALL, 60).astype("<f4").tobytes()).hexdigest()
    assert digest == "dc91e607195915e1d2e514c752752d06d3fa99753415c5c6f0d104aa3cd2c05c"
