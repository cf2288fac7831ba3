"""Integers that stand for other numbers (scale_factor, add_offset): to .tpz and packed again."""

import h5py
import netCDF4
import numpy as np
import pytest
from netcdf_files import attributes, raw


@pytest.fixture
def packed_file(tensorpress):
    """Temperatures as 16-bit numbers of 0.01 K each, with missing values."""
    path = tensorpress.directory / "packed.nc"
    values = np.rint(500 * np.sin(np.arange(40 * 50) / 70)).astype("i2").reshape(40, 50)
    values[3:7] = -32768
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 40)
        file.createDimension("x", 50)
        variable = file.createVariable("t", "i2", ("y", "x"), fill_value=-32768)
        variable.set_auto_maskandscale(False)
        variable.scale_factor, variable.add_offset = np.float32(0.01), np.float32(273.15)
        variable[...] = values
    return path, values


def test_packed_numbers_are_data_in_their_own_unit(tensorpress, packed_file):
    path, values = packed_file
    tensorpress("compress", path, "--var", "t", "--abs", "0.05", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "x.npy")
    back = np.load(tensorpress.directory / "x.npy")
    assert back.dtype == np.float32
    assert np.array_equal(np.isnan(back), values == -32768)
    there = values != -32768
    assert (
        np.abs(
            back[there] - (values[there] * np.float64(np.float32(0.01)) + np.float32(273.15))
        ).max()
        <= 0.05 + 1e-4
    )


@pytest.mark.parametrize("odd", ["273.15", np.zeros(2, "f4")], ids=["text", "two numbers"])
def test_an_offset_that_is_not_one_number_is_refused(tensorpress, packed_file, odd):
    path, _ = packed_file
    with netCDF4.Dataset(path, "a") as file:
        file["t"].add_offset = odd
    refused = tensorpress.refuses("compress", path, "--var", "t", "--abs", "1", "-o", "x.tpz")
    assert "add_offset that is not one number" in refused
    assert not (tensorpress.directory / "x.tpz").exists()


def test_packed_numbers_are_packed_again_and_exact_below_half_a_step(tensorpress, packed_file):
    path, values = packed_file
    tensorpress("compress", path, "--var", "t", "--abs", "0.004", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "back.nc")
    assert np.array_equal(raw(tensorpress.directory / "back.nc", "t"), values)
    assert attributes(tensorpress.directory / "back.nc", "t") == attributes(path, "t")


@pytest.mark.parametrize(
    "bound, told",
    [
        (["--abs", "0.004"], False),
        (["--abs", "0.006"], True),
        (["--pw-rel", "1e-4"], True),
        (["--codec", "cast"], True),
    ],
)
def test_packing_again_tells_when_it_adds_to_the_error(tensorpress, packed_file, bound, told):
    path, _ = packed_file
    tensorpress("compress", path, "--var", "t", *bound, "-o", "x.tpz")
    said = tensorpress("decompress", "x.tpz", "-o", "back.nc").err
    if told:
        assert (
            said.startswith("tensorpress: back.nc: 't' is packed again") and said.count("\n") == 1
        )
        assert "scale_factor 0.01, which may add 0.005 to the error" in said
    else:
        assert said == ""
    assert tensorpress("decompress", "x.tpz", "-o", "back.npy").err == ""


def test_notes_that_pack_other_numbers_than_floats_are_refused(tensorpress):
    np.save(tensorpress.directory / "x.npy", np.ones((16, 16), "u1"))
    notes = '{"variable":"a","type":"i32","dimensions":["y","x"]}'
    tensorpress("compress", "x.npy", "--cf", "4", "--attr", f"netcdf={notes}")
    said = tensorpress.refuses("decompress", "x.tpz", "-o", "x.nc")
    assert "numbers of type u8 were packed as i32" in said
    assert not (tensorpress.directory / "x.nc").exists()


def packed_numbers(path, numbers, dtype, scale, **attributes):
    """A variable `t` of these numbers as they are."""
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", len(numbers))
        fill = attributes.pop("_FillValue", None)
        variable = file.createVariable("t", dtype, ("x",), fill_value=fill)
        variable.set_auto_maskandscale(False)
        variable.scale_factor = scale
        variable.setncatts(attributes)
        variable[...] = numbers


