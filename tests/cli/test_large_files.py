"""Files larger than the working set: at most 256 MiB of memory, whatever the size."""

import os

import pytest

MIB = 1024 * 1024
BYTES = 600 * MIB


def peak_bytes(tensorpress, *arguments):
    """Runs the program and returns the most memory it held at any time."""
    argv = [tensorpress.path, *map(str, arguments)]
    pid = os.posix_spawn(
        argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return usage.ru_maxrss * 1024


@pytest.mark.parametrize("shape", ["150x1024x1024", "12800x12288", "157286400"])
def test_large_files_need_little_memory(tensorpress, shape):
    source, stream, copy = (tensorpress.directory / name for name in ("x.raw", "x.tpz", "y.raw"))
    with open(source, "wb") as file:
        file.truncate(BYTES)
    raw = ["--shape", shape, "--dtype", "f32"]
    assert peak_bytes(tensorpress, "compress", source, "-o", stream, "--cf", 1, "--threads", 4, *raw) < 256 * MIB
    assert peak_bytes(tensorpress, "decompress", stream, "-o", copy, "--threads", 4) < 256 * MIB
    assert copy.stat().st_size == BYTES
    assert peak_bytes(tensorpress, "verify", source, stream, *raw) < 256 * MIB
    copy.unlink()
