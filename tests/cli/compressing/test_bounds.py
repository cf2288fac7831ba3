"""Bounds as a user asks for them: kept for every element, with special and fill values exact."""

import numpy as np
import pytest
import tpz_reader

CODECS = ["dense", "ceresz", "ceresz2"]


@pytest.fixture
def field(smooth):
    return smooth((12, 40, 50)) * np.float32(30) + np.float32(280)


def round_trip(tensorpress, array, *flags):
    np.save(tensorpress.directory / "x.npy", array)
    report = tensorpress("compress", "x.npy", "--force", "--json", *flags).json
    tensorpress("verify", "x.npy", "x.tpz")
    tensorpress("decompress", "x.tpz", "--force", "-o", "y.npy")
    return np.load(tensorpress.directory / "y.npy"), report


def largest_error(a, b):
    return np.max(np.abs(a.astype("f8") - b.astype("f8")))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_absolute_and_relative_bounds_hold_in_the_type_of_the_file(
    tensorpress, field, codec, dtype
):
    field = field.astype(dtype)
    width = float(field.max()) - float(field.min())
    copy, report = round_trip(tensorpress, field, "--codec", codec, "--rel", "1e-2")
    assert copy.dtype == field.dtype and copy.shape == field.shape
    assert largest_error(copy, field) <= 1e-2 * width
    assert float(report["parameters"]["limit"]) == pytest.approx(1e-2 * width)
    copy, _ = round_trip(tensorpress, field, "--codec", codec, "--abs", "0.5")
    assert largest_error(copy, field) <= 0.5


@pytest.mark.parametrize("codec", CODECS)
def test_a_point_wise_bound_holds_for_tiny_and_for_huge_values(tensorpress, codec):
    generator = np.random.default_rng(3)
    values = (10.0 ** generator.uniform(-30, 30, 4000) * generator.choice([-1, 1], 4000)).astype(
        "f4"
    )
    values[::17] = 0
    copy, _ = round_trip(tensorpress, values, "--codec", codec, "--pw-rel", "1e-3")
    assert np.all(np.abs(copy.astype("f8") - values) <= 1e-3 * np.abs(values.astype("f8")))
    assert np.all(copy[::17] == 0)


@pytest.mark.parametrize("codec", CODECS)
def test_a_psnr_is_reached_and_not_by_far(tensorpress, field, codec):
    for wanted in (40, 80):
        copy, _ = round_trip(tensorpress, field, "--codec", codec, "--psnr", wanted)
        mse = np.mean((copy.astype("f8") - field) ** 2)
        measured = 20 * np.log10(float(field.max()) - float(field.min())) - 10 * np.log10(mse)
        assert wanted <= measured < wanted + 6


def test_a_ratio_is_found_on_samples(tensorpress, smooth):
    # Large enough for the container's own bytes not to matter.
    _, report = round_trip(tensorpress, smooth((40, 200, 200)), "--ratio", "20")
    assert report["ratio"] == pytest.approx(20, rel=0.05)
    assert report["parameters"]["bound"] == "ratio 20"


@pytest.mark.parametrize("codec", CODECS)
def test_fill_values_are_exact_cheap_and_not_in_the_range(tensorpress, field, codec):
    masked = field.copy()
    rows, columns = np.mgrid[0:40, 0:50]
    land = (rows - 15) ** 2 + (columns - 20) ** 2 < 120
    masked[:, land] = -1e34
    width = float(field[:, ~land].max()) - float(field[:, ~land].min())
    copy, report = round_trip(
        tensorpress, masked, "--codec", codec, "--rel", "1e-3", "--fill", "-1e34"
    )
    assert np.array_equal(copy[:, land].view("u4"), masked[:, land].view("u4"))
    assert largest_error(copy[:, ~land], masked[:, ~land]) <= 1e-3 * width
    _, whole = round_trip(tensorpress, field, "--codec", codec, "--rel", "1e-3")
    assert report["bytes_out"] < 1.1 * whole["bytes_out"] + 200