@pytest.mark.parametrize(
    "fills, near",
    [
        ({"_FillValue": np.int16(-32768)}, -32768),
        ({"_FillValue": np.int16(32767)}, 32767),
        ({"_FillValue": np.int16(-32768), "missing_value": np.int16([-999, -998])}, -999),
        ({"missing_value": np.float64(0)}, 0),
    ],
)
def test_what_is_not_missing_does_not_become_so(tensorpress, fills, near):
    path = tensorpress.directory / "in.nc"
    numbers = np.arange(near - 20, near + 21).clip(-32768, 32767).astype("i2").repeat(3)
    packed_numbers(path, numbers, "i2", 0.01, **fills)
    missing = np.isin(numbers, np.concatenate([np.atleast_1d(each) for each in fills.values()]))
    assert missing.any() and not missing.all()
    for bound in (0.006, 0.011, 0.02):
        tensorpress("compress", path, "--var", "t", "--abs", bound, "-o", "x.tpz", "--force")
        tensorpress("decompress", "x.tpz", "-o", "x.npy", "--force")
        tensorpress("decompress", "x.tpz", "-o", "back.nc", "--force")
        values = np.load(tensorpress.directory / "x.npy")
        back = raw(tensorpress.directory / "back.nc", "t")
        written = np.isin(back, np.concatenate([np.atleast_1d(each) for each in fills.values()]))
        assert np.array_equal(np.isnan(values), missing) and np.array_equal(written, missing)
        # A step at most, or two where two fill values stand side by side.
        away = np.abs(back[~missing] * 0.01 - values[~missing])
        assert away.max() <= 0.02 + 1e-9


def test_packed_numbers_of_64_bits_are_as_near_as_floats_are_and_that_is_told(tensorpress):
    path = tensorpress.directory / "in.nc"
    numbers = 1_700_000_000_000_000_000 + 123_456_789 * np.arange(50)
    packed_numbers(path, numbers, "i8", 1e-9)
    tensorpress("compress", path, "--var", "t", "--abs", "1e-10", "-o", "x.tpz")
    said = tensorpress("decompress", "x.tpz", "-o", "back.nc").err
    # 1.7e9 is between 2^30 and 2^31, where doubles are 2^-22 apart.
    assert "numbers about 1.7e+09 are 2.384e-07 apart" in said and said.count("\n") == 1
    back = raw(tensorpress.directory / "back.nc", "t")
    assert np.abs(back - numbers).max() <= 2**-22 / 1e-9


def test_packed_numbers_of_64_bits_within_what_floats_hold_are_exact(tensorpress):
    path = tensorpress.directory / "in.nc"
    default_fill = np.int64(-9223372036854775806)
    numbers = np.append(2**50 + 1234567 * np.arange(50), default_fill)
    packed_numbers(path, numbers, "i8", 0.5, _FillValue=default_fill)
    tensorpress("compress", path, "--var", "t", "--abs", "0.1", "-o", "x.tpz")
    assert tensorpress("decompress", "x.tpz", "-o", "back.nc").err == ""
    assert np.array_equal(raw(tensorpress.directory / "back.nc", "t"), numbers)


@pytest.mark.parametrize(
    "dtype, largest", [("i8", 2**63 - 1), ("u8", 2**64 - 1), ("i4", 2**31 - 1)]
)
def test_the_largest_packed_number_stays_the_largest(tensorpress, dtype, largest):
    path = tensorpress.directory / "in.nc"
    packed_numbers(path, np.array([largest, largest], dtype), dtype, 2.0)
    tensorpress("compress", path, "--var", "t", "--abs", "0", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "back.nc")
    assert list(raw(tensorpress.directory / "back.nc", "t")) == [largest, largest]


