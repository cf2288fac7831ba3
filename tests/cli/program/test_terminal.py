"""Terminals: the progress bar, binary data kept off the screen, and Ctrl-C."""

import contextlib
import os
import pty
import select
import signal
import subprocess

import numpy as np

PLANE = bytes(1024 * 1024 * 4)
SHAPE = "100000x1024x1024"  # 400 GB: too long to wait for its end


def start(tensorpress, stderr, *arguments):
    command = [
        tensorpress.path,
        "compress",
        "--codec",
        "dct-chop",
        "-",
        "--shape",
        SHAPE,
        "--dtype",
        "f32",
        "--force",
        "-o",
        "x.tpz",
        *arguments,
    ]
    # A shell that runs the tests in the background ignores SIGINT, and children inherit that.
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(
        command, cwd=tensorpress.directory, stdin=subprocess.PIPE, stderr=stderr, preexec_fn=heed
    )


def feed_until(process, enough):
    """Gives the process zeros until `enough(planes)` is true; returns how many planes went in."""
    planes = 0
    while not enough(planes) and planes < 20000:
        process.stdin.write(PLANE)
        planes += 1
    return planes


def test_long_work_shows_a_bar_on_a_terminal_only(tensorpress):
    ours, theirs = pty.openpty()
    process = start(tensorpress, theirs)
    os.close(theirs)
    seen = b""

    def bar_appeared(_):
        nonlocal seen
        if select.select([ours], [], [], 0)[0]:
            seen += os.read(ours, 4096)
        return b"%" in seen

    planes = feed_until(process, bar_appeared)
    process.kill()
    process.stdin.close()
    process.wait()
    os.close(ours)
    assert b"compressing [" in seen and b"] 0 %" in seen

    process = start(tensorpress, subprocess.PIPE)
    feed_until(process, lambda fed: fed == 2 * planes)
    process.kill()
    assert process.communicate()[1] == b""


def test_an_interrupted_compression_leaves_no_trace(tensorpress):
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        (tensorpress.directory / "x.tpz").write_bytes(b"a good file")
        process = start(tensorpress, subprocess.PIPE)
        feed_until(process, lambda fed: fed == 32)
        process.send_signal(signal_number)
        with contextlib.suppress(BrokenPipeError):
            feed_until(process, lambda _, process=process: process.poll() is not None)
        assert process.communicate()[1] == b""
        assert process.returncode == -signal_number
        assert os.listdir(tensorpress.directory) == ["x.tpz"]
        assert (tensorpress.directory / "x.tpz").read_bytes() == b"a good file"


def test_an_interrupted_netcdf_file_leaves_no_trace(tensorpress):
    zeros = np.zeros((64, 256, 256), "f4")
    np.save(tensorpress.directory / "x.npy", zeros)
    tensorpress("compress", "x.npy", "--codec", "cast", "--chunk-shape", "1x256x256")
    stream = (tensorpress.directory / "x.tpz").read_bytes()
    (tensorpress.directory / "x.nc").write_bytes(b"a good file")
    for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        process = subprocess.Popen(
            [tensorpress.path, "decompress", "-", "--force", "-o", "x.nc"],
            cwd=tensorpress.directory,
            stdin=subprocess.PIPE,
            preexec_fn=lambda number=signal_number: signal.signal(number, signal.SIG_DFL),
        )
        process.stdin.write(stream[: len(stream) // 2])
        process.stdin.flush()
        process.send_signal(signal_number)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(stream[len(stream) // 2 :])
            process.stdin.close()
        assert process.wait() == -signal_number
        assert sorted(os.listdir(tensorpress.directory)) == ["x.nc", "x.npy", "x.tpz"]
        assert (tensorpress.directory / "x.nc").read_bytes() == b"a good file"


def test_binary_data_does_not_go_to_a_terminal(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((16, 16)))
    tensorpress("compress", "--codec", "dct-chop", "x.npy")
    for arguments in (["compress", "x.npy", "--cf", "4"], ["decompress", "x.tpz"]):
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [tensorpress.path, *arguments, "-o", "-"],
            cwd=tensorpress.directory,
            stdout=theirs,
            stderr=subprocess.PIPE,
        )
        os.close(theirs)
        os.close(ours)
        assert done.returncode == 2 and b"terminal" in done.stderr
