"""Datasets written and read by h5py: every codec, type, byte order and shape; the bound on what
comes back."""

import itertools
import threading

import h5py
import numpy as np
import pytest

from tensorpress import hdf5
from tensorpress.hdf5 import Filter

BOUNDED = ("dense", "ceresz", "ceresz2")
TYPES = ("<f4", ">f4", "<f8", ">f8", "<f2", ">f2")
# Shape and chunks: not divisible, one element, extents of 1, a line, many axes.
SHAPES = [
    ((100, 37), (33, 37)),
    ((1, 1), (1, 1)),
    ((5, 1, 64), (2, 1, 50)),
    ((1000,), (333,)),
    ((3, 4, 5, 6, 7), (2, 4, 3, 6, 2)),
    ((2, 2, 2, 2, 2, 2, 2, 2, 2, 5), (2, 1, 2, 2, 2, 2, 2, 2, 2, 3)),
]


def write(path, data, chunks, options, **more):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=data, chunks=chunks, **options, **more)
    return path


def read(path):
    with h5py.File(path) as file:
        return file["x"][...]


def largest_error(data, back):
    return np.abs(back.astype(np.float64) - data.astype(np.float64)).max()


@pytest.mark.parametrize("codec", BOUNDED)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, chunks", SHAPES)
def test_absolute_bound_holds(tmp_path, field, codec, dtype, shape, chunks):
    data = field(shape, dtype)
    back = read(write(tmp_path / "x.h5", data, chunks, Filter(codec, absolute=0.05)))
    assert back.dtype == data.dtype and back.shape == data.shape
    assert largest_error(data, back) <= 0.05


@pytest.mark.parametrize("codec", BOUNDED)
def test_relative_bound_is_of_each_chunk_without_the_padding(tmp_path, field, codec):
    data = field((50, 40))
    data[:25] *= 100
    back = read(write(tmp_path / "x.h5", data, (25, 27), Filter(codec, relative=1e-2)))
    for rows, columns in itertools.product(
        (slice(0, 25), slice(25, 50)), (slice(0, 27), slice(27, 40))
    ):
        part = data[rows, columns]
        assert largest_error(part, back[rows, columns]) <= 1e-2 * np.ptp(part.astype(np.float64))


@pytest.mark.parametrize("dtype", TYPES)
def test_pointwise_bound_holds(tmp_path, field, dtype):
    data = field((40, 50), dtype)
    data[3] = -data[3]
    data[5, 5] = 0
    back = read(write(tmp_path / "x.h5", data, (16, 16), Filter(pointwise_relative=1e-2)))
    wide = data.astype(np.float64)
    assert (np.abs(back.astype(np.float64) - wide) <= 1e-2 * np.abs(wide)).all()


def test_peak_signal_to_noise_ratio_holds(tmp_path, field):
    data = field((64, 64))
    back = read(write(tmp_path / "x.h5", data, (64, 64), Filter(psnr=60)))
    error = np.sqrt(np.mean((back.astype(np.float64) - data) ** 2))
    assert 20 * np.log10(np.ptp(data.astype(np.float64)) / error) >= 60


@pytest.mark.parametrize("dtype", TYPES)
def test_dct_chop_has_its_fixed_rate(tmp_path, field, dtype):
    data = field((64, 64), dtype)
    path = write(tmp_path / "x.h5", data, (64, 64), Filter(cf=2))
    assert largest_error(data, read(path)) < 1.0
    with h5py.File(path) as file:
        # 2 x 2 of 8 x 8 coefficients as f32, and the container.
        assert file["x"].id.get_storage_size() < 64 * 64 * 4 // 16 + 400


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("codec", BOUNDED)
def test_nan_infinities_and_fill_values_come_back_bit_for_bit(tmp_path, field, dtype, codec):
    data = field((60, 70), dtype)
    data[10:20, 5:30] = np.nan
    data[0, 0], data[1, 1] = np.inf, -np.inf
    data[30:40] = -999
    data[50, 3:9] = 5000
    ordinary = np.isfinite(data) & (data != -999) & (data != 5000)
    options = Filter(codec, relative=1e-2, fill_values=[5000])
    back = read(write(tmp_path / "x.h5", data, (32, 32), options, fillvalue=-999))
    assert data[~ordinary].tobytes() == back[~ordinary].tobytes()
    allowed = 1e-2 * np.ptp(data[ordinary].astype(np.float64))
    assert largest_error(data[ordinary], back[ordinary]) <= allowed


