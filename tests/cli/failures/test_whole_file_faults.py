"""Whole NetCDF and HDF5 files on disks that are full or broken: one sentence and status 2 whatever
the moment, never a signal, and the old file stays.

HDF5 keeps chunks in a cache and writes them when it closes a file, or when the process ends.
"""

import resource
import shutil
import subprocess

import h5py
import netCDF4
import numpy as np
import pytest
from test_faults import OLD, Faulty, failing_io, small_disk  # noqa: F401

REPRODUCIBLE = {"SOURCE_DATE_EPOCH": "1800000000"}


def write_netcdf(path, form):
    generator = np.random.default_rng(5)
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("time", None)
        file.createDimension("x", 400)
        file.title = "a title"
        for name in ("a", "b"):
            variable = file.createVariable(name, "f4", ("time", "x"))
            variable[0:20] = generator.standard_normal((20, 400))
        file.createVariable("x", "f4", ("x",))[:] = np.arange(400)


def write_hdf5(path):
    generator = np.random.default_rng(5)
    with h5py.File(path, "w") as file:
        for name in ("a", "group/b"):
            data = generator.standard_normal((40, 40)).astype("f4")
            file.create_dataset(name, data=data, chunks=(10, 40))
        file["whole"] = np.arange(1000)


@pytest.fixture
def folder(tensorpress):
    """A folder with an input of each kind, and what the jobs below need."""
    inner = tensorpress.directory / "here"
    inner.mkdir()
    tensorpress.directory = inner
    write_netcdf(inner / "classic.nc", "NETCDF3_CLASSIC")
    write_netcdf(inner / "four.nc", "NETCDF4")
    write_hdf5(inner / "in.h5")
    tensorpress("compress", "four.nc", "--abs", "1e-3", "-o", "small.nc")
    tensorpress("compress", "four.nc", "--var", "a", "--abs", "1e-3", "-o", "a.tpz")
    return inner


JOBS = {
    "netCDF-4": ["compress", "--force", "four.nc", "--abs", "1e-3", "-o", "out.nc"],
    "classic": ["compress", "--force", "classic.nc", "--abs", "1e-3", "-o", "out.nc"],
    "HDF5": ["compress", "--force", "in.h5", "--abs", "1e-3", "-o", "out.h5"],
    "exact": ["compress", "--force", "classic.nc", "--abs", "0", "-o", "out.nc"],
    "undo": ["decompress", "--force", "small.nc", "-o", "out.nc"],
    "decompress": ["decompress", "--force", "a.tpz", "-o", "out.nc"],
    "decompress classic": ["decompress", "--force", "a.tpz", "-o", "out.cdf"],
}
all_jobs = pytest.mark.parametrize("job", JOBS.values(), ids=JOBS.keys())


def check_refused(done, words):
    assert done.returncode == 2, done
    said = done.stderr.decode()
    assert said.startswith("tensorpress: cannot write 'out."), said
    assert words in said and said.count("\n") == 1 and "skip-corrupt" not in said, said


@all_jobs
def test_at_every_limit_of_a_file_s_size_it_is_one_sentence_and_the_old_file_stays(
    tensorpress, folder, job
):
    output = folder / job[-1]
    tensorpress(*job, environment=REPRODUCIBLE)
    complete = output.read_bytes()
    before = sorted(each.name for each in folder.iterdir())
    step = max(len(complete) // 40, 1)
    refused = 0
    for limit in [0, 1, *range(step, len(complete), step), len(complete) - 1, 10 * len(complete)]:
        output.write_bytes(OLD)
        done = subprocess.run(
            [tensorpress.path, *job],
            cwd=folder,
            capture_output=True,
            env={**REPRODUCIBLE},
            preexec_fn=lambda limit=limit: resource.setrlimit(
                resource.RLIMIT_FSIZE, (limit, limit)
            ),
        )
        assert sorted(each.name for each in folder.iterdir()) == before
        if limit >= len(complete) and done.returncode == 0:
            assert output.read_bytes() == complete
            continue
        check_refused(done, "File too large")
        assert output.read_bytes() == OLD
        refused += 1
    assert refused >= 40 and done.returncode == 0


@all_jobs
def test_whichever_write_fails_it_is_one_sentence_and_the_old_file_stays(
    tensorpress,
    failing_io,  # noqa: F811
    folder,
    job,
):
    output = folder / job[-1]
    faulty = Faulty(tensorpress, failing_io)
    faulty.environment = lambda how, count=None, base=faulty.environment: {
        **base(how, count),
        **REPRODUCIBLE,
    }
    output.write_bytes(OLD)
    before = sorted(each.name for each in folder.iterdir())
    calls = faulty.calls(*job)["write"]
    complete = output.read_bytes()
    refused = 0
    for number in range(1, calls + 1):
        output.write_bytes(OLD)
        done = faulty.run(f"write:{number}:EIO", *job)
        assert sorted(each.name for each in folder.iterdir()) == before
        # The beginning of a file is tried twice, and some writes are not needed: what a library
        # writes a second time, or does to a file that is thrown away.
        if done.returncode == 0:
            assert output.read_bytes() == complete
            continue
        check_refused(done, "Input/output error")
        assert output.read_bytes() == OLD, f"write {number} of {calls}"
        refused += 1
    assert refused >= max(calls - 3, 3)


@pytest.mark.parametrize("name", ["classic.nc", "four.nc", "in.h5"])
def test_on_a_full_disk_the_old_file_stays_and_nothing_is_left_behind(
    tensorpress,
    small_disk,  # noqa: F811
    name,
):
    folder = tensorpress.directory / "disk"
    folder.mkdir()
    noise = np.random.default_rng(4).standard_normal((100, 1000), dtype="f4")
    source = tensorpress.directory / name
    if name.endswith(".h5"):
        with h5py.File(source, "w") as file:
            file.create_dataset("a", data=noise, chunks=(10, 1000))
    else:
        form = "NETCDF3_CLASSIC" if name == "classic.nc" else "NETCDF4"
        with netCDF4.Dataset(source, "w", format=form) as file:
            file.createDimension("y", 100)
            file.createDimension("x", 1000)
            file.createVariable("a", "f4", ("y", "x"))[...] = noise
    # A name without an extension would be a .tpz; the disk's file is called `out`.
    link = tensorpress.directory / "link.nc"
    link.symlink_to("disk/out")
    argv = [tensorpress.path, "compress", "--force", name, "--abs", "1e-6", "-o", "link.nc"]
    done, content, names = small_disk(argv, folder)
    said = done.stderr.decode()
    assert done.returncode == 2 and "No space left" in said and said.count("\n") == 1, done
    assert content == OLD and names == "out\n"


def test_an_hdf5_file_that_could_not_be_written_does_not_disturb_the_next_run(tensorpress, folder):
    """Nothing of a failed run is left in the way: the same command works when there is room."""
    job = JOBS["netCDF-4"]
    limited = 'ulimit -f 4; exec "$0" "$@"'
    done = subprocess.run(
        [shutil.which("bash"), "-c", limited, tensorpress.path, *job],
        cwd=folder,
        capture_output=True,
    )
    check_refused(done, "File too large")
    tensorpress(*job)
    with netCDF4.Dataset(folder / "out.nc") as new, netCDF4.Dataset(folder / "four.nc") as old:
        assert np.abs(new["a"][...] - old["a"][...]).max() <= 1e-3
