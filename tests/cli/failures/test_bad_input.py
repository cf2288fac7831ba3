"""Bad input of every kind: one sentence that says what is wrong, status 2, and no file touched."""

import os
import struct
import subprocess

import numpy as np
import pytest
import tpz_bytes
import tpz_reader

needs_xxh3 = pytest.mark.skipif(not tpz_bytes.xxh3_available(), reason="libxxhash is not installed")


@pytest.fixture
def stream(tensorpress, smooth):
    """The bytes of a good x.tpz with four chunks; x.npy lies beside it."""
    np.save(tensorpress.directory / "x.npy", smooth((4, 32, 32)))
    tensorpress(
        "compress",
        "--codec",
        "dct-chop",
        "x.npy",
        "--chunk-shape",
        "1x32x32",
        "--attr",
        "unit=kelvin",
    )
    return (tensorpress.directory / "x.tpz").read_bytes()


def refuses_stream(tensorpress, data):
    """Every verb refuses the stream, from a file and from a pipe, and leaves old outputs alone."""
    (tensorpress.directory / "bad.tpz").write_bytes(data)
    (tensorpress.directory / "old.npy").write_bytes(b"a good file")
    before = sorted(os.listdir(tensorpress.directory))
    sentence = tensorpress.refuses("decompress", "bad.tpz", "-o", "old.npy", "--force")
    assert "bad.tpz" in sentence
    piped = tensorpress.refuses("decompress", "-", "-o", "old.npy", "--force", stdin=data)
    assert "standard input" in piped
    tensorpress.refuses("verify", "x.npy", "bad.tpz")
    assert (tensorpress.directory / "old.npy").read_bytes() == b"a good file"
    assert sorted(os.listdir(tensorpress.directory)) == before
    return sentence