def test_a_forgotten_fill_value_is_refused_with_the_ways_out(tensorpress, field):
    field[:, 5:20, 5:20] = -1e34
    np.save(tensorpress.directory / "x.npy", field)
    for bound in (["--rel", "1e-3"], ["--psnr", "60"]):
        said = tensorpress.refuses("compress", "x.npy", *bound)
        assert "-1e+34 is likely a fill value" in said
        assert "--fill V, --range LO:HI or --whole-range" in said
    assert not (tensorpress.directory / "x.tpz").exists()
    named = tensorpress("compress", "x.npy", "--rel", "1e-3", "--fill", "-1e34")
    assert named.err == ""
    tensorpress("compress", "x.npy", "--rel", "1e-3", "--whole-range", "-o", "whole.tpz")


@pytest.mark.parametrize("codec", CODECS)
def test_nan_payloads_infinities_and_zeros_come_back(tensorpress, field, codec):
    bits = field.view("u4")
    bits[3, 4, 5], bits[0, 0, 0] = 0x7FC12345, 0xFFC54321
    field[5, 5, 5], field[5, 5, 6] = np.inf, -np.inf
    field[7] = 0
    copy, _ = round_trip(tensorpress, field, "--codec", codec, "--rel", "1e-3")
    special = ~np.isfinite(field)
    assert np.array_equal(copy[special].view("u4"), field[special].view("u4"))
    assert np.all(copy[7] == 0)


def test_sparsity_survives(tensorpress):
    generator = np.random.default_rng(5)
    activations = np.maximum(generator.standard_normal((8, 16, 32, 32)), 0).astype("f4")
    for codec in CODECS:
        copy, _ = round_trip(tensorpress, activations, "--codec", codec, "--rel", "1e-3")
        assert np.all(copy[activations == 0] == 0)


@pytest.mark.parametrize("codec", CODECS)
def test_cases_that_broke_the_bounds_of_others(tensorpress, codec):
    ramp = np.arange(1, 100001, dtype="f4")
    copy, _ = round_trip(tensorpress, ramp, "--codec", codec, "--abs", "1e-2")
    assert largest_error(copy, ramp) <= 1e-2
    generator = np.random.default_rng(6)
    offset = (287 + 2 * generator.random((64, 64))).astype("f4")
    offset[0, :2] = 287, 289
    copy, _ = round_trip(tensorpress, offset, "--codec", codec, "--rel", "1e-6")
    assert largest_error(copy, offset) <= 1e-6 * (float(offset.max()) - float(offset.min()))


@pytest.mark.parametrize("codec", CODECS)
def test_f64_at_a_ten_billionth_of_the_range_is_still_smaller(tensorpress, codec):
    x, y = np.mgrid[0:200, 0:300] / 50.0
    field = np.sin(x) * np.cos(y) + 0.1 * np.sin(7 * x * y)
    copy, report = round_trip(tensorpress, field, "--codec", codec, "--rel", "1e-10")
    assert largest_error(copy, field) <= 1e-10 * (field.max() - field.min())
    assert report["raw_chunks"] == 0 and report["ratio"] > 1.3


def test_odd_bounds_are_defined(tensorpress, field):
    copy, _ = round_trip(tensorpress, field, "--abs", "0")
    assert np.array_equal(copy, field)
    copy, report = round_trip(tensorpress, field, "--abs", "1e30")
    assert largest_error(copy, field) <= 1e30 and report["payload_ratio"] > 1000
    copy, _ = round_trip(tensorpress, field, "--abs", "1e-300")
    assert np.array_equal(copy, field)
    constant = np.full((100, 100), 3.25, "f4")
    copy, report = round_trip(tensorpress, constant, "--rel", "1e-3")
    assert np.array_equal(copy, constant) and report["payload_ratio"] > 1000
    for shape in ((), (0,), (1,), (3, 0, 5)):
        copy, _ = round_trip(tensorpress, np.zeros(shape, "f4") + 2, "--rel", "1e-3")
        assert copy.shape == shape and np.all(copy == 2)


