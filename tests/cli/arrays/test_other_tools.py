"""tensorpress zfp and tensorpress sz3: the flags that scripts for those programs use."""

import numpy as np
import pytest


@pytest.fixture
def raw(tmp_path):
    """A field of 5 x 18 x 30 (slowest axis first) in f.raw and its values."""
    z, y, x = np.meshgrid(np.arange(5), np.arange(18), np.arange(30), indexing="ij")
    values = (np.sin(0.3 * x) + np.cos(0.2 * y) * z).astype("<f4")
    values.tofile(tmp_path / "f.raw")
    return values


EXTENTS = ["-3", "30", "18", "5"]


def test_zfp_compresses_and_decompresses_in_one_go(tensorpress, tmp_path, raw):
    done = tensorpress(
        "zfp", "-f", *EXTENTS, "-a", "1e-3", "-i", "f.raw", "-z", "f.tpz", "-o", "g.raw", "-s"
    )
    copy = np.fromfile(tmp_path / "g.raw", "<f4").reshape(raw.shape)
    assert np.abs(copy.astype("f8") - raw).max() <= 1e-3
    assert b"ok               yes" in done.out
    assert tensorpress("info", "f.tpz", "--json").json["shape"] == [5, 18, 30]


def test_zfp_decompresses_without_being_told_what_the_file_knows(tensorpress, tmp_path, raw):
    tensorpress("zfp", "-f", *EXTENTS, "-a", "1e-3", "-i", "f.raw", "-z", "f.tpz", "-q")
    tensorpress("zfp", "-z", "f.tpz", "-o", "g.raw")
    tensorpress("zfp", "-h", "-f", *EXTENTS, "-z", "f.tpz", "-o", "h.raw")
    assert (tmp_path / "g.raw").read_bytes() == (tmp_path / "h.raw").read_bytes()


def test_zfp_is_lossless_with_R(tensorpress, tmp_path, raw):
    tensorpress("zfp", "-R", "-f", *EXTENTS, "-i", "f.raw", "-z", "f.tpz", "-o", "g.raw")
    assert (tmp_path / "g.raw").read_bytes() == (tmp_path / "f.raw").read_bytes()


def test_zfp_keeps_no_compressed_file_that_nobody_named(tensorpress, tmp_path, raw, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    tensorpress("zfp", "-f", *EXTENTS, "-r", "8", "-i", "f.raw", "-o", "g.raw")
    assert (tmp_path / "g.raw").stat().st_size == raw.nbytes
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    "mode", [["-M", "REL", "1e-3"], ["-M", "REL", "-R", "1e-3"], ["-R", "1e-3"]]
)
def test_sz3_takes_a_bound_in_every_way_sz3_does(tensorpress, tmp_path, raw, mode):
    tensorpress("sz3", "-f", "-i", "f.raw", *EXTENTS, *mode, "-a")
    tensorpress("sz3", "-f", "-z", "f.raw.sz", *EXTENTS, *mode)
    copy = np.fromfile(tmp_path / "f.raw.sz.out", "<f4").reshape(raw.shape)
    error = np.abs(copy.astype("f8") - raw).max()
    assert 0 < error <= 1e-3 * (float(raw.max()) - float(raw.min()))


def test_sz3_takes_absolute_bounds_and_decibels_for_doubles(tensorpress, tmp_path, raw):
    raw.astype("<f8").tofile(tmp_path / "d.raw")
    tensorpress(
        "sz3", "-d", "-i", "d.raw", "-z", "d.sz", "-o", "e.raw", *EXTENTS, "-M", "ABS", "1e-5"
    )
    assert np.abs(np.fromfile(tmp_path / "e.raw", "<f8") - raw.ravel()).max() <= 1e-5
    done = tensorpress("sz3", "-d", "-i", "d.raw", "-z", "e.sz", *EXTENTS, "-M", "PSNR", "80", "-a")
    psnr = next(
        float(line.split()[1])
        for line in done.out.decode().splitlines()
        if line.startswith("psnr_db")
    )
    assert psnr >= 80