@pytest.mark.parametrize("kept", ["0", "7", "15", "40", "half", "all but one"])
def test_truncated_streams_are_refused(tensorpress, stream, kept):
    length = {"half": len(stream) // 2, "all but one": len(stream) - 1}.get(kept) or int(kept)
    refuses_stream(tensorpress, stream[:length])


def test_flipped_bits_are_refused_wherever_they_are(tensorpress, stream):
    generator = np.random.default_rng(7)
    for position in [*range(0, 16, 5), *generator.integers(16, len(stream), 12), len(stream) - 3]:
        damaged = bytearray(stream)
        damaged[position] ^= 1 << int(generator.integers(8))
        refuses_stream(tensorpress, bytes(damaged))


def test_a_wrong_magic_is_refused(tensorpress, stream):
    assert "not a .tpz" in refuses_stream(tensorpress, b"PK\x03\x04" + stream[4:])
    assert "not a .tpz" in refuses_stream(tensorpress, b"not much")


def test_a_future_version_is_refused_by_number(tensorpress, stream):
    sentence = refuses_stream(tensorpress, stream[:8] + struct.pack("<I", 7) + stream[12:])
    assert "version 7" in sentence and "version 2" in sentence


def test_trailing_bytes_are_refused(tensorpress, stream):
    refuses_stream(tensorpress, stream + bytes(8))


@needs_xxh3
def test_the_format_is_what_its_document_says(tensorpress):
    """A stream written here from the document alone is read: 8 x 8 zeros at CF 4 are 16 zeros."""
    opening = tpz_bytes.prologue() + tpz_bytes.head([8, 8], [8, 8])
    chunk = tpz_bytes.section(b"CHNK", bytes(64))
    good = opening + chunk + tpz_bytes.foot([(len(opening), 64)], len(opening + chunk))
    (tensorpress.directory / "zeros.tpz").write_bytes(good)
    tensorpress("decompress", "zeros.tpz")
    np.testing.assert_array_equal(
        np.load(tensorpress.directory / "zeros.npy"), np.zeros((8, 8), "f4")
    )


@needs_xxh3
def test_version_2_is_what_its_document_says(tensorpress):
    """The same, and three constant chunks of which two repeat the first."""
    zeros = tpz_bytes.compact_stream(
        tpz_bytes.compact_head([8, 8], [8, 8]), [(67, bytes(64))], tpz_bytes.varint(64 * 2 * 4 + 3)
    )
    constant = b"\x01" + struct.pack("<f", 2.5)
    head = tpz_bytes.compact_head(
        [3, 5], [1, 5], codec="dense", parameters=[("bound", "abs 1"), ("limit", "1")]
    )
    index = tpz_bytes.varint(5 * 2 * 4 + 3) + tpz_bytes.varint(2 * 4) + constant
    repeats = tpz_bytes.compact_stream(head, [(8, constant), (2, b""), (2, b"")], index)
    for name, data in (("zeros", zeros), ("repeats", repeats)):
        (tensorpress.directory / f"{name}.tpz").write_bytes(data)
        tensorpress("decompress", f"{name}.tpz")
    load = lambda name: np.load(tensorpress.directory / f"{name}.npy")
    np.testing.assert_array_equal(load("zeros"), np.zeros((8, 8), "f4"))
    np.testing.assert_array_equal(load("repeats"), np.full((3, 5), 2.5, "f4"))


LYING_HEADS = {
    "2^63 rows": ([2**63], [8]),
    "2^64-1 rows": ([2**64 - 1], [8]),
    "a product above 2^63": ([2**32, 2**32], [8, 8]),
    "2^62 bytes in small chunks": ([2**30, 2**30], [8, 8]),
    "2^62 bytes in one chunk": ([2**30, 2**30], [2**30, 2**30]),
    "a chunk of no extent": ([8, 8], [0, 8]),
    "nine dimensions": ([1] * 9, [1] * 9),
}


@needs_xxh3
@pytest.mark.parametrize("shape, chunk_shape", LYING_HEADS.values(), ids=LYING_HEADS.keys())
def test_absurd_shapes_are_refused(tensorpress, stream, shape, chunk_shape):
    opening = tpz_bytes.prologue() + tpz_bytes.head(shape, chunk_shape)
    chunk = tpz_bytes.section(b"CHNK", bytes(64))
    refuses_stream(
        tensorpress, opening + chunk + tpz_bytes.foot([(len(opening), 64)], len(opening + chunk))
    )
    head = tpz_bytes.compact_head(shape, chunk_shape)
    one_chunk = tpz_bytes.varint(64 * 2 * 4 + 3)
    refuses_stream(tensorpress, tpz_bytes.compact_stream(head, [(67, bytes(64))], one_chunk))


@needs_xxh3
@pytest.mark.parametrize("claimed", [2**63, 2**64 - 1, 2**63 - 32, 65])
def test_claims_of_more_bytes_than_there_are_are_refused(tensorpress, stream, claimed):
    opening = tpz_bytes.prologue() + tpz_bytes.head([8, 8], [8, 8])
    frame = tpz_bytes.section(b"CHNK", bytes(64), claimed_bytes=claimed)
    end = len(opening + frame)
    refuses_stream(tensorpress, opening + frame + tpz_bytes.foot([(len(opening), 64)], end))
    refuses_stream(tensorpress, opening + frame + tpz_bytes.foot([(len(opening), claimed)], end))
    huge_head = tpz_bytes.section(b"HEAD", bytes(64), claimed_bytes=claimed)
    refuses_stream(tensorpress, tpz_bytes.prologue() + huge_head)
    chunk = tpz_bytes.section(b"CHNK", bytes(64))
    closing = tpz_bytes.foot([(len(opening), 64)], len(opening + chunk), claimed_chunks=claimed)
    refuses_stream(tensorpress, opening + chunk + closing)


@needs_xxh3
@pytest.mark.parametrize(
    "codec, parameters",
    [("zstd", []), ("dct-chop", [("cf", "9")]), ("dct-chop", [("cf", "4"), ("colour", "red")])],
    ids=["codec", "value", "parameter"],
)
def test_unknown_codecs_and_parameters_are_refused(tensorpress, stream, codec, parameters):
    opening = tpz_bytes.prologue() + tpz_bytes.head(
        [8, 8], [8, 8], codec=codec, parameters=parameters
    )
    chunk = tpz_bytes.section(b"CHNK", bytes(64))
    refuses_stream(
        tensorpress, opening + chunk + tpz_bytes.foot([(len(opening), 64)], len(opening + chunk))
    )


def test_skip_corrupt_saves_the_other_chunks(tensorpress, stream):
    tensorpress("decompress", "x.tpz", "-o", "whole.npy")
    damaged = bytearray(stream)
    damaged[tpz_reader.payload_places(stream)[1] + 68] ^= 4
    (tensorpress.directory / "bad.tpz").write_bytes(damaged)
    sentence = tensorpress.refuses("decompress", "bad.tpz", "-o", "rest.npy")
    assert "chunk 1" in sentence and "--skip-corrupt" in sentence
    for source, stdin in (("bad.tpz", b""), ("-", bytes(damaged))):
        outcome = tensorpress(
            "decompress",
            source,
            "--skip-corrupt",
            "-o",
            "rest.npy",
            "--force",
            "--json",
            status=1,
            stdin=stdin,
        )
        assert outcome.json["skipped_chunks"] == 1
        assert "chunk 1, [1:2, 0:32, 0:32], is filled with NaN: " in outcome.err
        assert outcome.err.count("\n") == 1
        whole, rest = (np.load(tensorpress.directory / name) for name in ("whole.npy", "rest.npy"))
        np.testing.assert_array_equal(rest[[0, 2, 3]], whole[[0, 2, 3]])
        assert np.isnan(rest[1]).all()


def test_skip_corrupt_fills_with_the_fill_value_if_there_is_one(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((4, 32, 32)))
    options = ["--chunk-shape", "1x32x32", "--fill", "-1e34", "--fill", "7"]
    tensorpress("compress", "x.npy", "--abs", "1e-2", *options)
    damaged = bytearray((tensorpress.directory / "x.tpz").read_bytes())
    damaged[tpz_reader.payload_places(bytes(damaged))[3] + 8] ^= 1
    (tensorpress.directory / "bad.tpz").write_bytes(damaged)
    outcome = tensorpress("decompress", "bad.tpz", "--skip-corrupt", "-o", "rest.npy", status=1)
    assert "chunk 3, [3:4, 0:32, 0:32], is filled with -1e+34: " in outcome.err
    assert (np.load(tensorpress.directory / "rest.npy")[3] == np.float32(-1e34)).all()


def test_skip_corrupt_fills_whole_numbers_with_zeros(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((4, 32, 32), "u1"))
    tensorpress("compress", "x.npy", "--codec", "dct-chop", "--chunk-shape", "1x32x32")
    damaged = bytearray((tensorpress.directory / "x.tpz").read_bytes())
    damaged[tpz_reader.payload_places(bytes(damaged))[3] + 8] ^= 1
    (tensorpress.directory / "bad.tpz").write_bytes(damaged)
    outcome = tensorpress("decompress", "bad.tpz", "--skip-corrupt", "-o", "rest.npy", status=1)
    assert "is filled with 0: " in outcome.err
    assert not np.load(tensorpress.directory / "rest.npy")[3].any()


def test_skip_corrupt_finds_the_chunks_of_a_file_that_lost_its_end(tensorpress, stream):
    tensorpress("decompress", "x.tpz", "-o", "whole.npy")
    whole = np.load(tensorpress.directory / "whole.npy")
    last = tpz_reader.payload_places(stream)[3]
    damaged = {"end": stream[:-20], "more": stream + b"junk", "last chunk": stream[: last + 50]}
    for name, content in damaged.items():
        (tensorpress.directory / "bad.tpz").write_bytes(content)
        tensorpress.refuses("decompress", "bad.tpz", "-o", "rest.npy")
        outcome = tensorpress(
            *["decompress", "bad.tpz", "--skip-corrupt", "-o", "rest.npy", "--force", "--json"],
            status=1,
        )
        assert outcome.json["skipped_chunks"] == (name == "last chunk")
        assert "looked for one by one" in outcome.err
        rest = np.load(tensorpress.directory / "rest.npy")
        kept = len(whole) - (name == "last chunk")
        np.testing.assert_array_equal(rest[:kept], whole[:kept])


@pytest.mark.parametrize("verb", ["compress", "decompress", "info", "verify"])
def test_missing_files_and_directories_are_refused(tensorpress, verb):
    (tensorpress.directory / "folder").mkdir()
    extra = ["x.tpz"] if verb == "verify" else []
    assert "nowhere" in tensorpress.refuses(verb, "nowhere", *extra)
    assert "directory" in tensorpress.refuses(verb, "folder", *extra)


@pytest.mark.parametrize("output", ["nowhere/x.raw", "x.npy/x.raw", "/proc/x.raw"])
@pytest.mark.parametrize("verb, source", [("compress", "x.npy"), ("decompress", "x.tpz")])
def test_unwritable_outputs_are_refused(tensorpress, stream, verb, source, output):
    (tensorpress.directory / "folder").mkdir()
    before = sorted(os.listdir(tensorpress.directory))
    assert output.split("/")[-1] in tensorpress.refuses(verb, source, "-o", output)
    assert sorted(os.listdir(tensorpress.directory)) == before


def test_a_read_only_file_is_not_replaced(tensorpress, stream):
    (tensorpress.directory / "x.tpz").chmod(0o444)
    argv = [tensorpress.path, "compress", "x.npy", "--cf", "1", "--force"]
    if os.geteuid() == 0:  # who may write everywhere, unless the right to do so is given up
        argv = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override", *argv]
    done = subprocess.run(argv, cwd=tensorpress.directory, capture_output=True, text=True)
    assert done.returncode == 2 and "x.tpz" in done.stderr, done.stderr
    assert (tensorpress.directory / "x.tpz").read_bytes() == stream


@pytest.mark.parametrize("verb, source", [("compress", "x.npy"), ("decompress", "x.tpz")])
def test_a_full_device_is_reported(tensorpress, stream, verb, source):
    flags = ["--cf", "4"] if verb == "compress" else []
    assert "No space left" in tensorpress.refuses(verb, source, *flags, "-o", "/dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [tensorpress.path, verb, source, *flags, "-o", "-"],
            cwd=tensorpress.directory,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 2
    assert b"No space left" in done.stderr and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["info"], ["info", "x.tpz", "--json"], ["verify", "x.npy", "x.tpz"]],
    ids=" ".join,
)
def test_a_report_that_cannot_be_written_is_an_error(tensorpress, stream, arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [tensorpress.path, *arguments],
            cwd=tensorpress.directory,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


def test_a_full_disk_keeps_the_old_file(tensorpress, stream, smooth, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True
    ).returncode:
        pytest.skip("no right to mount a small file system")
    try:
        (disk / "x.tpz").write_bytes(b"a good file")
        (disk / "x.npy").write_bytes(b"a good file")
        np.save(tensorpress.directory / "large.npy", smooth((64, 64, 64)))
        tensorpress("compress", "--codec", "dct-chop", "large.npy", "-o", "large.tpz")
        assert "No space left" in tensorpress.refuses(
            "compress", "--codec", "dct-chop", "large.npy", "-o", disk / "x.tpz", "--force"
        )
        assert "No space left" in tensorpress.refuses(
            "decompress", "large.tpz", "-o", disk / "x.npy", "--force"
        )
        for name in ("x.nc", "x.cdf"):
            sentence = tensorpress.refuses("decompress", "large.tpz", "-o", disk / name)
            assert "cannot " in sentence and "--skip-corrupt" not in sentence, sentence
        assert sorted(os.listdir(disk)) == ["x.npy", "x.tpz"]
        assert (disk / "x.tpz").read_bytes() == (disk / "x.npy").read_bytes() == b"a good file"
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    "shape, dtype", [("4x32x33", "f32"), ("4x32x32", "f64"), ("4x32x31", "f32"), ("", "u8")]
)
def test_a_raw_file_must_have_the_size_of_its_shape(tensorpress, smooth, shape, dtype):
    smooth((4, 32, 32)).tofile(tensorpress.directory / "x.raw")
    sentence = tensorpress.refuses(
        "compress", "--codec", "dct-chop", "x.raw", f"--shape={shape or 'scalar'}", "--dtype", dtype
    )
    assert "x.raw" in sentence and str(4 * 32 * 32 * 4) in sentence
    tensorpress.refuses(
        "compress",
        "--codec",
        "dct-chop",
        "-",
        f"--shape={shape or 'scalar'}",
        "--dtype",
        dtype,
        "-o",
        "y.tpz",
        stdin=(tensorpress.directory / "x.raw").read_bytes(),
    )
    assert os.listdir(tensorpress.directory) == ["x.raw"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--cf", "0"],
        ["--cf", "9"],
        ["--cf", "-1"],
        ["--cf", "four"],
        ["--transform", "zfp", "--cf", "5"],
    ],
    ids=" ".join,
)
def test_chop_factors_out_of_range_are_refused(tensorpress, stream, flags):
    sentence = tensorpress.refuses("compress", "--codec", "dct-chop", "x.npy", *flags)
    assert flags[-1] in sentence
    assert (tensorpress.directory / "x.tpz").read_bytes() == stream