@pytest.mark.parametrize("named", [{"fillvalue": -5}, {}], ids=["a fill value", "no fill value"])
@pytest.mark.parametrize("bound", [{"relative": 1e-3}, {"psnr": 70}], ids=["relative", "psnr"])
@pytest.mark.parametrize(
    "extremes", [(1e20,), (-1e20,), (-1e20, 1e20), (-999, 1e20)], ids=lambda values: str(values)
)
@pytest.mark.parametrize("dtype", ("<f4", ">f8"))
def test_unnamed_extremes_do_not_count_and_come_back_bit_for_bit(
    tmp_path, field, dtype, extremes, bound, named
):
    """HDF5 may write a chunk when the program is long past the call: no time for a refusal."""
    data = field((64, 64), dtype)
    for row, extreme in enumerate(extremes):
        data[row, :9] = extreme
    if named:
        data[40:, 40:] = named["fillvalue"]
    ordinary = (data > 200) & (data < 400)
    back = read(write(tmp_path / "x.h5", data, (64, 64), Filter(**bound), **named))
    assert data[~ordinary].tobytes() == back[~ordinary].tobytes()
    width = np.ptp(data[ordinary].astype("f8"))
    assert largest_error(data[ordinary], back[ordinary]) <= 2e-3 * width


@pytest.mark.parametrize("fills", [{"fillvalue": -999}, {}], ids=["dataset's", "filter's"])
def test_dct_chop_gives_fill_values_back(tmp_path, field, fills):
    data = field((64, 64))
    data[3:9, 3:9] = -999
    options = Filter(cf=4, fill_values=() if fills else [-999])
    back = read(write(tmp_path / "x.h5", data, (16, 16), options, **fills))
    assert np.array_equal(back == -999, data == -999)
    assert largest_error(data, back) < 1.0


def test_a_fill_value_is_taken_from_the_dataset(tmp_path, field):
    data = field((30, 30))
    path = write(tmp_path / "x.h5", data, (16, 16), Filter(relative=1e-3), fillvalue=-1e34)
    with h5py.File(path) as file:
        values = file["x"].id.get_create_plist().get_filter(0)[2]
    # docs/hdf5.md: f32 | fill value << 16, then the fill value with its lower half first.
    assert values[8] == 1 | 1 << 16
    assert np.array(values[9:11], "<u4").view("<f8")[0] == np.float32(-1e34)
    assert values[11:] == (2, 16, 16)


def test_filter_works_as_compression_argument_and_says_what_it_is(tmp_path, field):
    data = field((32, 32))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset(
            "x", data=data, chunks=(16, 16), compression=Filter(absolute=0.1)
        )
        assert dataset._filters == {
            str(hdf5.FILTER_ID): dataset.id.get_create_plist().get_filter(0)[2]
        }
    assert largest_error(data, read(tmp_path / "x.h5")) <= 0.1


def test_datasets_grow_and_unwritten_chunks_are_the_fill_value(tmp_path, field):
    data = field((20, 30))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset(
            "x",
            (10, 30),
            "f4",
            chunks=(7, 11),
            maxshape=(None, 30),
            fillvalue=-5,
            **Filter(absolute=0.01),
        )
        dataset[...] = data[:10]
        dataset.resize((40, 30))
        dataset[10:20] = data[10:]
    back = read(tmp_path / "x.h5")
    assert largest_error(data, back[:20]) <= 0.01
    assert (back[21:] == -5).all()


