"""More than 2^32 elements through the program, from a sparse file, within a small memory. Run by
./dev test --full."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(
    os.environ.get("TENSORPRESS", ROOT / "build" / "bin" / "tensorpress")
).absolute()
MIB = 1 << 20
ELEMENTS = (1 << 32) + 4096 * 3


def peak_bytes(*arguments):
    """Runs the program and returns the most memory it held at any time, or this Python if that is
    more."""
    null = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    argv = [str(PROGRAM), *map(str, arguments)]
    _, status, usage = os.wait4(os.posix_spawn(argv[0], argv, os.environ, file_actions=null), 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return usage.ru_maxrss * 1024


@pytest.fixture
def source(tmp_path):
    """u8 zeros that take no room on the disk, and three bytes far apart."""
    path = tmp_path / "x.raw"
    with open(path, "wb") as file:
        file.truncate(ELEMENTS)
        for at in (0, (1 << 32) + 5, ELEMENTS - 1):
            file.seek(at)
            file.write(b"\x01")
    return path


@pytest.mark.parametrize("shape", [str(ELEMENTS), f"{ELEMENTS // 4096}x4096"])
def test_more_than_2_to_the_32_elements_in_little_memory(source, tmp_path, shape):
    stream, copy = tmp_path / "x.tpz", tmp_path / "y.raw"
    raw = ["--shape", shape, "--dtype", "u8"]
    assert (
        peak_bytes("compress", source, "-o", stream, "--codec", "mask", "--threads", 2, *raw)
        < 256 * MIB
    )
    assert peak_bytes("decompress", stream, "-o", "/dev/null", "--threads", 2) < 256 * MIB
    info = subprocess.run(
        [PROGRAM, "info", stream, "--json"], capture_output=True, check=True
    ).stdout
    assert b"4294979584" in info or shape.encode() in info
    # The far end, through the index.
    rows = ELEMENTS // 4096
    part = f"{rows - 2}:,:" if "x" in shape else f"{ELEMENTS - 8192}:"
    subprocess.run(
        [PROGRAM, "decompress", stream, "--slice", part, "--raw", "-o", copy],
        check=True,
        capture_output=True,
    )
    assert copy.read_bytes() == bytes(8191) + b"\x01"