def test_zfp_and_sz3_take_pipes_on_either_side(tensorpress, tmp_path, raw):
    field = (tmp_path / "f.raw").read_bytes()
    told = tensorpress("zfp", "-f", *EXTENTS, "-a", "1e-3", "-i", "f.raw", "-z", "f.tpz")
    assert told.out.startswith(b"f.raw: ")
    stream = (tmp_path / "f.tpz").read_bytes()
    for arguments in (
        ["zfp", "-f", *EXTENTS, "-a", "1e-3", "-i", "-", "-z", "-"],
        ["sz3", "-f", *EXTENTS, "-M", "ABS", "1e-3", "-i", "-"],
    ):
        done = tensorpress(*arguments, stdin=field)
        assert done.out == stream and "ratio" in done.err
    tensorpress("zfp", "-z", "f.tpz", "-o", "g.raw")
    copy = (tmp_path / "g.raw").read_bytes()
    tensorpress("zfp", "-z", "-", "-o", "h.raw", stdin=stream)
    assert (tmp_path / "h.raw").read_bytes() == copy
    assert tensorpress("zfp", "-z", "-", "-o", "-", stdin=stream).out == copy
    assert tensorpress("sz3", "-f", *EXTENTS, "-z", "-", stdin=stream).out == copy
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["f.raw", "f.tpz", "g.raw", "h.raw"]


def test_a_copy_on_standard_output_is_the_copy_alone(tensorpress, tmp_path, raw):
    arguments = ["-f", *EXTENTS, "-a", "1e-3", "-i", "f.raw"]
    tensorpress("zfp", *arguments, "-o", "g.raw")
    done = tensorpress("zfp", *arguments, "-o", "-", "-s")
    assert done.out == (tmp_path / "g.raw").read_bytes()
    assert "ratio" in done.err and "max_abs_error" in done.err


def test_a_piped_stream_that_is_not_as_told_is_refused(tensorpress, tmp_path, raw):
    tensorpress("zfp", "-f", *EXTENTS, "-a", "1e-3", "-i", "f.raw", "-z", "f.tpz")
    said = tensorpress.refuses(
        *["zfp", "-f", "-1", "5", "-z", "-", "-o", "g.raw"],
        stdin=(tmp_path / "f.tpz").read_bytes(),
    )
    assert "holds f32 of 5x18x30" in said and not (tmp_path / "g.raw").exists()


