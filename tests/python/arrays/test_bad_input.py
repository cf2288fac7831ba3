"""Wrong arguments and hostile bytes are exceptions that callers expect, with the library's own
words; the interpreter lives on."""

import pathlib
import sys

import numpy as np
import pytest
import torch
from conftest import waves
from numpy.lib.stride_tricks import as_strided

import tensorpress

PACKED = tensorpress.compress(waves((16, 16)), absolute=1e-3)
ARRAY = waves((16, 16))


@pytest.mark.parametrize(
    "array, words",
    [
        (ARRAY.astype("int32"), "int32"),
        (ARRAY.astype("complex64"), "complex64"),
        (ARRAY > 0, "bool"),
        (np.array(["a", "b"]), "U1"),
        (np.array([1.0, None]), "Python objects"),
        (np.zeros(3, "datetime64[s]"), "datetime64"),
        (np.zeros(3, [("x", "f4")]), "not supported"),
        (np.ma.masked_array([1, 2], [True, False], dtype="i2"), "filled"),
        (torch.zeros(3, dtype=torch.int64), "element type"),
        (torch.zeros(3, device="meta"), "torch.Tensor"),
        ([1.0, 2.0], "cannot compress an object of type list"),
        ("wind.npy", "cannot compress 'wind.npy'.* numpy.load"),
        (pathlib.Path("wind.npy"), "cannot compress 'wind.npy'.* numpy.load"),
        (1.5, "float"),
        (None, "NoneType"),
        (b"bytes are integers", "u8"),
    ],
)
def test_what_cannot_be_compressed_is_a_type_error(array, words):
    with pytest.raises(TypeError, match=words):
        tensorpress.compress(array, absolute=1e-3)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({}, "none is given: absolute="),
        ({"absolute": 1, "relative": 1}, "one bound at a time: absolute, relative"),
        ({"absolute": -1}, "must not be negative"),
        ({"absolute": float("nan")}, "finite"),
        ({"relative": float("inf")}, "finite"),
        ({"pointwise_relative": 1.0}, "below 1"),
        ({"ratio": 0.5}, "at least 1"),
        ({"codec": "sz3", "absolute": 1}, "there is no codec 'sz3'; this build has dense"),
        ({"codec": "dct-chop", "cf": 9}, "1 to 8"),
        ({"codec": "dct-chop", "absolute": 1}, "takes no bound such as absolute="),
        ({"absolute": 1, "cf": 4}, "codec dense has no parameter 'cf'; it takes effort"),
        ({"relatve": 1e-3}, "bound is one of absolute, relative, .* Did you mean relative[?]"),
        ({"abs": 1e-3}, "Did you mean absolute[?]"),
        ({"pw_rel": 1e-3}, "Did you mean pointwise_relative[?]"),
        ({"absolute": 1, "efort": "fast"}, "Did you mean effort[?]"),
        ({"absolute": 1, "thread": 2}, "Did you mean threads[?]"),
        ({"codec": "dct-chop", "chop": 2}, "it takes cf, [^.]*$"),
        ({"absolute": 1, "limit": 2}, "comes from the data"),
        ({"absolute": 1, "effort": "heroic"}, "heroic"),
        ({"absolute": 1, "threads": -1}, "threads=-1 is not in 0..1024; 0 is all cores"),
        ({"absolute": 1, "threads": 10**9}, "threads="),
        ({"absolute": 1, "chunk_shape": (0, 4)}, "an extent of 0"),
        ({"absolute": 1, "chunk_shape": (10**30, 4)}, "an extent of 1000"),
        ({"absolute": 1, "chunk_shape": (4,)}, "dimension|rank|axes"),
        ({"absolute": 1, "value_range": (2, 1)}, "range"),
        ({"absolute": 1, "fill_values": list(range(40))}, "fill values"),
        ({"codec": tensorpress.Codec(absolute=1), "relative": 1}, "already says how"),
    ],
)
def test_a_bad_argument_is_a_value_error_that_names_it(arguments, words):
    with pytest.raises(ValueError, match=words):
        tensorpress.compress(ARRAY, **arguments)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"absolute": "1e-3"}, "absolute must be a number, not '1e-3'"),
        ({"absolute": True}, "absolute must be a number, not True"),
        ({"codec": 5, "absolute": 1}, "a codec is given by name"),
        ({"absolute": 1, "effort": ["fast"]}, "effort must be"),
        ({"absolute": 1, "threads": 1.5}, "threads takes whole numbers, and 1.5"),
        ({"relative": 0.1, "whole_range": 1}, "whole_range is True or False, not 1"),
        ({"absolute": 1, "attributes": {"units": 5}}, "attributes are texts"),
        ({"absolute": 1, "attributes": ["a"]}, "attributes is a dict of texts"),
        ({"absolute": 1, "fill_values": ["x"]}, "fill_values takes numbers, and 'x'"),
        ({"absolute": 1, "fill_values": ["5"]}, "fill_values takes numbers, and '5'"),
        ({"absolute": 1, "fill_values": "999"}, "fill_values takes numbers, and '999'"),
        ({"absolute": 1, "fill_values": [1j]}, "fill_values takes numbers, and 1j"),
        ({"absolute": 1, "value_range": 5}, "value_range is .low, high., not 5"),
        ({"absolute": 1, "value_range": (0, "1")}, "value_range takes numbers, and '1'"),
        ({"absolute": 1, "chunk_shape": 5}, "chunk_shape has one extent for each axis"),
        ({"absolute": 1, "chunk_shape": "ab"}, "chunk_shape has one extent for each axis"),
        ({"absolute": 1, "chunk_shape": (4.5, 4)}, "chunk_shape takes whole numbers, and 4.5"),
    ],
)
def test_an_argument_of_a_wrong_type_is_a_type_error_that_names_it(arguments, words):
    with pytest.raises(TypeError, match=words):
        tensorpress.compress(ARRAY, **arguments)


