"""The HDF5 filter, used from the programs and libraries that people have.

The plugin is the one in build/lib/hdf5/plugin, or what TENSORPRESS_HDF5_PLUGIN names.
"""

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGIN = pathlib.Path(
    os.environ.setdefault(
        "TENSORPRESS_HDF5_PLUGIN", str(ROOT / "build/lib/hdf5/plugin/libh5tensorpress.so")
    )
)
# netCDF4 has an HDF5 of its own, which looks here; h5py is told by the module itself.
os.environ["HDF5_PLUGIN_PATH"] = str(PLUGIN.parent)

FERRET = pathlib.Path("/usr/share/ferret-vis/data")


@pytest.fixture
def tool(tmp_path):
    """Runs h5repack, ncdump ... in a directory of its own; returns what it printed."""

    def run(*arguments, status=0):
        if shutil.which(arguments[0]) is None:
            pytest.skip(f"{arguments[0]} is not installed")
        done = subprocess.run(
            list(map(str, arguments)), capture_output=True, text=True, cwd=tmp_path, timeout=120
        )
        assert done.returncode == status, (arguments, done.stdout, done.stderr)
        return done.stdout + done.stderr

    return run


@pytest.fixture
def field():
    """Waves and a little noise around 280 with a range of a few units: field(shape, dtype)."""

    def make(shape, dtype="f4"):
        generator = np.random.default_rng(7)
        total = np.full(shape, 280.0) + 0.01 * generator.standard_normal(shape)
        for axis, extent in enumerate(shape):
            wave = np.sin(np.arange(extent) * (0.4 / (axis + 1)) + axis)
            total += wave.reshape([-1 if a == axis else 1 for a in range(len(shape))])
        return total.astype(dtype)

    return make
