"""The package as it is installed where the tests run; ./dev build puts it into .venv.

Tests lie in a folder for each subject. What tests of several folders share lies beside this file,
where all of them can import it; names of test files differ over all folders.
"""

import os
import pathlib
import warnings

import numpy as np
import pytest

import tensorpress

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("TENSORPRESS", ROOT / "build" / "bin" / "tensorpress"))
FERRET = pathlib.Path("/usr/share/ferret-vis/data")

FLOATS = ("float32", "float64", "float16")

# PyTorch 2.13's oneDNN takes some virtual Xeons for the newest CPUs, and F.linear of float16 ends
# the process there with an illegal instruction; one step below that it does not. Read by oneDNN at
# its first product, here and in the processes that tests start.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX10_1_512")


def waves(shape, dtype="float32"):
    """Smooth along every axis with a little noise, between -1 and 1."""
    generator = np.random.default_rng(5)
    total = np.zeros(shape)
    for axis, extent in enumerate(shape):
        along = np.sin(np.arange(extent) * 0.2 / (axis + 1) + axis)
        total = total + along.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    total = total + 0.01 * generator.standard_normal(shape)
    return (total / max(1.0, np.abs(total).max(initial=0))).astype(dtype)


def error_of(copy, original):
    """The largest difference, computed in float64."""
    return np.abs(np.asarray(copy, "float64") - np.asarray(original, "float64")).max(initial=0)


def real_field(name, variable):
    """A variable of Debian's ferret-datasets, and its fill value: (array, fill)."""
    path = FERRET / name
    if not path.exists():
        pytest.skip(f"{path} is missing; apt-get install ferret-datasets")
    netcdf = pytest.importorskip("netCDF4")
    with warnings.catch_warnings(), netcdf.Dataset(path) as dataset:
        warnings.simplefilter("ignore")
        found = dataset.variables[variable]
        found.set_auto_maskandscale(False)
        return np.asarray(found[:]), float(found.getncattr("missing_value"))


@pytest.fixture
def field():
    return waves((20, 30, 40))


@pytest.fixture
def tpz(tmp_path, field):
    """A file of several chunks."""
    path = tmp_path / "field.tpz"
    path.write_bytes(tensorpress.compress(field, absolute=1e-3, chunk_shape=(8, 16, 16)))
    return path


@pytest.fixture
def one_thread():
    """PyTorch with one thread (small products are slower when threads wait for each other) and
    numbers drawn alike; for modules with `pytestmark = pytest.mark.usefixtures("one_thread")`."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(3)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Two processes that a module of tests shares."""
    from two_ranks import Ranks  # needs torch

    pair = Ranks(tmp_path_factory.mktemp("gloo") / "rendezvous")
    yield pair
    pair.stop()