@pytest.mark.parametrize(
    "data",
    [
        np.arange(9),
        np.array([b"ab"] * 9),
        np.zeros(9, [("a", "f4")]),
        np.zeros(9, "c8"),
        np.zeros(9, bool),
    ],
)
def test_what_is_no_float_is_refused_by_name(tmp_path, data):
    with pytest.raises((ValueError, OSError), match="tensorpress filter takes"):
        write(tmp_path / "x.h5", data, (3,), Filter(absolute=1))


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({}, "none is given"),
        ({"absolute": 1, "relative": 1}, "one bound at a time"),
        ({"absolute": -1}, "must not be negative"),
        ({"absolute": float("nan")}, "must be a finite number"),
        ({"codec": "zip", "absolute": 1}, "there is no codec 'zip'"),
        ({"codec": "cast"}, "the HDF5 filter has no codec cast"),
        ({"cf": 9}, "1 to 8"),
        ({"cf": 2, "absolute": 1}, "takes no bound"),
        ({"absolute": 1, "effort": "utmost"}, "effort 'utmost' is not known"),
        ({"codec": "ceresz", "absolute": 1, "effort": "fast"}, "no parameter 'effort'"),
        ({"codec": "ceresz2", "absolute": 1, "codebook": "other"}, "a codebook's text"),
        ({"absolute": 1, "threads": -1}, "threads"),
        ({"absolute": 1, "fill_values": range(16)}, "at most 15"),
    ],
)
def test_wrong_settings_are_refused_when_they_are_made(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Filter(**arguments)


def test_threads_give_the_same_bytes(tmp_path, field, monkeypatch):
    data = field((300, 500), "f8")

    def stored(name):
        path = write(tmp_path / name, data, (300, 500), Filter(relative=1e-4))
        with h5py.File(path) as file:
            return file["x"].id.read_direct_chunk((0, 0))[1]

    alone = stored("1.h5")
    monkeypatch.setenv("TENSORPRESS_HDF5_THREADS", "4")
    assert stored("4.h5") == alone


@pytest.mark.parametrize("dtype", ("<f4", ">f8"))
def test_parallel_writes_and_reads_give_the_same_bytes_and_values(tmp_path, field, dtype):
    data = field((70, 45, 9), dtype)
    data[60:] = -7
    shape = {"shape": data.shape, "dtype": dtype, "chunks": (16, 20, 9), "fillvalue": -7}
    with h5py.File(tmp_path / "x.h5", "w") as file:
        ordinary = file.create_dataset("ordinary", **shape, **Filter(relative=1e-3))
        ordinary[...] = data
        direct = file.create_dataset("direct", **shape, **Filter(relative=1e-3))
        hdf5.write_parallel(direct, data, threads=3)
        file.flush()
        for number in range(ordinary.id.get_num_chunks()):
            origin = ordinary.id.get_chunk_info(number).chunk_offset
            assert ordinary.id.read_direct_chunk(origin) == direct.id.read_direct_chunk(origin)
        assert np.array_equal(hdf5.read_parallel(ordinary, threads=3), direct[...])


def test_parallel_helpers_refuse_other_datasets(tmp_path, field):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        plain = file.create_dataset("x", data=field((8, 8)))
        with pytest.raises(ValueError, match="only filter is tensorpress"):
            hdf5.write_parallel(plain, plain[...])
        ours = file.create_dataset("y", data=field((8, 8)), **Filter(absolute=1))
        with pytest.raises(ValueError, match="does not fit"):
            hdf5.write_parallel(ours, np.zeros((9, 8)))


def test_two_threads_with_files_of_their_own(tmp_path, field):
    data = field((200, 300))
    failures = []

    def work(name):
        try:
            for _ in range(5):
                back = read(write(tmp_path / f"{name}.h5", data, (64, 64), Filter(relative=1e-3)))
                assert largest_error(data, back) <= 1e-3 * np.ptp(data)
        except BaseException as error:  # told to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
