"""zarr-python itself writes and reads our chunks."""

import concurrent.futures
import json
import pickle

import numpy as np
import pytest
import zarr
from conftest import FLOATS, error_of, real_field, waves

import tensorpress
from tensorpress.zarr import TensorpressCodec


def create(store, original, codec, chunks=(16, 32), **options):
    array = zarr.create_array(
        store,
        shape=original.shape,
        dtype=original.dtype,
        chunks=chunks,
        serializer=codec,
        compressors=None,
        **options,
    )
    array[:] = original
    return array


@pytest.mark.parametrize("codec", ["dense", "ceresz", "ceresz2"])
@pytest.mark.parametrize("dtype", [*FLOATS, ">f4", ">f8"])
def test_ragged_chunks_keep_the_bound_nan_and_the_fill_value(tmp_path, codec, dtype):
    original = waves((50, 70), dtype)
    original[0, :5] = -999
    original[3, 4], original[40, 60] = np.nan, np.inf
    created = create(
        tmp_path / "x.zarr", original, TensorpressCodec(codec, absolute=0.01), fill_value=-999
    )
    copy = zarr.open_array(tmp_path / "x.zarr", mode="r")[:]
    assert copy.dtype == original.dtype.newbyteorder("=")  # zarr.json knows no byte order
    assert (copy[0, :5] == -999).all() and np.isnan(copy[3, 4]) and copy[40, 60] == np.inf
    assert np.array_equal(created[:], copy, equal_nan=True)
    ordinary = np.isfinite(original)
    assert error_of(copy[ordinary], original[ordinary]) <= 0.01


@pytest.mark.parametrize("codec", ["dct-chop", "cast"])
def test_a_fill_value_stays_with_codecs_of_a_fixed_rate_unless_it_is_0(tmp_path, codec):
    original = waves((64, 64))
    original[0, :5] = -999
    for fill_value in (-999, 0):
        created = create(
            tmp_path / f"{fill_value}.zarr",
            original,
            TensorpressCodec(codec),
            fill_value=fill_value,
        )
        kept = (created[:][0, :5] == -999).all()
        assert kept or fill_value == 0
    zeros = np.zeros((64, 64), "f4")
    zeros[1, 1] = 0.5
    create(tmp_path / "z.zarr", zeros, TensorpressCodec(codec), fill_value=0)
    chunk = next(path for path in (tmp_path / "z.zarr" / "c").rglob("*") if path.is_file())
    assert tensorpress.info(chunk.read_bytes())["raw_chunks"] == 0


def test_each_chunk_is_a_complete_stream_and_the_same_bytes_every_time(tmp_path):
    original = waves((50, 70))
    for name in ("a", "b"):
        create(tmp_path / name, original, TensorpressCodec(relative=1e-3), fill_value=np.nan)
    first, second = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in (folder / "c").rglob("*")
            if path.is_file()
        }
        for folder in (tmp_path / "a", tmp_path / "b")
    )
    assert first == second and len(first) == 4 * 3
    for stream in first.values():
        assert tensorpress.info(stream)["shape"] == (16, 32)  # Zarr pads the last chunks


def test_the_metadata_is_plain_json_and_finds_the_codec_by_name(tmp_path):
    create(tmp_path / "x.zarr", waves((8, 8)), TensorpressCodec("dct-chop", cf=3), chunks=(8, 8))
    metadata = json.loads((tmp_path / "x.zarr" / "zarr.json").read_text())
    assert metadata["codecs"] == [
        {"name": "tensorpress", "configuration": {"codec": "dct-chop", "cf": 3}}
    ]
    assert error_of(zarr.open_array(tmp_path / "x.zarr", mode="r")[:], waves((8, 8))) < 0.5


@pytest.mark.parametrize(
    "configuration, words",
    [
        ({"codec": "sperr", "absolute": 1}, "there is no codec 'sperr'"),
        ({"codec": "dense", "absolute": 1, "level": 3}, "no parameter 'level'"),
        ({"codec": "dense"}, "none is given"),
    ],
)
def test_an_unknown_codec_or_parameter_in_zarr_json_is_a_value_error(
    tmp_path, configuration, words
):
    create(tmp_path / "x.zarr", waves((8, 8)), TensorpressCodec(absolute=1), chunks=(8, 8))
    path = tmp_path / "x.zarr" / "zarr.json"
    metadata = json.loads(path.read_text())
    metadata["codecs"][0]["configuration"] = configuration
    path.write_text(json.dumps(metadata))
    with pytest.raises(ValueError, match=words):
        zarr.open_array(tmp_path / "x.zarr", mode="r")


