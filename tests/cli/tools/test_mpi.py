"""tensorpress-mpi: many processes write and read the very bytes that one does, and none of them
hangs."""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time

import netCDF4
import numpy as np
import pytest
import tpz_reader
from conftest import PROGRAM, Outcome

MPI_PROGRAM = PROGRAM.parent / "tensorpress-mpi"
MPIRUN = shutil.which("mpirun")

pytestmark = pytest.mark.skipif(MPIRUN is None, reason="mpirun is not installed")

ENVIRONMENT = {
    **os.environ,
    # mpirun refuses to run as root, as which build machines do, unless it is told twice.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    # Open MPI itself frees little when it ends, and its threads are not compiled for
    # ThreadSanitizer.
    "ASAN_OPTIONS": "detect_leaks=0",
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1",
}


class Job:
    """mpirun in a directory of its own; never waits longer than a minute."""

    def __init__(self, directory: pathlib.Path):
        assert MPI_PROGRAM.is_file(), f"{MPI_PROGRAM} is not built; ./dev build makes it"
        self.directory = directory

    def start(self, *words) -> subprocess.Popen:
        return subprocess.Popen(
            [MPIRUN, *map(str, words)],
            cwd=self.directory,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def finish(self, process: subprocess.Popen) -> Outcome:
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate()
            pytest.fail(f"the job hangs: {err.decode()}")
        return Outcome(process.returncode, out, err.decode())

    def __call__(self, ranks: int, *arguments, status: int = 0) -> Outcome:
        outcome = self.finish(self.start("-n", ranks, MPI_PROGRAM, *arguments))
        assert outcome.status == status, outcome
        return outcome

    def sentences(self, outcome: Outcome) -> list[str]:
        """What the program said; mpirun adds words of its own."""
        return [line for line in outcome.err.splitlines() if line.startswith("tensorpress: ")]

    def refuses(self, ranks: int, *arguments) -> str:
        """Status 2 and one sentence from all ranks together."""
        outcome = self(ranks, *arguments, status=2)
        assert outcome.out == b""
        (sentence,) = self.sentences(outcome)
        return sentence.removeprefix("tensorpress: ")

    def unfinished_files(self) -> list[str]:
        return [path.name for path in self.directory.iterdir() if path.name.endswith(".tmp")]


@pytest.fixture
def mpi(tmp_path):
    return Job(tmp_path)


def check_same_bytes(tensorpress, mpi, ranks, name, options):
    """Compresses and decompresses with one process and with many."""
    directory = mpi.directory
    tensorpress("compress", name, *options, "-o", "one.tpz")
    mpi(ranks, "compress", name, *options, "-o", "many.tpz")
    assert (directory / "many.tpz").read_bytes() == (directory / "one.tpz").read_bytes()
    for output in "npy", "raw":
        tensorpress("decompress", "one.tpz", "-o", f"one.{output}")
        mpi(ranks, "decompress", "many.tpz", "-o", f"many.{output}")
        assert (directory / f"many.{output}").read_bytes() == (
            directory / f"one.{output}"
        ).read_bytes()
    assert mpi.unfinished_files() == []


WAYS = {
    "dense": "--rel 1e-4",
    "chunks that are not whole rows": "--abs 0.01 --chunk-shape 3x7x40",
    "point-wise": "--pw-rel 1e-2 --fill 128 --chunk-shape 2x30x50 --attr units=K",
    "psnr": "--psnr 70 --chunk-shape 1x45x90",
    "ratio": "--ratio 8 --chunk-shape 1x45x90",
    "known range": "--rel 1e-4 --range 0:255 --effort fast",
    "ceresz": "--codec ceresz --rel 1e-3 --chunk-shape 1x45x90",
    "ceresz2": "--codec ceresz2 --rel 1e-3 --chunk-shape 1x45x90",
    "a codebook from the data": "--codec ceresz2 --codebook dynamic --rel 1e-3 "
    "--chunk-shape 1x45x90",
    "dct-chop": "--cf 3 --chunk-shape 1x45x90",
}


@pytest.mark.parametrize("way", WAYS)
def test_every_codec_and_bound_gives_the_bytes_of_one_process(tensorpress, mpi, smooth, way):
    np.save(mpi.directory / "x.npy", smooth((11, 45, 90)))
    check_same_bytes(tensorpress, mpi, 3, "x.npy", shlex.split(WAYS[way]))


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_any_number_of_ranks_gives_the_bytes_of_one_process(tensorpress, mpi, smooth, ranks):
    smooth((11, 45, 90), "f8").tofile(mpi.directory / "x.raw")
    options = "--shape 11x45x90 --dtype f64 --rel 1e-5 --chunk-shape 2x20x90"
    check_same_bytes(tensorpress, mpi, ranks, "x.raw", options.split())


def test_many_waves_give_the_bytes_of_one_process(tensorpress, mpi, smooth):
    np.save(mpi.directory / "x.npy", smooth((200, 100, 100)))
    options = "--abs 0.01 --codec ceresz --chunk-shape 1x100x100".split()
    tensorpress("compress", "x.npy", *options, "-o", "one.tpz")
    mpi(2, "compress", "x.npy", *options, "--memory", 1, "--threads", 2, "-o", "many.tpz")
    assert (mpi.directory / "many.tpz").read_bytes() == (mpi.directory / "one.tpz").read_bytes()


@pytest.mark.parametrize("shape", [(2, 40), (1,), (), (0, 7), (3, 0, 2)])
def test_more_ranks_than_chunks_and_no_elements_at_all(tensorpress, mpi, smooth, shape):
    np.save(mpi.directory / "x.npy", smooth(shape))
    options = ["--abs", "0.01"]
    if shape == (2, 40):
        options += ["--chunk-shape", "1x40"]
    check_same_bytes(tensorpress, mpi, 4, "x.npy", options)


@pytest.mark.parametrize("bound", [["--abs", "0.01"], ["--ratio", "300"]], ids=" ".join)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_constants_that_repeat_across_ranks_and_waves(tensorpress, mpi, smooth, ranks, bound):
    field = smooth((24, 40, 50))
    for rows, constant in ((slice(0, 7), 0), (slice(9, 15), 0), (slice(16, 22), 2.5)):
        field[rows] = constant
    np.save(mpi.directory / "x.npy", field)
    options = [*bound, "--chunk-shape", "1x20x50"]
    check_same_bytes(tensorpress, mpi, ranks, "x.npy", options)
    single = (mpi.directory / "one.tpz").read_bytes()
    assert len(set(tpz_reader.payload_places(single))) == 48
    np.save(mpi.directory / "zeros.npy", np.zeros((600, 1000, 3), "f4"))
    zeros = ["--abs", "1", "--chunk-shape", "25x1000x3", "--memory", "2"]  # three chunks a wave
    mpi(ranks, "compress", "zeros.npy", *zeros, "-o", "zeros.tpz")
    tensorpress("compress", "zeros.npy", *zeros[:-2], "-o", "zeros1.tpz")
    streams = [(mpi.directory / f"{name}.tpz").read_bytes() for name in ("zeros", "zeros1")]
    assert streams[0] == streams[1] and len(streams[0]) < 130


def test_fortran_order_and_big_endian_input(tensorpress, mpi, smooth):
    np.save(mpi.directory / "x.npy", np.asfortranarray(smooth((9, 20, 30)).astype(">f4")))
    check_same_bytes(tensorpress, mpi, 2, "x.npy", ["--rel", "1e-4", "--chunk-shape", "2x20x30"])


def test_reports_once_for_all_ranks(tensorpress, mpi, smooth):
    field = smooth((8, 30, 40))
    field[::2, ::3] = -1e30
    np.save(mpi.directory / "x.npy", field)
    refused = mpi.refuses(3, "compress", "x.npy", "--rel", "1e-2")
    assert "-1e+30 is likely a fill value" in refused
    said = mpi(3, "compress", "x.npy", "--rel", "1e-2", "--fill", "-1e30", "--json")
    assert said.json["ranks"] == 3
    assert said.json["bytes_out"] == (mpi.directory / "x.tpz").stat().st_size
    assert mpi(3, "compress", "x.npy", "--abs", "0.1", "--force").out.count(b"ratio") == 1
    back = mpi(3, "decompress", "x.tpz", "-o", "y.npy", "--json")
    assert back.json["chunks"] == said.json["chunks"]
    assert mpi(2, "--version").out.startswith(b"tensorpress-mpi ")
    assert mpi(2, "compress", "--help").out.count(b"--pw-rel") == 1


def test_bad_arguments_are_one_sentence_and_status_2(mpi, smooth):
    smooth((8, 30)).tofile(mpi.directory / "x.raw")
    raw = ["compress", "x.raw", "--dtype", "f32"]
    assert "needs 36" in mpi.refuses(3, *raw, "--shape", "3x3", "--rel", "1e-4")
    assert "not a shape" in mpi.refuses(2, *raw, "--shape", "eight", "--rel", "1e-4")
    assert "--dtype needs --shape" in mpi.refuses(2, *raw, "--rel", "1e-4")
    assert "error bound" in mpi.refuses(2, *raw, "--shape", "8x30")
    assert "nothere.npy" in mpi.refuses(3, "compress", "nothere.npy", "--rel", "1e-4")
    assert "see tensorpress-mpi" in mpi.refuses(2, "compress", "x.raw", "--no-such-option")
    assert "pipe" in mpi.refuses(2, "compress", "-", "--rel", "1e-4")
    assert "is the input" in mpi.refuses(2, *raw, "--shape", "8x30", "--rel", "1e-4", "-o", "x.raw")
    assert sorted(os.listdir(mpi.directory)) == ["x.raw"]


@pytest.mark.parametrize("output", ["no/such/folder/x.tpz", "/proc/x.tpz", "."])
def test_an_output_that_cannot_be_written(mpi, smooth, output):
    np.save(mpi.directory / "x.npy", smooth((8, 30)))
    assert "cannot write" in mpi.refuses(3, "compress", "x.npy", "--rel", "1e-4", "-o", output)
    assert os.listdir(mpi.directory) == ["x.npy"]


def test_a_corrupt_chunk_of_one_rank_stops_all_and_keeps_the_old_file(tensorpress, mpi, smooth):
    np.save(mpi.directory / "x.npy", smooth((8, 30, 40)))
    tensorpress("compress", "x.npy", "--abs", "0.01", "--chunk-shape", "1x30x40", "-o", "x.tpz")
    stream = bytearray((mpi.directory / "x.tpz").read_bytes())
    stream[tpz_reader.payload_places(bytes(stream))[7] + 8] ^= 1
    (mpi.directory / "x.tpz").write_bytes(stream)
    before = (mpi.directory / "x.npy").read_bytes()
    assert "chunk 7 is corrupt" in mpi.refuses(3, "decompress", "x.tpz", "-o", "x.npy", "--force")
    assert (mpi.directory / "x.npy").read_bytes() == before
    assert mpi.unfinished_files() == []
    assert "not a .tpz stream" in mpi.refuses(2, "decompress", "x.npy", "-o", "y.npy")


def noise(mpi):
    """24 MB that no codec makes much smaller: work for a while."""
    generator = np.random.default_rng(7)
    generator.standard_normal((60, 1000, 100), dtype=np.float32).tofile(mpi.directory / "noise.raw")
    return shlex.split("compress noise.raw --shape 60x1000x100 --dtype f32 --abs 1e-9 -o x.tpz")


@pytest.mark.parametrize("failing", [0, 1])
def test_a_write_error_of_one_rank_stops_all_and_keeps_the_old_file(mpi, failing):
    """That rank may write no byte beyond 8 MiB of a file."""
    arguments = [*noise(mpi), "--force"]
    (mpi.directory / "x.tpz").write_bytes(b"old")
    plain = ["-n", "1", MPI_PROGRAM, *arguments]
    limited = (
        f"trap '' XFSZ; ulimit -f 8192; exec {shlex.join(map(str, [MPI_PROGRAM, *arguments]))}"
    )
    ranks = [plain, plain]
    ranks[failing] = ["-n", "1", "bash", "-c", limited]
    outcome = mpi.finish(mpi.start(*ranks[0], ":", *ranks[1]))
    assert outcome.status == 2, outcome
    (sentence,) = mpi.sentences(outcome)
    assert f"cannot write 'x.tpz' on rank {failing}" in sentence
    assert (mpi.directory / "x.tpz").read_bytes() == b"old"
    assert mpi.unfinished_files() == []


def process_of_rank(job: subprocess.Popen, rank: int) -> int:
    for child in pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split():
        variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        if f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables:
            return int(child)
    raise AssertionError(f"rank {rank} is not there")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_ends_the_job_and_keeps_the_old_file(mpi, victim):
    arguments = [*noise(mpi), "--force"]
    (mpi.directory / "x.tpz").write_bytes(b"old")
    job = mpi.start("-n", "2", MPI_PROGRAM, *arguments)
    # Once it has bytes, all ranks know of it; one that dies in the moment before leaves it behind.
    while not any((mpi.directory / name).stat().st_size for name in mpi.unfinished_files()):
        assert job.poll() is None, "the job ended before it began to write"
        time.sleep(0.001)
    # Held still, the rank cannot finish before it is killed.
    process = process_of_rank(job, victim)
    os.kill(process, signal.SIGSTOP)
    assert mpi.unfinished_files(), "the job was too fast for this test"
    os.kill(process, signal.SIGKILL)
    assert mpi.finish(job).status != 0
    assert (mpi.directory / "x.tpz").read_bytes() == b"old"
    assert mpi.unfinished_files() == []


REFUSED = {
    "raw numbers as .nc": (["decompress", "x.tpz", "-o", "y.nc"], "tensorpress decompress does"),
    "raw numbers as .h5": (["decompress", "x.tpz", "-o", "y.h5"], "tensorpress decompress does"),
    "raw numbers as .npz": (["decompress", "x.tpz", "-o", "y.npz"], "an output is .npy"),
    "the original": (["decompress", "x.tpz"], "'x.npy' exists"),
    "a stream as .npy": (["compress", "x.npy", "--rel", "1e-3", "-o", "y.npy"], "name it .tpz"),
    "a stream as .nc": (["compress", "x.npy", "--rel", "1e-3", "-o", "y.nc"], "name it .tpz"),
    "an existing output": (["compress", "x.npy", "--rel", "1e-3"], "'x.tpz' exists; --force"),
    "no variable": (["compress", "x.npy", "--var", "T", "--rel", "1e-3", "-o", "y.tpz"], "--var"),
    "another variable": (["compress", "x.nc", "--var", "U", "--rel", "1e-3", "-o", "y.tpz"], "'U'"),
}


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_64BIT_OFFSET"])
@pytest.mark.parametrize("bound", ["--rel 1e-4", "--abs 0.01 --chunk-shape 2x30x50"])
def test_a_variable_becomes_the_stream_that_one_process_writes(
    tensorpress, mpi, smooth, kind, bound
):
    field = smooth((8, 45, 90))
    field[2, 3:9] = -999
    with netCDF4.Dataset(mpi.directory / "w.nc", "w", format=kind) as file:
        for axis, extent in zip("tyx", field.shape, strict=True):
            file.createDimension(axis, extent)
            file.createVariable(axis, "f8", (axis,))[:] = np.arange(extent)
        variable = file.createVariable("T", "f4", ("t", "y", "x"), fill_value=-999)
        variable[...] = field
        variable.units = "K"
        file.createVariable("U", "f4", ("t", "y", "x"))[...] = field
    arguments = ["--var", "T", *bound.split()]
    tensorpress("compress", "w.nc", *arguments, "-o", "one.tpz")
    mpi(3, "compress", "w.nc", *arguments)
    assert (mpi.directory / "w.T.tpz").read_bytes() == (mpi.directory / "one.tpz").read_bytes()
    assert "several variables: T, U" in mpi.refuses(2, "compress", "w.nc", *bound.split())
    # What our own filter has written is read, too.
    tensorpress("compress", "w.nc", "--var", "T", "--abs", "0.001", "-o", "small.nc")
    arguments[2:] = ["--abs", "0.01"]
    tensorpress("compress", "small.nc", *arguments, "-o", "two.tpz")
    mpi(2, "compress", "small.nc", *arguments, "-o", "many.tpz")
    assert (mpi.directory / "many.tpz").read_bytes() == (mpi.directory / "two.tpz").read_bytes()


@pytest.mark.parametrize("arguments, words", REFUSED.values(), ids=REFUSED.keys())
def test_formats_that_only_one_process_knows_are_refused(
    tensorpress, mpi, smooth, arguments, words
):
    field = smooth((16, 16))
    np.save(mpi.directory / "x.npy", field)
    tensorpress("compress", "x.npy", "--rel", "1e-3")
    with netCDF4.Dataset(mpi.directory / "x.nc", "w") as file:
        file.createDimension("i", field.size)
        file.createVariable("T", "f4", "i")[...] = field.ravel()
    before = {path.name: path.read_bytes() for path in mpi.directory.iterdir()}
    assert words in mpi.refuses(2, *arguments)
    assert {path.name: path.read_bytes() for path in mpi.directory.iterdir()} == before