def test_nine_dimensions_are_refused():
    with pytest.raises(ValueError, match="limit is 8"):
        tensorpress.compress(np.zeros((1,) * 9), absolute=1)


@pytest.mark.parametrize(
    "stream",
    [b"", b"x", b"not a stream at all", PACKED[:-1], PACKED[: len(PACKED) // 2], PACKED + b"x"],
)
def test_bytes_that_are_no_stream_are_a_corrupt_error(stream):
    for use in (tensorpress.decompress, tensorpress.info, tensorpress.open):
        with pytest.raises(tensorpress.CorruptError):
            use(stream)
    assert issubclass(tensorpress.CorruptError, ValueError)


def test_no_flipped_bit_goes_unnoticed_or_ends_the_process():
    expected = tensorpress.decompress(PACKED)
    for position in range(len(PACKED)):
        broken = bytearray(PACKED)
        broken[position] ^= 0x10
        try:
            copy = tensorpress.decompress(broken, max_bytes=1 << 20)
        except ValueError:
            continue
        assert np.array_equal(copy, expected), position  # bytes that mean nothing


@pytest.mark.parametrize("stream", [5, None, 2.5, [1, 2]])
def test_a_stream_that_is_no_buffer_is_a_type_error(stream):
    for use in (tensorpress.decompress, tensorpress.info, tensorpress.open):
        with pytest.raises(TypeError, match=f"a stream is bytes .* not a {type(stream).__name__}"):
            use(stream)
    with pytest.raises(TypeError, match="a stream is bytes"):
        tensorpress.decompress(stream, np.empty((16, 16), "f4"))


@pytest.mark.parametrize("path", ["wind.tpz", pathlib.Path("wind.tpz")])
def test_a_path_where_bytes_are_wanted_is_told_the_way(path):
    with pytest.raises(TypeError, match=r"use tensorpress.load\('wind.tpz'\)"):
        tensorpress.decompress(path)


def test_a_stream_in_pieces_is_refused():
    with pytest.raises(ValueError, match="contiguous"):
        tensorpress.decompress(memoryview(PACKED + PACKED)[::2])


@pytest.mark.parametrize(
    "out, kind, words",
    [
        (np.empty((16, 15), "f4"), ValueError, "16x16.*16x15"),
        (np.empty((8, 32), "f4"), ValueError, "shape"),
        (np.empty((16, 16), "f8"), ValueError, "f64"),
        (np.empty((16, 16), "i4"), TypeError, "int32"),
        (np.empty((16, 16), object), TypeError, "objects"),
        (np.empty((16, 16), ">f4"), ValueError, "byte order"),
        (np.broadcast_to(np.float32(0), (16, 16)), ValueError, "read-only"),
        (bytes(1024), ValueError, "read-only"),
        (bytearray(10), ValueError, "shape"),
        (torch.empty(16, 15), ValueError, "shape"),
        (torch.empty(16, 16, dtype=torch.int32), TypeError, "element type"),
        (torch.empty(16, 1).expand(16, 16), ValueError, "share memory"),
        (torch.empty(31).as_strided((16, 16), (1, 1)), ValueError, "share memory"),
        (as_strided(np.empty(143, "f4"), (16, 16), (32, 4)), ValueError, "share memory"),
        (as_strided(np.empty(143, "f4")[127:], (16, 16), (-32, 4)), ValueError, "share memory"),
        (torch.empty(16, 16, dtype=torch.complex64).conj().imag, ValueError, "signs"),
        (np.ma.masked_all((16, 16), "f4"), TypeError, "masked"),
        ("text", TypeError, "cannot decompress into an object of type str"),
    ],
)
def test_an_out_that_does_not_fit_is_refused(out, kind, words):
    with pytest.raises(kind, match=words):
        tensorpress.decompress(PACKED, out=out)


def test_max_bytes_refuses_before_anything_is_allocated():
    huge = tensorpress.compress(
        np.broadcast_to(np.float32(1), (1 << 14, 1 << 12)), "ceresz", absolute=1
    )
    assert len(huge) < 1 << 22
    with pytest.raises(tensorpress.TooLargeError, match="max_bytes"):
        tensorpress.decompress(huge, max_bytes=1 << 20)
    with pytest.raises(TypeError, match="max_bytes takes whole numbers, and '1e9'"):
        tensorpress.decompress(PACKED, max_bytes="1e9")
    with pytest.raises(ValueError, match="max_bytes=-1 is below 0"):
        tensorpress.decompress(PACKED, np.empty((16, 16), "f4"), max_bytes=-1)
    assert tensorpress.decompress(PACKED, max_bytes=1 << 80).shape == (16, 16)


def test_bfloat16_without_ml_dtypes_says_what_to_do(monkeypatch):
    packed = tensorpress.compress(torch.zeros(4, dtype=torch.bfloat16), absolute=1)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="ml_dtypes.*torch.bfloat16"):
        tensorpress.decompress(packed)


def test_a_verified_original_must_be_the_same_kind():
    with pytest.raises(ValueError, match="f64 16x16 but the stream holds f32"):
        tensorpress.verify(ARRAY.astype("f8"), PACKED)
    for original, words in [
        ("wind.npy", "'wind.npy'.* numpy.load"),
        ([1.0], "an object of type list"),
    ]:
        with pytest.raises(TypeError, match=f"cannot compare the stream with {words}"):
            tensorpress.verify(original, PACKED)


def test_files_that_cannot_be_read_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        tensorpress.open(tmp_path / "absent.tpz")
    with pytest.raises(IsADirectoryError):
        tensorpress.info(tmp_path)
    (tmp_path / "not.tpz").write_text("no stream")
    with pytest.raises(tensorpress.CorruptError):
        tensorpress.open(tmp_path / "not.tpz")


@pytest.mark.parametrize(
    "room, kind, words",
    [
        (bytearray(100), ValueError, "too few|are needed"),
        (bytes(10000), ValueError, "writable"),
        (np.empty((100, 100), "u1")[:, ::2], ValueError, "contiguous"),
        (5, TypeError, "not a int"),
    ],
)
def test_room_for_a_stream_that_does_not_do_is_refused(room, kind, words):
    with pytest.raises(kind, match=words):
        tensorpress.compress(ARRAY, absolute=1e-3, out=room)


def test_a_stream_and_its_array_must_not_share_memory():
    memory = np.zeros(4 * ARRAY.nbytes, "uint8")
    array = memory[: ARRAY.nbytes].view("float32").reshape(16, 16)[::-1]
    with pytest.raises(ValueError, match="share memory"):
        tensorpress.compress(array, absolute=1e-3, out=memory[4:])
    memory[100 : 100 + len(PACKED)] = np.frombuffer(PACKED, "uint8")
    with pytest.raises(ValueError, match="share memory"):
        tensorpress.decompress(memory[100 : 100 + len(PACKED)], out=array)
    with (
        tensorpress.open(memory[100 : 100 + len(PACKED)]) as reader,
        pytest.raises(ValueError, match="share memory"),
    ):
        reader.read(array)
    apart = memory[2 * ARRAY.nbytes : 3 * ARRAY.nbytes].view("float32").reshape(16, 16)
    tensorpress.decompress(memory[100 : 100 + len(PACKED)], out=apart)
