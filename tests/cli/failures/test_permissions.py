"""Permissions and times of the input go over to what is made of it, as with zstd and gzip."""

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

TIME = 1_000_000_000_123_456_789  # in nanoseconds


@pytest.fixture
def secret(tensorpress, smooth):
    """x.npy and w.nc, which only their owner may read, from long ago."""
    netCDF4 = pytest.importorskip("netCDF4")
    field = smooth((16, 32))
    np.save(tensorpress.directory / "x.npy", field)
    field.tofile(tensorpress.directory / "x_16x32.f32")
    with netCDF4.Dataset(tensorpress.directory / "w.nc", "w") as file:
        for axis, extent in zip("yx", field.shape, strict=True):
            file.createDimension(axis, extent)
        file.createVariable("T", "f4", ("y", "x"))[:] = field
    for name in os.listdir(tensorpress.directory):
        os.chmod(tensorpress.directory / name, 0o600)
        os.utime(tensorpress.directory / name, ns=(TIME, TIME))
    return tensorpress.directory


def mode_and_time(path):
    status = os.stat(path)
    return stat.S_IMODE(status.st_mode), status.st_mtime_ns


WAYS = {
    "compress": (["compress", "x.npy", "--abs", "1"], "x.tpz"),
    "raw": (["compress", "x_16x32.f32", "--abs", "1"], "x_16x32.tpz"),
    "variable": (["compress", "w.nc", "--var", "T", "--abs", "1"], "w.T.tpz"),
    "rewrite": (["compress", "w.nc", "--abs", "1", "-o", "small.nc"], "small.nc"),
    "zfp": (["zfp", "-f", "-2", "32", "16", "-a", "1", "-i", "x_16x32.f32", "-z", "z"], "z"),
}


@pytest.mark.parametrize("arguments, output", WAYS.values(), ids=WAYS.keys())
def test_a_secret_stays_one(tensorpress, secret, arguments, output):
    tensorpress(*arguments)
    assert mode_and_time(secret / output) == (0o600, TIME)


@pytest.mark.parametrize("output", ["y.npy", "y.raw", "y.nc", "y.cdf"])
def test_what_is_decompressed_is_like_the_stream(tensorpress, secret, output):
    tensorpress("compress", "x.npy", "--abs", "1")
    os.chmod(secret / "x.tpz", 0o640)
    tensorpress("decompress", "x.tpz", "-o", output)
    assert mode_and_time(secret / output) == (0o640, TIME)


def test_with_force_the_mode_is_the_inputs(tensorpress, secret):
    (secret / "x.tpz").write_bytes(b"old")
    os.chmod(secret / "x.tpz", 0o644)
    tensorpress("compress", "x.npy", "--abs", "1", "--force")
    assert mode_and_time(secret / "x.tpz") == (0o600, TIME)


def test_a_pipe_has_no_mode_to_keep(tensorpress, secret):
    before = os.umask(0o022)
    try:
        content = (secret / "x.npy").read_bytes()
        tensorpress("compress", "-", "--abs", "1", "-o", "p.tpz", stdin=content)
    finally:
        os.umask(before)
    assert mode_and_time(secret / "p.tpz")[0] == 0o644


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_root_keeps_the_owner(tensorpress, secret):
    os.chown(secret / "x.npy", 12345, 23456)
    tensorpress("compress", "x.npy", "--abs", "1")
    status = os.stat(secret / "x.tpz")
    assert (status.st_uid, status.st_gid) == (12345, 23456)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_nobody_else_can_read_it_while_it_is_made(tensorpress, secret):
    """The unfinished output is looked at through /proc."""
    np.save(secret / "large.npy", np.random.default_rng(1).standard_normal((64, 256, 256), "f4"))
    os.chmod(secret / "large.npy", 0o600)
    before = os.umask(0)
    try:
        running = subprocess.Popen(
            [tensorpress.path, "compress", "large.npy", "--abs", "1e-6", "--threads", "1"],
            cwd=secret,
            stdout=subprocess.DEVNULL,
        )
        modes = set()
        while running.poll() is None:
            modes |= open_modes(running.pid, secret)
        assert running.returncode == 0
    finally:
        os.umask(before)
    assert modes <= {0o600}
    assert mode_and_time(secret / "large.tpz")[0] == 0o600


def open_modes(process, folder):
    """Of the files that a process writes below a folder."""
    modes = set()
    try:
        for entry in os.scandir(f"/proc/{process}/fd"):
            target = os.readlink(entry.path)
            if target.startswith(str(folder)) and not target.endswith("large.npy"):
                status = os.stat(entry.path)
                if stat.S_ISREG(status.st_mode):
                    modes.add(stat.S_IMODE(status.st_mode))
    except OSError:
        pass  # it ended meanwhile
    return modes
