"""When disks fail and processes die: a name shows the old file or the complete new one, and an
error is one sentence.

A library that tests/faults/failing_io.c says how to build is loaded before the program and makes
single calls fail.
"""

import os
import random
import shutil
import subprocess
import time

import numpy as np
import pytest
from conftest import ROOT

OLD = b"a good file"
COMPILER = shutil.which("cc") or shutil.which("gcc")


@pytest.fixture(scope="module")
def failing_io(tmp_path_factory):
    library = tmp_path_factory.mktemp("faults") / "failing_io.so"
    source = ROOT / "tests" / "faults" / "failing_io.c"
    subprocess.run(
        [COMPILER, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"],
        check=True,
    )
    return library


class Faulty:
    """The program with files that fail: run(how, arguments)."""

    def __init__(self, tensorpress, library):
        self.directory = tensorpress.directory
        self.path = tensorpress.path
        self.library = library

    def environment(self, how, count=None):
        extra = {"LD_PRELOAD": str(self.library), "FAILING_IO": how}
        if count is not None:
            extra["FAILING_IO_COUNT"] = str(count)
        return {**os.environ, **extra}

    def run(self, how, *arguments, stdin=b"", count=None):
        argv = [self.path, *map(str, arguments)]
        environment = self.environment(how, count)
        return subprocess.run(
            argv, cwd=self.directory, env=environment, input=stdin, capture_output=True, timeout=60
        )

    def calls(self, *arguments):
        """How many calls of each kind the program makes when nothing fails."""
        count = self.directory.parent / "calls.txt"
        assert self.run("", *arguments, count=count).returncode == 0
        numbers = {
            kind: int(number) for kind, number in map(str.split, count.read_text().splitlines())
        }
        count.unlink()
        return numbers


@pytest.fixture
def faulty(tensorpress, failing_io, smooth):
    folder = tensorpress.directory / "here"
    folder.mkdir()
    tensorpress.directory = folder
    np.save(folder / "x.npy", smooth((2, 40, 50)))
    tensorpress("compress", "x.npy", "--rel", "1e-3", "--chunk-shape", "1x40x50", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    return Faulty(tensorpress, failing_io)


COMPRESS = ["compress", "x.npy", "--rel", "1e-3", "--chunk-shape", "1x40x50", "-f", "-o", "out"]
DECOMPRESS = ["decompress", "x.tpz", "-f", "-o", "out.npy"]
ACROSS = ["compress", "x.npy", "--rel", "1e-3", "--chunk-shape", "2x40x25", "-f", "-o", "out"]
JOBS = pytest.mark.parametrize(
    "job", [COMPRESS, DECOMPRESS, ACROSS], ids=["compress", "decompress", "compress across"]
)


@pytest.mark.parametrize("how", ["short", "interrupt"])
@JOBS
def test_short_and_interrupted_calls_change_nothing(faulty, job, how):
    output = faulty.directory / job[-1]
    assert faulty.run("", *job).returncode == 0
    expected = output.read_bytes()
    output.unlink()
    done = faulty.run(how, *job)
    assert done.returncode == 0, done
    assert output.read_bytes() == expected


def test_a_pipe_that_is_kept_in_a_failing_temporary_file(faulty):
    """Of a pipe with a relative bound a copy is kept; its writes and reads may be short, and may
    fail."""
    data = (faulty.directory / "x.npy").read_bytes()
    piped = ["compress", "-", "--rel", "1e-3", "--chunk-shape", "1x40x50", "-f", "-o", "out"]
    assert faulty.run("short", *piped, stdin=data).returncode == 0
    assert (faulty.directory / "out").read_bytes() == (faulty.directory / "x.tpz").read_bytes()
    done = faulty.run("write:1:ENOSPC", *piped, stdin=data)
    assert done.returncode == 2 and b"No space left" in done.stderr and b"TMPDIR" in done.stderr


KINDS = [
    ("write", "ENOSPC", "No space left"),
    ("read", "EIO", "Input/output error"),
    ("sync", "EIO", "Input/output error"),
    ("name", "EDQUOT", "quota"),
]


@pytest.mark.parametrize("kind, error, words", KINDS)
@JOBS
def test_whichever_call_fails_it_is_one_sentence_and_the_old_file_stays(
    faulty, job, kind, error, words
):
    output = faulty.directory / job[-1]
    output.write_bytes(OLD)
    before = sorted(os.listdir(faulty.directory))
    calls = faulty.calls(*job)[kind]
    complete = output.read_bytes()
    assert calls >= (
        2 if kind == "sync" else 1
    )  # the file before it has its name, the folder after it
    refused = 0
    for number in range(1, calls + 1):
        output.write_bytes(OLD)
        done = faulty.run(f"{kind}:{number}:{error}", *job)
        assert sorted(os.listdir(faulty.directory)) == before
        if (
            kind == "read" and done.returncode == 0
        ):  # looking for HDF5's signature, which need not be there
            assert output.read_bytes() == complete
            continue
        refused += 1
        assert done.returncode == 2, f"{kind} {number} of {calls}: {done}"
        sentence = done.stderr.decode()
        assert words in sentence and sentence.count("\n") == 1, sentence
        # The folder is synced after the new name is there: its failure is told, and the new file is
        # complete.
        after_rename = kind == "sync" and number == calls
        assert output.read_bytes() == (complete if after_rename else OLD), (
            f"{kind} {number} of {calls}"
        )
    assert refused == calls if kind != "read" else refused > 0


@JOBS
def test_killed_before_any_of_its_calls_the_name_shows_the_old_file_or_the_new_one(faulty, job):
    output = faulty.directory / job[-1]
    calls = faulty.calls(*job)["any"]
    complete = output.read_bytes()
    seen = set()
    for number in range(1, calls + 1):
        output.write_bytes(OLD)
        done = faulty.run(f"any:{number}:KILL", *job)
        assert done.returncode == -9
        content = output.read_bytes()
        assert content in (OLD, complete), f"killed before call {number} of {calls}"
        seen.add(content)
    # The last call syncs the folder, when the new file is already there.
    assert seen == {OLD, complete}
    assert faulty.run("", *job).returncode == 0 and output.read_bytes() == complete


def test_killed_at_a_random_moment_the_name_shows_the_old_file_or_the_new_one(tensorpress):
    """Real time, real signals: whatever the moment, decompress never meets half a file."""
    folder = tensorpress.directory
    np.random.default_rng(3).standard_normal((20, 128, 128), dtype="f4").tofile(folder / "x.raw")
    job = [
        tensorpress.path,
        "compress",
        "x.raw",
        "--shape",
        "20x128x128",
        "--dtype",
        "f32",
        "--abs",
        "1e-6",
        "--force",
        "-o",
        "x.tpz",
    ]
    began = time.monotonic()
    subprocess.run(job, cwd=folder, check=True, capture_output=True)
    duration = time.monotonic() - began
    complete = (folder / "x.tpz").read_bytes()
    generator = random.Random(20)
    for _ in range(10):
        (folder / "x.tpz").write_bytes(OLD)
        process = subprocess.Popen(
            job, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(
            generator.uniform(0, 1.2 * duration)
        )  # the moment is the test; nothing is waited for
        process.kill()
        process.wait()
        assert (folder / "x.tpz").read_bytes() in (OLD, complete)


def test_a_file_size_limit_is_an_error_and_not_a_signal(faulty):
    (faulty.directory / "out").write_bytes(OLD)
    limited = 'ulimit -f 1; exec "$0" "$@"'
    done = subprocess.run(
        ["bash", "-c", limited, faulty.path, *COMPRESS], cwd=faulty.directory, capture_output=True
    )
    assert (
        done.returncode == 2 and b"File too large" in done.stderr and done.stderr.count(b"\n") == 1
    ), done
    assert (faulty.directory / "out").read_bytes() == OLD


@pytest.fixture
def small_disk(tmp_path):
    """small_disk(argv, folder): runs argv with a tmpfs of 96 KiB, which no other process sees, on
    that folder, whose file `out` is OLD before. Returns the process, the content of `out` and the
    names in the folder afterwards."""
    mount = 'mount -t tmpfs -o size=96k tmpfs "$0"'
    ways = [["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]]
    probe = tmp_path / "probe"
    probe.mkdir()
    ways = [
        way
        for way in ways
        if shutil.which("unshare")
        and subprocess.run([*way, "sh", "-c", mount, probe]).returncode == 0
    ]
    if not ways:
        pytest.skip(
            "mounting is not allowed here; a limit on file sizes and failing calls stand in for it"
        )

    def run(argv, folder):
        script = f"""{mount}; printf '{OLD.decode()}' >"$0/out"; "$@"; status=$?
cp "$0/out" "$0.out"; ls -A "$0" >"$0.names"; exit $status"""
        done = subprocess.run(
            [*ways[0], "sh", "-c", script, folder, *map(str, argv)],
            cwd=folder.parent,
            capture_output=True,
        )
        return (
            done,
            (folder.parent / f"{folder.name}.out").read_bytes(),
            (folder.parent / f"{folder.name}.names").read_text(),
        )

    return run


@pytest.mark.parametrize("verb", ["compress", "decompress"])
def test_on_a_disk_that_is_full_the_old_file_stays_and_nothing_is_left_behind(
    tensorpress, small_disk, verb
):
    folder = tensorpress.directory / "disk"
    folder.mkdir()
    noise = np.random.default_rng(4).standard_normal(
        100_000, dtype="f4"
    )  # 400 kB that do not become small
    np.save(tensorpress.directory / "x.npy", noise)
    tensorpress("compress", "x.npy", "--abs", "1e-6", "-o", "x.tpz")
    jobs = {"compress": ["x.npy", "--abs", "1e-6"], "decompress": ["x.tpz", "--raw"]}
    done, content, names = small_disk(
        [tensorpress.path, verb, *jobs[verb], "--force", "-o", "disk/out"], folder
    )
    assert (
        done.returncode == 2 and b"No space left" in done.stderr and done.stderr.count(b"\n") == 1
    ), done
    assert content == OLD and names == "out\n"
