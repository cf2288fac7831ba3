"""numcodecs' own expectations of a codec (its tests ship with it), and Zarr v2 with it."""

import array
import json

import numcodecs
import numpy as np
import pytest
import zarr
from conftest import FLOATS, error_of, real_field, waves
from numcodecs.tests import common

import tensorpress
from tensorpress.numcodecs import Tensorpress

ARRAYS = [
    np.linspace(100, 200, 500, dtype="float64").reshape(100, 5, order="F"),
    waves((100, 20)),
    np.asfortranarray(waves((20, 11, 7))),
    waves((10, 10, 10), "float16"),
    waves((40,), ">f4"),
    waves((40,), ">f8"),
    np.zeros((0, 3), "float32"),
]


@pytest.mark.parametrize("original", ARRAYS, ids=lambda a: f"{a.dtype.str} {a.shape}")
def test_any_buffer_is_encoded_and_decoded_into_any_other(original):
    codec = Tensorpress(absolute=1e-5, dtype=original.dtype)
    common.check_encode_decode(original, codec, precision=2 if original.dtype == "float16" else 4)


@pytest.mark.parametrize(
    "codec",
    [
        Tensorpress(relative=1e-4),
        Tensorpress("ceresz", absolute=0.5, fill_values=[-1e34, np.nan], dtype="<f8"),
        Tensorpress("dct-chop", cf=2),
        Tensorpress(tensorpress.Codec("dense", psnr=60, effort="fast")),
    ],
    ids=repr,
)
def test_a_configuration_goes_through_json_and_the_registry(codec):
    common.check_config(codec)
    assert numcodecs.get_codec(json.loads(json.dumps(codec.get_config()))).encode(
        waves((8, 8), "f8")
    ) == codec.encode(waves((8, 8), "f8"))


@pytest.mark.parametrize(
    "statement",
    [
        "Tensorpress(codec='dense', relative=0.0001)",
        "Tensorpress(codec='dct-chop', cf=2, layout='triangle')",
        "Tensorpress(codec='ceresz', absolute=0.5, fill_values=[-1e+34], dtype='<f4')",
    ],
)
def test_repr_makes_an_equal_codec(statement):
    codec = eval(statement)
    assert repr(codec) == statement and eval(repr(codec)) == codec


def test_object_arrays_are_refused_both_ways():
    common.check_err_encode_object_buffer(Tensorpress(absolute=1))
    packed = Tensorpress(absolute=1).encode(waves((10,)))
    with pytest.raises(TypeError):
        Tensorpress(absolute=1).decode(packed, out=np.empty(10, object))


@pytest.mark.parametrize(
    "buffer", [b"1234", bytearray(8), np.arange(4), array.array("i", [1])], ids=repr
)
def test_what_is_no_floating_point_number_is_a_type_error_that_says_how(buffer):
    with pytest.raises(TypeError, match="dtype='<f4'"):
        Tensorpress(absolute=1).encode(buffer)


def test_a_masked_array_is_refused_because_its_mask_would_be_lost():
    with pytest.raises(TypeError, match="masked array"):
        Tensorpress(absolute=1).encode(np.ma.masked_array(waves((10,)), True))


def test_one_fill_value_need_not_be_a_list():
    assert Tensorpress(absolute=1, fill_values=-999) == Tensorpress(absolute=1, fill_values=[-999])


@pytest.mark.parametrize("size", [0, 4, 39, 41, 80])
def test_an_out_of_another_size_is_a_value_error(size):
    packed = Tensorpress(absolute=1).encode(waves((10,)))
    with pytest.raises(ValueError, match="the stream holds 40"):
        Tensorpress(absolute=1).decode(packed, out=bytearray(size))


def test_an_out_in_pieces_or_read_only_is_refused_unless_its_axes_fit():
    packed = Tensorpress(absolute=1e-3).encode(waves((10, 10)))
    with pytest.raises(ValueError, match="contiguous"):
        Tensorpress(absolute=1e-3).decode(packed, out=np.empty((100, 2), "f4")[:, 0])
    with pytest.raises(ValueError, match="read-only"):
        Tensorpress(absolute=1e-3).decode(packed, out=bytes(400))
    strided = np.empty((10, 20), "f4")[:, ::2]
    Tensorpress(absolute=1e-3).decode(packed, out=strided)
    assert error_of(strided, waves((10, 10))) <= 1e-3


def test_bytes_that_are_no_stream_are_refused():
    for broken in (b"", b"nothing", Tensorpress(absolute=1).encode(waves((10,)))[:-3]):
        with pytest.raises(tensorpress.CorruptError):
            Tensorpress(absolute=1).decode(broken)


def test_an_unknown_codec_or_parameter_in_json_is_a_value_error():
    with pytest.raises(ValueError, match="there is no codec 'mgard'"):
        numcodecs.get_codec({"id": "tensorpress", "codec": "mgard", "absolute": 1})
    with pytest.raises(ValueError, match="no parameter 'level'"):
        numcodecs.get_codec({"id": "tensorpress", "absolute": 1, "level": 9})


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [*FLOATS, ">f4"])
def test_zarr_v2_keeps_the_bound_in_ragged_chunks_of_either_order(tmp_path, order, dtype):
    original = waves((50, 70), dtype)
    original[3, 4] = np.nan
    stored = zarr.create_array(
        tmp_path / "v2.zarr",
        shape=original.shape,
        dtype=dtype,
        chunks=(16, 32),
        order=order,
        zarr_format=2,
        compressors=Tensorpress(absolute=0.01),
        fill_value=0,
    )
    stored[:] = original
    copy = zarr.open_array(tmp_path / "v2.zarr", mode="r")[:]
    assert (
        np.isnan(copy[3, 4])
        and np.nanmax(np.abs(copy.astype("f8") - original.astype("f8"))) <= 0.01
    )


def test_a_real_field_keeps_its_bound_and_its_fill_values():
    original, fill = real_field("coads_climatology.cdf", "SST")
    codec = Tensorpress(relative=1e-4, fill_values=[fill])
    copy = codec.decode(codec.encode(original))
    missing = original == np.float32(fill)
    assert missing.any() and np.array_equal(copy[missing], original[missing])
    values = original[~missing].astype("f8")
    assert error_of(copy[~missing], values) <= 1e-4 * (values.max() - values.min())