def test_packed_numbers_that_classic_files_lack_are_refused(tensorpress):
    path = tensorpress.directory / "in.nc"
    packed_numbers(path, np.arange(20), "u2", np.float32(0.5))
    tensorpress("compress", path, "--var", "t", "--abs", "0.1", "-o", "x.tpz")
    said = tensorpress.refuses("decompress", "x.tpz", "-o", "y.cdf")
    assert "classic NetCDF files (.cdf) have no type u16; name the output .nc" in said
    assert not (tensorpress.directory / "y.cdf").exists()


@pytest.mark.parametrize("dtype", ["i2", "u2", "i4", "u4", "i8", "u8"])
def test_what_nobody_wrote_is_missing_in_packed_numbers_too(tensorpress, dtype):
    path = tensorpress.directory / "in.nc"
    numbers = np.arange(2000, dtype=dtype)
    numbers[1000:] = netCDF4.default_fillvals[dtype]
    packed_numbers(path, numbers, dtype, 0.01)
    tensorpress("compress", path, "--var", "t", "--rel", "1e-3", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "x.npy")
    values = np.load(tensorpress.directory / "x.npy")
    assert np.array_equal(np.isnan(values), np.arange(2000) >= 1000)
    # The range is 9.99.
    assert np.abs(values[:1000] - numbers[:1000] * 0.01).max() <= 0.00999 + 1e-9
    tensorpress("decompress", "x.tpz", "-o", "back.nc")
    assert np.array_equal(raw(tensorpress.directory / "back.nc", "t")[1000:], numbers[1000:])


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_every_packed_byte_is_data(tensorpress, dtype):
    path = tensorpress.directory / "in.nc"
    numbers = np.arange(256, dtype="u1").view(dtype)
    packed_numbers(path, numbers, dtype, 0.5)
    tensorpress("compress", path, "--var", "t", "--abs", "0.1", "-o", "x.tpz")
    assert tensorpress("decompress", "x.tpz", "-o", "back.nc").err == ""
    assert np.array_equal(raw(tensorpress.directory / "back.nc", "t"), numbers)


def test_a_number_beside_a_fill_value_of_64_bits_is_not_missing(tensorpress):
    # 2^60 and 2^60 + 1 are the same double.
    path = tensorpress.directory / "in.nc"
    numbers = np.full(100, 2**60 + 1)
    numbers[::10] = 2**60
    packed_numbers(path, numbers, "i8", 1.0, missing_value=np.int64(2**60))
    tensorpress("compress", path, "--var", "t", "--abs", "0.1", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "x.npy")
    missing = numbers == 2**60
    assert np.array_equal(np.isnan(np.load(tensorpress.directory / "x.npy")), missing)
    tensorpress("decompress", "x.tpz", "-o", "back.nc")
    assert np.array_equal(raw(tensorpress.directory / "back.nc", "t") == 2**60, missing)


def test_packed_numbers_whose_own_fill_value_only_hdf5_knows_stay_missing(tensorpress):
    path = tensorpress.directory / "in.h5"
    numbers = np.arange(1000, dtype="i2")
    numbers[:100] = -9999
    with h5py.File(path, "w") as file:
        file.create_dataset("t", data=numbers, fillvalue=np.int16(-9999))
        file["t"].attrs["scale_factor"] = 0.01
    tensorpress("compress", path, "--var", "t", "--rel", "1e-4", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "back.nc")
    assert np.array_equal(raw(tensorpress.directory / "back.nc", "t"), numbers)


@pytest.mark.parametrize("bound, told", [(0.0499, True), (0.018, False)])
def test_floats_that_are_rounded_count_against_half_a_step(tensorpress, bound, told):
    # Floats about 4e5 are 1/32 apart: unpacking is off by up to 1/64 before anything is compressed.
    path = tensorpress.directory / "in.nc"
    steps = np.random.default_rng(5).integers(-50, 50, 20000)
    numbers = (4_000_000 + np.cumsum(steps)).astype("i4")
    packed_numbers(path, numbers, "i4", np.float32(0.1))
    tensorpress("compress", path, "--var", "t", "--abs", bound, "-o", "x.tpz")
    said = tensorpress("decompress", "x.tpz", "-o", "back.nc").err
    assert ("which may add 0.05 to the error" in said) == told
    same = np.array_equal(raw(tensorpress.directory / "back.nc", "t"), numbers)
    assert same or told
