"""Runs the built program and reads what a person would see.

The program is named by the environment variable TENSORPRESS (default: build/bin/tensorpress).
"""

import json
import os
import pathlib
import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(
    os.environ.get("TENSORPRESS", ROOT / "build" / "bin" / "tensorpress")
).absolute()


# h5py and netCDF4 bring an HDF5 each, which looks for our filter here when it is first used.
os.environ.setdefault("HDF5_PLUGIN_PATH", str(ROOT / "build" / "lib" / "hdf5" / "plugin"))


@dataclass
class Outcome:
    status: int
    out: bytes
    err: str

    @property
    def json(self):
        # parse_constant: NaN and Infinity are not JSON, and Python would let them pass.
        return json.loads(self.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


class Program:
    """Calls `tensorpress ARGUMENTS` in a directory of its own."""

    def __init__(self, directory):
        self.path = str(PROGRAM)
        self.directory = directory

    def __call__(self, *arguments, stdin=b"", environment=None, status=0):
        done = subprocess.run(
            [self.path, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=self.directory,
            env={**os.environ, **(environment or {})},
            timeout=120,
        )
        outcome = Outcome(done.returncode, done.stdout, done.stderr.decode())
        assert outcome.status == status, outcome
        return outcome

    def refuses(self, *arguments, **options):
        """Status 2 and one sentence on stderr; returns the sentence."""
        outcome = self(*arguments, status=2, **options)
        assert outcome.out == b""
        assert outcome.err.startswith("tensorpress: "), outcome.err
        assert outcome.err.endswith("\n") and outcome.err.count("\n") == 1, outcome.err
        return outcome.err.removeprefix("tensorpress: ").strip()


@pytest.fixture
def tensorpress(tmp_path):
    assert PROGRAM.is_file(), f"{PROGRAM} is not built; ./dev build makes it"
    return Program(tmp_path)


@pytest.fixture
def smooth():
    """Waves and a little noise, like a picture or a field: smooth(shape, dtype), values in
    0..255."""

    def make(shape, dtype="f4"):
        generator = np.random.default_rng(20241)
        total = np.zeros(shape)
        for axis, extent in enumerate(shape):
            along = np.sin(np.arange(extent) * (0.37 / (axis + 1)) + axis)
            total = total + along.reshape([-1 if a == axis else 1 for a in range(len(shape))])
        total = total + 0.05 * generator.standard_normal(shape)
        scaled = 128 + 127 * total / max(1.0, np.abs(total).max(initial=0))
        return np.asarray(np.rint(scaled) if np.dtype(dtype).kind in "iu" else scaled).astype(dtype)

    return make
