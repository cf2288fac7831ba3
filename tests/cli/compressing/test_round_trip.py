"""What goes in comes back: the right values in the right type and shape, through files and
pipes."""

import io

import numpy as np
import pytest
import reference

SETTINGS = [
    ("dct", "square", 1),
    ("dct", "square", 4),
    ("dct", "square", 7),
    ("dct", "triangle", 3),
    ("dct", "triangle", 8),
    ("zfp", "square", 1),
    ("zfp", "square", 3),
    ("zfp", "triangle", 4),
]


def round_trip(tensorpress, array, *flags):
    """The decompressed array, through x.npy, x.tpz and y.npy."""
    np.save(tensorpress.directory / "x.npy", array)
    tensorpress("compress", "--codec", "dct-chop", "x.npy", "-o", "x.tpz", *flags)
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    return np.load(tensorpress.directory / "y.npy")


@pytest.mark.parametrize("shape", [(2, 3, 32, 48), (3, 45, 61), (40, 8), (41, 129)], ids=str)
@pytest.mark.parametrize("transform, layout, cf", SETTINGS)
def test_values_equal_the_paper_s_formula(tensorpress, smooth, transform, layout, cf, shape):
    array = smooth(shape)
    copy = round_trip(tensorpress, array, "--cf", cf, "--layout", layout, "--transform", transform)
    assert copy.dtype == array.dtype and copy.shape == array.shape
    expected = reference.chopped(array, cf, layout, transform)
    np.testing.assert_allclose(copy, expected, rtol=0, atol=255 * 2e-6)


@pytest.mark.parametrize(
    "form", [["--form", "matmul"], ["--form", "matmul", "--serialize", "2"]], ids=" ".join
)
def test_the_matrix_form_gives_the_same_values(tensorpress, smooth, form):
    array = smooth((2, 64, 96))
    copy = round_trip(tensorpress, array, "--cf", 3, *form)
    np.testing.assert_allclose(copy, reference.chopped(array, 3), rtol=0, atol=255 * 1e-5)


@pytest.mark.parametrize("length", [64, 1003])
def test_one_dimension_uses_the_eight_point_transform(tensorpress, smooth, length):
    array = smooth((length,))
    copy = round_trip(tensorpress, array, "--cf", 3)
    np.testing.assert_allclose(copy, reference.chopped(array, 3), rtol=0, atol=255 * 2e-6)


# Half a unit in the last place of the largest coefficient (8 x 255), for every coefficient at its
# worst.
@pytest.mark.parametrize("coefficients, unit", [("bf16", 2.0**-8), ("f16", 2.0**-11)])
def test_short_coefficients_are_close(tensorpress, smooth, coefficients, unit):
    array = smooth((64, 64))
    copy = round_trip(tensorpress, array, "--cf", 4, "--coefficients", coefficients)
    error = np.abs(copy - reference.chopped(array, 4)).max()
    assert 0 < error < 8 * 255 * unit


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i2"])
def test_every_type_comes_back_as_itself(tensorpress, smooth, dtype):
    array = smooth((3, 40, 72), dtype)
    copy = round_trip(tensorpress, array, "--cf", 3)  # at CF 4 a block of u8 is no smaller than raw
    assert copy.dtype == array.dtype and copy.shape == array.shape
    expected = reference.chopped(array, 3)
    if array.dtype.kind in "iu":
        bounds = np.iinfo(array.dtype)
        expected = np.clip(np.rint(expected), bounds.min, bounds.max)
        assert np.abs(copy.astype(float) - expected).max() <= 1  # .5 may round either way
        assert np.mean(copy != expected) < 0.001
    else:
        unit = 2.0**-11 if dtype == "f2" else 1e-6
        np.testing.assert_allclose(copy, expected, rtol=unit, atol=255 * 2e-6)


def test_bfloat16_comes_back_as_itself(tensorpress, smooth):
    array = (smooth((16, 24)).view(np.uint32) & 0xFFFF0000).view(np.float32)
    (array.view(np.uint32) >> 16).astype("<u2").tofile(tensorpress.directory / "x.raw")
    tensorpress("compress", "x.raw", "--shape", "16x24", "--dtype", "bf16", "--cf", "3")
    tensorpress("decompress", "x.tpz", "-o", "y.raw")
    raw = np.fromfile(tensorpress.directory / "y.raw", "<u2")
    copy = (raw.astype(np.uint32) << 16).view(np.float32).reshape(16, 24)
    np.testing.assert_allclose(copy, reference.chopped(array, 3), rtol=2.0**-8, atol=255 * 2e-6)


def test_u8_is_clamped_not_wrapped(tensorpress):
    array = np.zeros((16, 16), "u1")
    array[:, 5:] = 255  # an edge that overshoots on both sides
    expected = reference.chopped(array, 3)
    assert expected.min() < -1 and expected.max() > 256
    copy = round_trip(tensorpress, array, "--cf", 3)
    assert np.abs(copy - np.clip(expected, 0, 255)).max() <= 1


