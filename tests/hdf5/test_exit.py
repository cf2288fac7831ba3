"""Files that are still open when a process ends: HDF5 then writes what it has, through our filter,
when most of the process is gone already."""

import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest

PROGRAM = """
import resource, signal, sys
import h5py, numpy as np
from tensorpress.hdf5 import Filter
path, codec, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
values = np.sin(np.arange(256 * 256) / 50).astype("f4").reshape(256, 256)
if codec == "fixed":
    options = Filter("dct-chop", cf=4)
else:
    options = Filter(codec, absolute=1e-3)
file = h5py.File(path, "w")
dataset = file.create_dataset("x", (256, 256), "f4", chunks=(64, 256), **options)
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
dataset[...] = values
# As a program in C that forgets to close: no object of Python closes them.
h5py.h5i.inc_ref(dataset.id)
h5py.h5i.inc_ref(file.id)
print("written")
"""
CODECS = pytest.mark.parametrize("codec", ["dense", "ceresz", "ceresz2", "fixed"])


def run(tmp_path, codec, limit):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "x.h5", codec, str(limit)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=pathlib.Path(__file__).parent,
    )


@CODECS
def test_chunks_that_are_written_when_the_process_ends_are_complete(tmp_path, codec):
    done = run(tmp_path, codec, 0)
    assert done.returncode == 0 and done.stdout == "written\n", done
    values = np.sin(np.arange(256 * 256) / 50).astype("f4").reshape(256, 256)
    with h5py.File(tmp_path / "x.h5") as file:
        error = np.abs(file["x"][...] - values).max()
        assert error <= (0.5 if codec == "fixed" else 1e-3)


@CODECS
@pytest.mark.parametrize("limit", [1, 4096, 6000, 8192])
def test_a_process_whose_disk_is_full_does_not_crash_in_our_filter(tmp_path, codec, limit):
    done = run(tmp_path, codec, limit)
    assert done.returncode in (0, 1), done
