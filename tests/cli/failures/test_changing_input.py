"""A file that another program changes while it is read: one sentence, and nothing is written.

A library that tests/faults/touching_reads.c says how to use is loaded before the program and gives
the file another time of change at one of its reads.
"""

import os
import shutil
import subprocess

import h5py
import netCDF4
import numpy as np
import pytest
from conftest import ROOT
from netcdf_files import needs_plugin


@pytest.fixture(scope="module")
def touching(tmp_path_factory):
    library = tmp_path_factory.mktemp("faults") / "touching_reads.so"
    source = ROOT / "tests" / "faults" / "touching_reads.c"
    compiler = shutil.which("cc") or shutil.which("gcc")
    subprocess.run(
        [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"],
        check=True,
    )
    return library


@pytest.fixture
def inputs(tensorpress, smooth):
    folder = tensorpress.directory / "here"
    folder.mkdir()
    tensorpress.directory = folder
    data = smooth((200, 90))
    np.save(folder / "x.npy", data)
    data.tofile(folder / "x.raw")
    for name, form in [("classic.nc", "NETCDF3_CLASSIC"), ("four.nc", "NETCDF4")]:
        with netCDF4.Dataset(folder / name, "w", format=form) as file:
            file.createDimension("y", 200)
            file.createDimension("x", 90)
            file.createVariable("tas", "f4", ("y", "x"))[:] = data
            file.createVariable("n", "i4", ("x",))[:] = np.arange(90)
    with h5py.File(folder / "x.h5", "w") as file:
        file["field"] = data
        file["numbers"] = np.arange(1000)
    return folder


JOBS = {
    "npy": ("x.npy", ["--rel", "1e-3", "-o", "out.tpz"]),
    "raw": ("x.raw", ["--shape", "200x90", "--dtype", "f32", "--abs", "0.1", "-o", "out.tpz"]),
    "variable": ("four.nc", ["--var", "tas", "--rel", "1e-3", "-o", "out.tpz"]),
    "classic variable": ("classic.nc", ["--var", "tas", "--abs", "0.1", "-o", "out.tpz"]),
    "netCDF-4": ("four.nc", ["--rel", "1e-3", "-o", "out.nc"]),
    "classic": ("classic.nc", ["--abs", "0.1", "-o", "out.nc"]),
    "HDF5": ("x.h5", ["--abs", "0.1", "-o", "out.h5"]),
}


def run(tensorpress, touching, arguments, **extra):
    environment = {**os.environ, "LD_PRELOAD": str(touching), **extra}
    return subprocess.run(
        [tensorpress.path, *arguments],
        cwd=tensorpress.directory,
        env=environment,
        capture_output=True,
        timeout=60,
    )


@needs_plugin
@pytest.mark.parametrize("name, options", JOBS.values(), ids=JOBS.keys())
def test_an_input_that_changes_is_told_and_nothing_is_written(
    tensorpress, touching, inputs, name, options
):
    arguments = ["compress", name, *options]
    count = inputs.parent / "count.txt"
    before = sorted(os.listdir(inputs))
    done = run(tensorpress, touching, arguments, TOUCHED=name, TOUCHED_COUNT=str(count))
    assert done.returncode == 0, done
    os.remove(inputs / options[-1])
    reads = int(count.read_text())
    # The first reads only find out what kind of file it is.
    late = [reads] if options[-1] == "out.tpz" else range(reads // 2, reads + 1)
    for number in late:
        os.utime(inputs / name, (2, 2))
        done = run(tensorpress, touching, arguments, TOUCHED=name, TOUCHED_AT=str(number))
        assert done.returncode == 2, (number, reads, done)
        said = done.stderr.decode()
        assert said.count("\n") == 1 and f"'{name}' changed while it was read" in said
        assert sorted(os.listdir(inputs)) == before


@needs_plugin
def test_verify_says_so_too(tensorpress, touching, inputs):
    tensorpress("compress", "four.nc", "--abs", "0.1", "-o", "out.nc")
    count = inputs.parent / "count.txt"
    arguments = ["verify", "four.nc", "out.nc"]
    run(tensorpress, touching, arguments, TOUCHED="out.nc", TOUCHED_COUNT=str(count))
    last = count.read_text().strip()
    done = run(tensorpress, touching, arguments, TOUCHED="out.nc", TOUCHED_AT=last)
    assert done.returncode == 2 and b"'out.nc' changed while it was read" in done.stderr