@pytest.mark.parametrize("variant", [">f4", "F", "version 2", "version 3"])
def test_the_way_an_npy_file_is_written_does_not_change_the_stream(tensorpress, smooth, variant):
    array = smooth((5, 30, 41))
    np.save(tensorpress.directory / "plain.npy", array)
    with open(tensorpress.directory / "other.npy", "wb") as file:
        if variant.startswith("version"):
            np.lib.format.write_array(file, array, version=(int(variant[-1]), 0))
        else:
            np.save(file, array.astype(">f4") if variant == ">f4" else np.asfortranarray(array))
    tensorpress("compress", "--codec", "dct-chop", "plain.npy", "-o", "plain.tpz")
    tensorpress("compress", "--codec", "dct-chop", "other.npy", "-o", "other.tpz")
    plain = (tensorpress.directory / "plain.tpz").read_bytes()
    assert plain == (tensorpress.directory / "other.tpz").read_bytes()


@pytest.mark.parametrize(
    "shape", [(), (0,), (0, 8), (3, 0, 5), (1,), (1, 1), (2, 1, 1, 1, 1, 1, 1, 3)], ids=str
)
def test_tiny_and_empty_tensors_come_back(tensorpress, shape):
    array = np.full(shape, 2.5, "f4")
    copy = round_trip(tensorpress, array)
    assert copy.dtype == array.dtype and copy.shape == array.shape
    np.testing.assert_allclose(copy, array, rtol=1e-6)


def test_pipes_carry_the_same_bytes_as_files(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((4, 3, 33, 65)))
    original = (tensorpress.directory / "x.npy").read_bytes()
    tensorpress("compress", "x.npy", "--cf", 5)
    stream = (tensorpress.directory / "x.tpz").read_bytes()
    piped = tensorpress("compress", "-", "--cf", 5, stdin=original)
    assert piped.out == stream
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    tensor = tensorpress("decompress", "-", stdin=stream)
    assert tensor.out == (tensorpress.directory / "y.npy").read_bytes()
    assert np.load(io.BytesIO(tensor.out)).shape == (4, 3, 33, 65)


def test_raw_files_carry_the_same_elements_as_npy(tensorpress, smooth):
    array = smooth((20, 18, 36))
    np.save(tensorpress.directory / "x.npy", array)
    array.tofile(tensorpress.directory / "x.bin")
    tensorpress("compress", "--codec", "dct-chop", "x.npy", "-o", "a.tpz")
    tensorpress(
        "compress",
        "--codec",
        "dct-chop",
        "x.bin",
        "--shape",
        "20x18x36",
        "--dtype",
        "f32",
        "-o",
        "b.tpz",
    )
    assert (tensorpress.directory / "a.tpz").read_bytes() == (
        tensorpress.directory / "b.tpz"
    ).read_bytes()
    tensorpress("decompress", "a.tpz", "-o", "y.npy")
    tensorpress("decompress", "a.tpz", "--raw", "-o", "y.raw")
    raw = np.fromfile(tensorpress.directory / "y.raw", "<f4").reshape(array.shape)
    np.testing.assert_array_equal(raw, np.load(tensorpress.directory / "y.npy"))


def test_outputs_are_named_after_inputs(tensorpress, smooth):
    np.save(tensorpress.directory / "field.v1.npy", smooth((16, 16)))
    tensorpress("compress", "--codec", "dct-chop", "field.v1.npy")
    assert (tensorpress.directory / "field.v1.tpz").is_file()
    (tensorpress.directory / "field.v1.npy").unlink()
    tensorpress("decompress", "field.v1.tpz")
    assert np.load(tensorpress.directory / "field.v1.npy").shape == (16, 16)


def test_a_chosen_chunk_shape_cuts_across_the_tensor(tensorpress, smooth):
    array = smooth((6, 40, 56))
    copy = round_trip(tensorpress, array, "--chunk-shape", "4x16x24", "--cf", 5)
    np.testing.assert_allclose(copy, reference.chopped(array, 5), rtol=0, atol=255 * 2e-6)
    report = tensorpress("info", "x.tpz", "--json").json
    assert report["chunk_shape"] == [4, 16, 24] and report["chunks"] == 2 * 3 * 3


def test_the_matrix_form_decompresses_to_the_same_values(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((2, 72, 40)))
    tensorpress("compress", "x.npy", "--cf", 5, "--layout", "triangle", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "block.npy")
    block = np.load(tensorpress.directory / "block.npy")
    for serialize in (1, 2, 3):
        arguments = ["--form", "matmul", "--serialize", serialize, "-o", "matmul.npy", "--force"]
        tensorpress("decompress", "x.tpz", *arguments)
        matmul = np.load(tensorpress.directory / "matmul.npy")
        np.testing.assert_allclose(matmul, block, rtol=0, atol=255 * 1e-5)
    assert "block|matmul" in tensorpress.refuses("decompress", "x.tpz", "--form", "fast")