def test_a_relative_bound_from_a_pipe_is_that_of_the_file(tensorpress, field):
    np.save(tensorpress.directory / "x.npy", field)
    tensorpress("compress", "x.npy", "--rel", "1e-3")
    data = (tensorpress.directory / "x.npy").read_bytes()
    piped = tensorpress("compress", "-", "--rel", "1e-3", "-o", "-", stdin=data).out
    assert piped == (tensorpress.directory / "x.tpz").read_bytes()
    told = f"{float(field.min())!r}:{float(field.max())!r}"
    piped = tensorpress(
        "compress", "-", "--rel", "1e-3", "--range", told, "-o", "-", stdin=data
    ).out
    assert piped == (tensorpress.directory / "x.tpz").read_bytes()


BAD = {
    "negative": (["--abs", "-1"], "negative"),
    "negative zero": (["--rel", "-0.0"], "negative"),
    "nan": (["--rel", "nan"], "finite"),
    "infinite": (["--abs", "inf"], "finite"),
    "ratio below 1": (["--ratio", "0.5"], "at least 1"),
    "ratio out of reach": (["--ratio", "1e9"], "out of reach"),
    "pw-rel of 1": (["--pw-rel", "1"], "below 1"),
    "two bounds": (["--abs", "1", "--rel", "1"], "--rel"),
    "no bound": ([], "--rel"),
    "a bound for a fixed rate": (["--codec", "dct-chop", "--rel", "1e-3"], "fixed rate"),
    "range without rel": (["--abs", "1", "--range", "0:1"], "--rel"),
    "range that is none": (["--rel", "1e-3", "--range", "5"], "LO:HI"),
    "range upside down": (["--rel", "1e-3", "--range", "5:1"], "5 to 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_bounds_are_one_sentence(tensorpress, field, case):
    flags, word = BAD[case]
    np.save(tensorpress.directory / "x.npy", field)
    assert word in tensorpress.refuses("compress", "x.npy", *flags)
    assert not (tensorpress.directory / "x.tpz").exists()


def test_integers_are_refused_with_what_is_supported(tensorpress):
    np.save(tensorpress.directory / "x.npy", np.zeros((4, 4), "i2"))
    sentence = tensorpress.refuses("compress", "x.npy", "--rel", "1e-3")
    assert "f32" in sentence and "dct-chop" in sentence


SLICES = [
    "0:10,:,50:100",
    "3",
    "-1",
    ":,5",
    "2:4,10:20,30:40",
    ":,:,-5:",
    "5:5",
    "::,1:2",
    "100:200",
]


@pytest.mark.parametrize("text", SLICES)
def test_slices_are_numpys(tensorpress, smooth, text):
    field = smooth((12, 60, 110))
    np.save(tensorpress.directory / "x.npy", field)
    tensorpress("compress", "x.npy", "--rel", "1e-4", "--chunk-shape", "5x16x33")
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    tensorpress("decompress", "x.tpz", "--slice", text, "-o", "part.npy")
    expected = eval(f"whole[{text}]", {"whole": np.load(tensorpress.directory / "y.npy")})
    part = np.load(tensorpress.directory / "part.npy")
    assert part.shape == expected.shape and np.array_equal(part, expected)


def test_a_slice_reads_only_the_chunks_it_needs(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((8, 32, 32)))
    tensorpress("compress", "x.npy", "--rel", "1e-4", "--chunk-shape", "1x32x32")
    path = tensorpress.directory / "x.tpz"
    data = bytearray(path.read_bytes())
    data[tpz_reader.payload_places(bytes(data))[0] + 8] ^= 0xFF
    path.write_bytes(data)
    tensorpress.refuses("decompress", "x.tpz", "-o", "y.npy")
    tensorpress("decompress", "x.tpz", "--slice", "3:8", "-o", "y.npy")


@pytest.mark.parametrize("text", ["a", "1:2:0", "50", ":,:,:,:", "1.5"])
def test_bad_slices_are_one_sentence(tensorpress, smooth, text):
    np.save(tensorpress.directory / "x.npy", smooth((12, 20, 20)))
    tensorpress("compress", "x.npy", "--rel", "1e-4")
    tensorpress.refuses("decompress", "x.tpz", "--slice", text, "-o", "y.npy")