@pytest.mark.parametrize("value, name", [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "inf")])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_nan_and_infinity_are_refused_with_their_position(tensorpress, smooth, value, name, dtype):
    array = smooth((3, 40, 50), dtype)
    array[1, 17, 33] = array[2, 1, 1] = value
    np.save(tensorpress.directory / "x.npy", array)
    sentence = tensorpress.refuses("compress", "x.npy", "--cf", 4)
    assert name in sentence.lower() and "x.npy" in sentence
    position = (
        sentence.replace(",", " ")
        .replace("[", " ")
        .replace("]", " ")
        .replace("(", " ")
        .replace(")", " ")
    )
    assert " 1  17  33 " in position or " 1 17 33 " in " ".join(position.split()) + " "
    assert os.listdir(tensorpress.directory) == ["x.npy"]


NPY = {
    "empty file": b"",
    "text": b"1,2,3\n4,5,6\n",
    "no header": b"\x93NUMPY\x01\x00",
    "no dict": b"\x93NUMPY\x01\x00\x10\x00hello, numpy    ",
    "objects": b"\x93NUMPY\x01\x00\x36\x00{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
    "complex": b"\x93NUMPY\x01\x00\x37\x00{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}"
    + bytes(24),
    "huge header": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{",
    "absurd shape": b"\x93NUMPY\x01\x00\x4f\x00"
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808, 4)}   ",
    "negative shape": b"\x93NUMPY\x01\x00\x38\x00"
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
    "cut off": b"\x93NUMPY\x01\x00\x39\x00{'descr': '<f4', 'fortran_order': False, 'shape': (300,)}"
    + bytes(24),
}


@pytest.mark.parametrize("data", NPY.values(), ids=NPY.keys())
def test_bad_npy_files_are_refused(tensorpress, data):
    (tensorpress.directory / "x.npy").write_bytes(data)
    assert "x.npy" in tensorpress.refuses("compress", "--codec", "dct-chop", "x.npy")
    tensorpress.refuses("compress", "--codec", "dct-chop", "-", "-o", "y.tpz", stdin=data)
    assert os.listdir(tensorpress.directory) == ["x.npy"]


def test_verify_refuses_another_tensor(tensorpress, stream, smooth):
    np.save(tensorpress.directory / "y.npy", smooth((4, 32, 31)))
    np.save(tensorpress.directory / "z.npy", smooth((4, 32, 32), "f8"))
    assert "4x32x31" in tensorpress.refuses("verify", "y.npy", "x.tpz")
    assert "f64" in tensorpress.refuses("verify", "z.npy", "x.tpz")
