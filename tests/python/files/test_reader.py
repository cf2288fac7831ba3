"""tensorpress.open: slices as NumPy takes them, from the chunks they need."""

import pickle
import threading

import numpy as np
import pytest
import torch
from conftest import error_of

import tensorpress

INDICES = {
    "part": np.s_[0:10, :, 5],
    "whole": np.s_[:],
    "ellipsis": np.s_[..., 3],
    "everything": np.s_[...],
    "nothing": (),
    "negative": np.s_[-1, -5:, -40],
    "steps": np.s_[1:19:3, ::7, ::-2],
    "backwards": np.s_[::-1, 5:1:-1, 3],
    "empty": np.s_[5:5, :, ::2],
    "beyond": np.s_[15:99, -99:3, 0],
    "numpy integers": (np.int64(3), slice(np.int32(1), None), np.uint8(2)),
    "one element": np.s_[1, 2, 3],
}


@pytest.mark.parametrize("name", INDICES)
def test_a_slice_is_what_numpy_would_give(tpz, name):
    with tensorpress.open(tpz) as reader:
        whole = reader.read()
        part = reader[INDICES[name]]
    expected = whole[INDICES[name]]
    assert np.shape(part) == np.shape(expected) and np.array_equal(part, expected)


@pytest.mark.parametrize(
    "index, kind",
    [
        (20, IndexError),
        (-21, IndexError),
        (np.s_[0, 0, 40], IndexError),
        (np.s_[0, 0, 0, 0], IndexError),
        (np.s_[..., 0, ...], IndexError),
        ([1, 2], TypeError),
        (np.array([True]), TypeError),
        (True, TypeError),
        (None, TypeError),
        ("x", TypeError),
        (1.5, TypeError),
        (slice("a", "b"), TypeError),
    ],
)
def test_a_bad_index_is_the_exception_that_numpy_users_expect(tpz, index, kind):
    with tensorpress.open(tpz) as reader, pytest.raises(kind):
        reader[index]


def test_it_knows_what_it_holds(tpz, field):
    with tensorpress.open(tpz) as reader:
        assert (reader.shape, reader.dtype, reader.ndim, reader.size) == (
            (20, 30, 40),
            np.float32,
            3,
            24000,
        )
        assert (
            reader.nbytes == field.nbytes
            and len(reader) == 20
            and reader.chunk_shape == (8, 16, 16)
        )
        assert error_of(np.asarray(reader), field) <= 1e-3
        assert np.asarray(reader, dtype="f8").dtype == np.float64
        assert "open" in repr(reader)


def test_only_the_chunks_of_a_slice_are_read(tpz):
    """Bytes of the last chunk are broken: slices without it do not notice, slices with it do."""
    stream = bytearray(tpz.read_bytes())
    footer = int.from_bytes(stream[-12:-4], "little")
    stream[footer - 20] ^= 0xFF
    tpz.write_bytes(stream)
    with tensorpress.open(tpz) as reader:
        assert reader[0:8, :, 0:16].shape == (8, 30, 16)
        with pytest.raises(tensorpress.CorruptError, match="chunk 17"):
            reader[19, 29, 39]


def test_long_steps_leave_the_chunks_between_them_alone(field):
    """And what they give holds no more memory than it shows."""
    stream = bytearray(tensorpress.compress(field, absolute=1e-3, chunk_shape=(1, 30, 40)))
    whole = tensorpress.decompress(stream)
    first = tensorpress.compress(field[:3], absolute=1e-3, chunk_shape=(1, 30, 40))
    footer = int.from_bytes(first[-12:-4], "little")  # three chunks end there
    stream[footer + 40] ^= 0xFF
    with tensorpress.open(stream) as reader:
        for index in (np.s_[::5], np.s_[18::-4, 1::2], np.s_[1:2:9, ..., ::-1]):
            part = reader[index]
            assert np.array_equal(part, whole[index])
            assert (part if part.base is None else part.base).nbytes == part.nbytes
        with pytest.raises(tensorpress.CorruptError):
            reader[::3]


def test_reading_into_out(tpz):
    with tensorpress.open(tpz, threads=2) as reader:
        whole = reader.read()
        out = torch.empty(reader.shape)
        assert reader.read(out) is out and np.array_equal(out.numpy(), whole)
        with pytest.raises(ValueError, match="shape"):
            reader.read(np.empty((20, 30, 39), "f4"))
        with pytest.raises(ValueError, match="shape"):
            reader.read(bytearray(whole.nbytes))


@pytest.mark.parametrize(
    "index, words",
    [
        (np.array([1, 2]), r"an array of int64 of shape \(2,\)"),
        (np.zeros((20, 30, 40), bool), r"an array of bool of shape \(20, 30, 40\)"),
        (torch.zeros(20, dtype=torch.bool), r"an array of torch.bool of shape \(20,\)"),
        ([0, 1], r"\[0, 1\]"),
        (True, "True"),
        (None, "None"),
        (1.0, "1.0"),
    ],
)
def test_what_is_no_slice_is_refused_in_one_sentence(tpz, index, words):
    with tensorpress.open(tpz) as reader:
        for entries in (index, (0, index)):
            with pytest.raises(TypeError, match=f"integers, slices .* not {words}: read a slice"):
                reader[entries]


def test_a_closed_reader_is_a_value_error(tpz):
    with tensorpress.open(tpz) as reader:
        pass
    assert reader.closed and "closed" in repr(reader)
    for use in (lambda: reader[0], lambda: reader.read(), lambda: pickle.dumps(reader)):
        with pytest.raises(ValueError, match="closed"):
            use()
    reader.close()


def test_a_pickled_reader_opens_its_file_again(tpz):
    with (
        tensorpress.open(tpz, threads=2) as reader,
        pickle.loads(pickle.dumps(reader)) as again,
    ):
        assert np.array_equal(again[3], reader[3])


def test_a_pickled_reader_finds_its_file_from_another_folder(tpz, monkeypatch):
    monkeypatch.chdir(tpz.parent)
    with tensorpress.open(tpz.name) as reader:
        pickled, expected = pickle.dumps(reader), reader[3]
    monkeypatch.chdir("/")
    with pickle.loads(pickled) as copy:
        assert np.array_equal(copy[3], expected)


def test_a_buffer_is_read_like_a_file(tpz):
    stream = bytearray(tpz.read_bytes())
    with tensorpress.open(stream) as reader, tensorpress.open(tpz) as from_file:
        assert np.array_equal(reader[2:5], from_file[2:5])
        with pytest.raises(BufferError):
            stream.clear()  # still in use
    stream.clear()


def test_closing_while_others_read_takes_nothing_from_under_them(tpz):
    for _ in range(20):
        reader = tensorpress.open(tpz)
        outcomes = []

        def read(reader=reader, outcomes=outcomes):
            try:
                outcomes.append(reader.read().shape)
            except ValueError as error:
                outcomes.append(str(error))

        readers = [threading.Thread(target=read) for _ in range(4)]
        for each in readers:
            each.start()
        reader.close()
        for each in readers:
            each.join()
        assert set(outcomes) <= {(20, 30, 40), "the reader is closed"} and len(outcomes) == 4
