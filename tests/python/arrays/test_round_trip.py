"""What goes in comes back within the bound, whatever holds it and however it lies in memory."""

import array
import math
import mmap

import ml_dtypes
import numpy as np
import pytest
import torch
from conftest import FLOATS, error_of, waves

import tensorpress

LAYOUTS = {
    "contiguous": lambda a: a,
    "fortran": np.asfortranarray,
    "every other": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "reversed": lambda a: a[::-1, :, ::-1].copy()[::-1, :, ::-1],
    "transposed": lambda a: a.transpose(2, 0, 1).copy().transpose(1, 2, 0),
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_gives_the_bytes_of_the_contiguous_array(field, dtype, layout):
    laid_out = LAYOUTS[layout](field.astype(dtype))
    laid_out.flags.writeable = False
    packed = tensorpress.compress(laid_out, absolute=0.01)
    assert packed == tensorpress.compress(np.ascontiguousarray(laid_out), absolute=0.01)
    copy = tensorpress.decompress(packed)
    assert copy.dtype == dtype and copy.shape == laid_out.shape
    assert error_of(copy, laid_out) <= 0.01


@pytest.mark.parametrize("codec", ["dense", "ceresz", "ceresz2"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (7,), (5, 3, 2, 2, 1, 3, 2, 2)])
def test_every_shape_comes_back(codec, shape):
    original = waves(shape)
    copy = tensorpress.decompress(tensorpress.compress(original, codec, absolute=1e-3))
    assert copy.shape == shape and error_of(copy, original) <= 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_torch_tensors_go_in_and_out(field, dtype):
    tensor = torch.from_numpy(field).to(dtype).permute(2, 0, 1)
    packed = tensorpress.compress(tensor, absolute=0.02)
    out = torch.empty(tensor.shape, dtype=dtype)
    assert tensorpress.decompress(packed, out=out) is out
    assert (out.double() - tensor.double()).abs().max() <= 0.02


def test_a_tensor_that_needs_its_gradient_is_welcome():
    tensor = torch.linspace(0, 1, 100, requires_grad=True)
    copy = tensorpress.decompress(tensorpress.compress(tensor * 2, absolute=0.01))
    assert error_of(copy, np.linspace(0, 2, 100, dtype="f4")) <= 0.01


def test_a_tensor_that_pytorch_has_yet_to_negate_keeps_its_sign():
    values = torch.randn(300, dtype=torch.complex64)
    negated = values.conj().imag
    assert negated.is_neg()
    copy = tensorpress.decompress(tensorpress.compress(negated, absolute=1e-3))
    assert error_of(copy, negated.resolve_neg()) <= 1e-3


def test_bfloat16_is_an_array_of_ml_dtypes(field):
    original = field.astype(ml_dtypes.bfloat16)
    packed = tensorpress.compress(original, absolute=0.02)
    assert tensorpress.info(packed)["dtype"] == "bf16"
    copy = tensorpress.decompress(packed)
    assert copy.dtype == ml_dtypes.bfloat16 and error_of(copy, original) <= 0.02
    as_tensor = torch.empty(original.shape, dtype=torch.bfloat16)
    tensorpress.decompress(packed, out=as_tensor)
    assert np.array_equal(as_tensor.view(torch.uint16).numpy(), copy.view("uint16"))


def test_buffers_are_arrays_of_their_format(field, tmp_path):
    expected = tensorpress.compress(field.ravel(), absolute=1e-3)
    assert tensorpress.compress(memoryview(field.ravel()), absolute=1e-3) == expected
    assert tensorpress.compress(array.array("f", field.ravel()), absolute=1e-3) == expected
    assert tensorpress.compress(memoryview(field.tobytes()).cast("f"), absolute=1e-3) == expected
    path = tmp_path / "raw"
    path.write_bytes(field.tobytes())
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        view = np.frombuffer(mapped, "float32")
        assert tensorpress.compress(view, absolute=1e-3) == expected
        del view


def test_bytes_are_uint8_and_a_stream_may_be_any_buffer():
    text = bytes(range(200)) * 8
    packed = tensorpress.compress(text, "dct-chop", cf=8)
    for stream in (packed, bytearray(packed), memoryview(packed), np.frombuffer(packed, "uint8")):
        copy = tensorpress.decompress(stream)
        assert copy.dtype == "uint8" and copy.shape == (1600,)


def test_the_other_byte_order_and_unaligned_elements_are_copied_right(field):
    expected = tensorpress.compress(field, absolute=1e-3)
    assert tensorpress.compress(field.astype(">f4"), absolute=1e-3) == expected
    shifted = np.frombuffer(b"x" + field.tobytes(), "<f4", offset=1).reshape(field.shape)
    assert not shifted.flags.aligned
    assert tensorpress.compress(shifted, absolute=1e-3) == expected
    records = np.zeros(field.shape, [("flag", "u1"), ("value", "f4")])
    records["value"] = field
    assert tensorpress.compress(records["value"], absolute=1e-3) == expected


@pytest.mark.parametrize("bound", ["absolute", "relative", "pointwise_relative"])
def test_each_kind_of_bound_holds_in_its_own_sense(field, bound):
    copy = tensorpress.decompress(tensorpress.compress(field, **{bound: 1e-3})).astype("f8")
    error = np.abs(copy - field)
    scale = {
        "absolute": 1.0,
        "relative": float(field.max()) - float(field.min()),
        "pointwise_relative": np.abs(field.astype("f8")),
    }
    assert (error <= 1e-3 * scale[bound]).all()


def test_psnr_and_ratio_are_reached(field):
    assert tensorpress.verify(field, tensorpress.compress(field, psnr=60))["psnr_db"] >= 60
    big = waves((60, 128, 128))
    assert tensorpress.info(tensorpress.compress(big, ratio=8))["ratio"] == pytest.approx(
        8, rel=0.1
    )


def test_nan_infinities_and_fill_values_come_back_bit_for_bit(field):
    special = [np.nan, np.inf, -np.inf, 1e34, -999.0]
    field[0, :5, 0] = special
    packed = tensorpress.compress(field, relative=1e-3, fill_values=[1e34, -999.0])
    copy = tensorpress.decompress(packed)
    assert copy[0, :5, 0].tobytes() == np.array(special, "float32").tobytes()
    ordinary = field[1:]
    assert error_of(copy[1:], ordinary) <= 1e-3 * 2  # 1e34 did not count in the range


@pytest.mark.parametrize("fill", [np.nan, math.inf, np.float32("nan"), np.array(-999.0), [-999]])
def test_one_fill_value_is_like_a_list_of_one(field, fill):
    packed = tensorpress.compress(field, absolute=1e-3, fill_values=fill)
    several = np.ravel(fill).tolist()
    assert packed == tensorpress.compress(field, absolute=1e-3, fill_values=several)


def test_out_may_have_any_strides_and_is_returned(field):
    packed = tensorpress.compress(field, absolute=1e-3)
    expected = tensorpress.decompress(packed)
    for out in (
        np.empty_like(field),
        np.asfortranarray(field) * 0,
        np.zeros((40, 60, 40), "f4")[::2, ::-2],
        np.zeros((30, 40, 20), "c8").imag.transpose(2, 0, 1),
    ):
        out = out[:20] if out.shape[0] == 20 else out
        assert tensorpress.decompress(packed, out=out) is out
        assert np.array_equal(out, expected)


@pytest.mark.parametrize(
    "out",
    [
        np.empty((0, 2), "f4"),
        np.lib.stride_tricks.as_strided(np.empty(1, "f4"), (0, 2), (0, 0)),
        torch.empty(0, 2),
        torch.empty(0, 1).expand(0, 2),
    ],
)
def test_an_out_without_elements_may_have_strides_of_zero(out):
    packed = tensorpress.compress(np.empty((0, 2), "f4"), absolute=1)
    assert tensorpress.decompress(packed, out=out) is out
    with tensorpress.open(packed) as reader:
        assert reader.read(out) is out


def test_attributes_chunks_and_value_range_reach_the_stream(field):
    packed = tensorpress.compress(
        field,
        relative=1e-3,
        value_range=(-1, 1),
        chunk_shape=(8, 16, 16),
        attributes={"units": "K", "name": "θ"},
    )
    fields = tensorpress.info(packed)
    assert fields["attributes"] == {"units": "K", "name": "θ"}
    assert fields["chunk_shape"] == (8, 16, 16) and fields["chunks"] == 3 * 2 * 3
    assert float(fields["parameters"]["limit"]) == pytest.approx(2e-3)


def test_the_parameters_of_a_codec_are_keywords(field):
    fields = tensorpress.info(tensorpress.compress(field, "dct-chop", cf=2, layout="triangle"))
    assert fields["parameters"]["cf"] == "2" and fields["parameters"]["layout"] == "triangle"
    assert (
        tensorpress.info(tensorpress.compress(field, absolute=1, effort="fast"))["parameters"][
            "effort"
        ]
        == "fast"
    )


def test_verify_measures_what_numpy_measures(field):
    packed = tensorpress.compress(field, absolute=1e-3)
    measured = tensorpress.verify(field, packed)
    difference = tensorpress.decompress(packed).astype("f8") - field.astype("f8")
    value_range = float(field.max()) - float(field.min())
    assert measured["ok"] and measured["reason"] == ""
    assert measured["max_abs_error"] == np.abs(difference).max()
    assert measured["max_rel_error"] == pytest.approx(np.abs(difference).max() / value_range)
    assert measured["psnr_db"] == pytest.approx(
        20 * np.log10(value_range / np.sqrt((difference**2).mean()))
    )
    assert measured["nrmse"] == pytest.approx(np.sqrt((difference**2).mean()) / value_range)


@pytest.mark.parametrize("codec", ["dct-chop", "quantize", "cast"])
def test_fill_values_stay_with_codecs_of_a_fixed_rate(codec):
    field = np.sin(np.arange(4 * 32 * 32, dtype="f4") / 40).reshape(4, 32, 32)
    field[2, 3:9, 4:8] = -999
    packed = tensorpress.compress(field, codec, fill_values=-999, chunk_shape=(1, 32, 32))
    back = tensorpress.decompress(packed)
    assert np.array_equal(back[2], field[2])  # stored as it is
    assert 0 < np.abs(back - field).max() < 0.2


def test_verify_leaves_fill_values_out_of_the_range(field):
    masked = np.where(field > field.mean(), field, np.float32(-1e34))
    packed = tensorpress.compress(masked, relative=1e-3, fill_values=-1e34)
    measured = tensorpress.verify(masked, packed)
    assert measured["ok"] and 1e-5 < measured["max_rel_error"] <= 1e-3
    assert 60 < measured["psnr_db"] < 100


def test_verify_says_what_is_wrong(field):
    packed = tensorpress.compress(field, absolute=1e-3)
    field[3, 4, 5] += 1
    measured = tensorpress.verify(field, packed)
    assert not measured["ok"] and "exceeds" in measured["reason"]


def test_verify_and_the_program_say_the_same_sentence(field, tmp_path):
    import subprocess

    from conftest import PROGRAM

    masked = np.where(field > field.mean(), field, np.float32(-1e34))
    masked[0, 0] = -1e34
    bounds = (dict(absolute=1e-3), dict(pointwise_relative=1e-3), dict(psnr=80))
    for bound in bounds:
        packed = tensorpress.compress(masked, fill_values=-1e34, **bound)
        (tmp_path / "field.tpz").write_bytes(packed)
        shifted, emptied = masked.copy(), masked.copy()
        shifted[masked > 0] += 1
        emptied[0, 0] = np.nan  # comes back as the fill value
        for other in (shifted, emptied):
            np.save(tmp_path / "other.npy", other)
            told = subprocess.run(
                [PROGRAM, "verify", tmp_path / "other.npy", tmp_path / "field.tpz"],
                capture_output=True,
                text=True,
            )
            reason = tensorpress.verify(other, packed)["reason"]
            assert reason and told.returncode == 1 and told.stderr.endswith(f": {reason}\n")


def test_the_program_and_the_package_write_the_same_bytes(field, tmp_path):
    import subprocess

    from conftest import PROGRAM

    np.save(tmp_path / "field.npy", field)
    subprocess.run(
        [
            PROGRAM,
            "compress",
            tmp_path / "field.npy",
            "-o",
            tmp_path / "field.tpz",
            "--abs",
            "0.001",
        ],
        check=True,
        capture_output=True,
    )
    assert (tmp_path / "field.tpz").read_bytes() == tensorpress.compress(field, absolute=0.001)


def test_a_stream_may_be_written_to_the_caller_s_memory(field):
    expected = tensorpress.compress(field, absolute=1e-3)
    for room in (
        bytearray(len(expected) + field.nbytes),
        np.empty(field.size, "float32"),
        memoryview(bytearray(2 * field.nbytes)),
    ):
        written = tensorpress.compress(field, absolute=1e-3, out=room)
        assert isinstance(written, memoryview) and written == expected
        assert np.array_equal(tensorpress.decompress(written), tensorpress.decompress(expected))
