"""Hostile bytes and hostile values: an OSError, and the process lives."""

import h5py
import numpy as np
import pytest

from tensorpress import hdf5
from tensorpress.hdf5 import Filter


@pytest.fixture
def file_with_chunk(tmp_path, field):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=field((64, 64)), chunks=(64, 64), **Filter(absolute=0.01))
        info = file["x"].id.get_chunk_info(0)
        place = info.byte_offset, info.size
    return tmp_path / "x.h5", *place


def test_every_tenth_byte_of_a_chunk_flipped_is_an_error(file_with_chunk):
    path, offset, size = file_with_chunk
    whole = path.read_bytes()
    for at in range(offset, offset + size, 10):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        with h5py.File(path) as file, pytest.raises(OSError):
            file["x"][...]
    path.write_bytes(whole)
    with h5py.File(path) as file:
        assert file["x"][...].shape == (64, 64)


def test_the_error_says_what_is_wrong(file_with_chunk, tool):
    path, offset, size = file_with_chunk
    damaged = bytearray(path.read_bytes())
    damaged[offset + size // 2] ^= 1
    path.write_bytes(damaged)
    # HDF5 2 does not listen to filters while it reads; HDF5 1 of the tools does, and so do our own
    # readers.
    with h5py.File(path) as file, pytest.raises(OSError, match="checksum"):
        hdf5.read_parallel(file["x"])
    assert "checksum" in tool("h5dump", "--enable-error-stack", "-d", "/x", path, status=1)


def test_a_stream_of_another_shape_is_refused(tmp_path, field):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        small = file.create_dataset(
            "small", data=field((8, 8)), chunks=(8, 8), **Filter(absolute=0.01)
        )
        large = file.create_dataset(
            "large", (64, 64), "f4", chunks=(64, 64), **Filter(absolute=0.01)
        )
        large.id.write_direct_chunk((0, 0), small.id.read_direct_chunk((0, 0))[1])
    with h5py.File(tmp_path / "x.h5") as file:
        with pytest.raises(OSError):
            file["large"][...]
        with pytest.raises(OSError, match="the dataset's chunks have"):
            hdf5.read_parallel(file["large"])


HOSTILE_VALUES = [
    (),
    (0,),
    (2, 1, 1, 0, 0),
    (1,),
    (1, 1),
    (1, 1, 0),
    (1, 0, 1, 0, 1072693248),
    (1, 99, 1, 0, 1072693248),
    (1, 1, 9, 0, 1072693248),
    (1, 1, 1, 0, 0xFFF00000),  # minus infinity
    (1, 1, 1, 0, 0x7FF80000),  # NaN
    (1, 1, 1, 0, 1072693248, 77),
    (1, 1, 1, 0, 1072693248, 0, 4294967295),
    (1, 1, 1, 0, 1072693248, 0, 0, 4294967295),
    (1, 1, 1, 0, 1072693248, 0, 0, 2, 0, 0),
    (1, 4, 0, 0, 0, 255),
    (1, 4, 1, 0, 1072693248, 2),
    (1, 1, 1, 0, 1072693248, 0, 0, 0, 1, 0, 0, 3, 1),
    (1, 1, 1, 0, 1072693248, 0, 0, 0, *range(200)),
    (4294967295,) * 20,
]


@pytest.mark.parametrize("values", HOSTILE_VALUES)
def test_hostile_values_do_not_make_a_dataset(tmp_path, values):
    with (
        h5py.File(tmp_path / "x.h5", "w") as file,
        pytest.raises((ValueError, OSError, AssertionError)),
    ):
        file.create_dataset(
            "x",
            data=np.ones((8, 8)),
            chunks=(8, 8),
            compression=hdf5.FILTER_ID,
            compression_opts=values,
        )


def test_hostile_values_in_a_file_are_an_error(file_with_chunk):
    path, _, _ = file_with_chunk
    whole = path.read_bytes()
    with h5py.File(path) as file:
        values = file["x"].id.get_create_plist().get_filter(0)[2]
    stored = np.array(values, "<u4").tobytes()
    at = whole.index(stored)
    generator = np.random.default_rng(3)
    for word in range(len(values)):
        for value in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF, int(generator.integers(2**32))):
            damaged = bytearray(whole)
            damaged[at + 4 * word : at + 4 * word + 4] = value.to_bytes(4, "little")
            path.write_bytes(damaged)
            try:
                with h5py.File(path) as file:
                    assert file["x"][...].shape == (64, 64)
            except (OSError, KeyError, RuntimeError):
                pass
