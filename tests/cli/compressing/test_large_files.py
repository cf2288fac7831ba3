"""Files larger than the working set: at most 256 MiB of memory, whatever the size."""

import subprocess
import sys

import pytest

MIB = 1024 * 1024
BYTES = 600 * MIB


# Systems count what the starting process held as the program's, so a small one starts it.
STARTER = """
import os, sys
silence = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silence)
_, status, usage = os.wait4(pid, 0)
assert os.waitstatus_to_exitcode(status) == 0
print(usage.ru_maxrss)
"""


def peak_bytes(tensorpress, *arguments):
    """Runs the program and returns the most memory it held at any time."""
    argv = [sys.executable, "-c", STARTER, str(tensorpress.path), *map(str, arguments)]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout) * 1024


@pytest.fixture
def source(tensorpress):
    path = tensorpress.directory / "x.raw"
    with open(path, "wb") as file:
        file.truncate(BYTES)  # zeros that take no room on the disk
    return path


@pytest.mark.parametrize("shape", ["150x1024x1024", "157286400"])
def test_large_files_need_little_memory(tensorpress, source, shape):
    stream = tensorpress.directory / "x.tpz"
    raw = ["--shape", shape, "--dtype", "f32"]
    assert (
        peak_bytes(tensorpress, "compress", source, "-o", stream, "--cf", 1, "--threads", 4, *raw)
        < 256 * MIB
    )
    assert (
        peak_bytes(tensorpress, "decompress", stream, "-o", "/dev/null", "--threads", 4) < 256 * MIB
    )
    assert peak_bytes(tensorpress, "verify", source, stream, "--threads", 4, *raw) < 256 * MIB


def test_chunks_that_cut_across_a_large_file_need_little_memory(tensorpress, source):
    stream, copy = (tensorpress.directory / name for name in ("x.tpz", "y.raw"))
    flags = ["--shape", "12800x12288", "--dtype", "f32", "--chunk-shape", "2048x1024", "--cf", 1]
    assert (
        peak_bytes(tensorpress, "compress", "--codec", "dct-chop", source, "-o", stream, *flags)
        < 256 * MIB
    )
    assert peak_bytes(tensorpress, "decompress", stream, "-o", copy) < 256 * MIB
    assert copy.stat().st_size == BYTES
    copy.unlink()