@pytest.mark.parametrize("tool, statistics", [("zfp", "-s"), ("sz3", "-a")])
@pytest.mark.parametrize("files", [["-i", "f.raw", "-z", "-"], ["-i", "-", "-z", "x"]])
def test_statistics_of_pipes_are_refused_before_any_work(
    tensorpress, tmp_path, raw, tool, statistics, files
):
    bound = ["-a", "1"] if tool == "zfp" else ["-M", "ABS", "1"]
    said = tensorpress.refuses(tool, "-f", *EXTENTS, *bound, *files, statistics)
    assert "cannot do that with a pipe" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.raw"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (
            ["zfp", "-f", *EXTENTS, "-a", "1", "-i", "f.raw", "-z", "-", "-o", "y"],
            "cannot be read again from a pipe; name a file with -z",
        ),
        (["zfp"], "-i RAW -z FILE compresses"),
        (["zfp", "-i", "f.raw", "-z", "x"], "type and extents of f.raw are missing"),
        (["zfp", "-f", "-i", "f.raw", "-z", "x", "-a", "1"], "extents are missing"),
        (["zfp", *EXTENTS, "-i", "f.raw", "-z", "x", "-a", "1"], "type is missing"),
        (["zfp", "-f", "-d", *EXTENTS, "-i", "f.raw", "-z", "x", "-a", "1"], "-f and -d"),
        (["zfp", "-f", *EXTENTS, "-1", "7", "-i", "f.raw", "-z", "x", "-a", "1"], "more than once"),
        (
            ["zfp", "-f", *EXTENTS, "-i", "f.raw", "-z", "x"],
            "how close the copy must be is missing",
        ),
        (["zfp", "-f", *EXTENTS, "-i", "f.raw", "-z", "x", "-p", "12"], "bit planes"),
        (["zfp", "-f", *EXTENTS, "-i", "f.raw", "-z", "x", "-r", "0"], "more than 0"),
        (["zfp", "-t", "i32", *EXTENTS, "-i", "f.raw", "-z", "x", "-a", "1"], "integers"),
        (["zfp", "-f", "-3", "30", "18", "6", "-i", "f.raw", "-z", "x", "-a", "1"], "6x18x30"),
        (["zfp", "-f", *EXTENTS, "-i", "f.raw", "-z", "f.raw", "-a", "1"], "is the input"),
        (["zfp", "-s", "-z", "x", "-o", "y"], "need the original"),
        (["sz3", "-f", *EXTENTS, "-i", "f.raw", "-M", "ABS"], "-A E"),
        (["sz3", "-f", *EXTENTS, "-i", "f.raw", "-M", "ABS", "small"], "number"),
        (["sz3", "-f", *EXTENTS, "-i", "f.raw", "-M", "NORM", "1"], "ABS, REL or PSNR"),
        (["sz3", "-f", *EXTENTS, "-i", "f.raw", "-M", "ABS", "-0.5"], "negative"),
        (["sz3", "-c", "sz3.config", "-i", "f.raw"], "configuration files"),
        (["sz3", "-I", "32", *EXTENTS, "-i", "f.raw", "-M", "ABS", "1"], "integers"),
    ],
)
def test_what_has_no_counterpart_is_said_in_a_sentence(
    tensorpress, tmp_path, raw, arguments, words
):
    before = (tmp_path / "f.raw").read_bytes()
    assert words in tensorpress.refuses(*arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.raw"]
    assert (tmp_path / "f.raw").read_bytes() == before


def test_zfp_says_what_a_file_holds_when_the_extents_are_wrong(tensorpress, raw):
    tensorpress("zfp", "-f", *EXTENTS, "-a", "1e-3", "-i", "f.raw", "-z", "f.tpz")
    sentence = tensorpress.refuses("zfp", "-f", "-3", "5", "18", "30", "-z", "f.tpz", "-o", "g.raw")
    assert "f.tpz holds f32 of 5x18x30 (slowest axis first), not f32 of 30x18x5" in sentence


@pytest.mark.parametrize(
    "bounds, flags",
    [
        (["-M", "ABS", "1e-1", "-A", "1e-3"], "-M and -A"),
        (["-A", "1e-1", "-R", "1e-5"], "-A and -R"),
        (["-M", "ABS", "-A", "1e-1", "-S", "60"], "-A and -S"),
    ],
)
def test_sz3_refuses_two_bounds(tensorpress, tmp_path, raw, bounds, flags):
    said = tensorpress.refuses("sz3", "-f", "-i", "f.raw", "-z", "f.sz", *EXTENTS, *bounds)
    assert f"{flags} both give a bound" in said
    assert not (tmp_path / "f.sz").exists()


def test_a_missing_bound_is_told_with_the_flags_that_give_one(tensorpress, raw):
    said = tensorpress.refuses("zfp", "-f", *EXTENTS, "-i", "f.raw", "-z", "f.tpz")
    assert "-a E, -r BITS or -R" in said
    said = tensorpress.refuses("sz3", "-f", *EXTENTS, "-i", "f.raw", "-z", "f.tpz")
    assert "-M ABS E" in said
    said = tensorpress.refuses("zfp", "-f", *EXTENTS, "-r", "40", "-i", "f.raw", "-z", "f.tpz")
    assert "-r 40" in said and "32" in said and "-R" in said