@pytest.mark.parametrize("dtype", ["int32", "uint8", "complex64", "bool"])
def test_a_type_without_a_bound_is_refused_when_the_array_is_created(tmp_path, dtype):
    with pytest.raises(TypeError, match="codec dense takes float32"):
        zarr.create_array(
            tmp_path / "x.zarr",
            shape=(8,),
            dtype=dtype,
            serializer=TensorpressCodec(absolute=1),
            compressors=None,
        )


def test_a_broken_chunk_and_one_of_another_shape_are_errors(tmp_path):
    create(tmp_path / "x.zarr", waves((16, 16)), TensorpressCodec(absolute=1e-3), chunks=(16, 16))
    path = tmp_path / "x.zarr" / "c" / "0" / "0"
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(whole)
    with pytest.raises(tensorpress.CorruptError):
        zarr.open_array(tmp_path / "x.zarr", mode="r")[:]
    path.write_bytes(tensorpress.compress(waves((16, 15)), absolute=1e-3))
    with pytest.raises(ValueError, match="16x15"):
        zarr.open_array(tmp_path / "x.zarr", mode="r")[:]


def test_the_codec_survives_pickle_and_goes_with_further_codecs(tmp_path):
    codec = pickle.loads(pickle.dumps(TensorpressCodec(relative=1e-3)))
    assert codec == TensorpressCodec(relative=1e-3) and hash(codec) == hash(
        TensorpressCodec(relative=1e-3)
    )
    original = waves((32, 32))
    array = zarr.create_array(
        tmp_path / "x.zarr",
        shape=original.shape,
        dtype="float32",
        chunks=(16, 16),
        shards=(32, 32),
        serializer=codec,
        compressors=zarr.codecs.ZstdCodec(),
        filters=[zarr.codecs.TransposeCodec(order=(1, 0))],
    )
    array[:] = original
    assert error_of(zarr.open_array(tmp_path / "x.zarr", mode="r")[:], original) <= 1e-3 * 2


def test_several_threads_write_and_read_one_array(tmp_path):
    original = waves((64, 64))
    array = create(
        tmp_path / "x.zarr",
        np.zeros_like(original),
        TensorpressCodec(absolute=1e-3),
        chunks=(16, 16),
    )
    rows = range(0, 64, 16)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda at: array.__setitem__(slice(at, at + 16), original[at : at + 16]), rows)
        )
        parts = list(pool.map(lambda at: array[at : at + 16], rows))
    assert error_of(np.concatenate(parts), original) <= 1e-3


def test_a_scalar_and_an_empty_array_are_arrays(tmp_path):
    for name, shape in (("scalar", ()), ("empty", (0, 4))):
        array = zarr.create_array(
            tmp_path / name,
            shape=shape,
            dtype="float64",
            serializer=TensorpressCodec(absolute=0.1),
            compressors=None,
        )
        array[...] = np.full(shape, 5.25)
        copy = zarr.open_array(tmp_path / name, mode="r")[...]
        assert np.shape(copy) == shape and error_of(copy, np.full(shape, 5.25)) <= 0.1


def test_a_real_field_keeps_its_bound_and_its_fill_values(tmp_path):
    original, fill = real_field("levitus_climatology.cdf", "TEMP")
    create(
        tmp_path / "x.zarr",
        original,
        TensorpressCodec(relative=1e-4),
        chunks=(8, 100, 100),
        fill_value=fill,
    )
    copy = zarr.open_array(tmp_path / "x.zarr", mode="r")[:]
    missing = original == np.float32(fill)
    assert missing.any() and np.array_equal(copy[missing], original[missing])
    values = original[~missing].astype("f8")
    assert error_of(copy[~missing], values) <= 1e-4 * (values.max() - values.min())
    stored = sum(
        path.stat().st_size for path in (tmp_path / "x.zarr" / "c").rglob("*") if path.is_file()
    )
    assert stored < original.nbytes / 5
