"""NetCDF and HDF5 files: variables to .tpz and back with what belongs to them."""

import shutil

import h5py
import netCDF4
import numpy as np
import pytest
from netcdf_files import ATLAS, COADS, LEVITUS, attributes, check_bound, raw


@pytest.mark.parametrize("path, variable", [(COADS, "SST"), (LEVITUS, "TEMP"), (ATLAS, "TEMP")])
def test_a_variable_keeps_its_bound_and_its_fill_value(tensorpress, path, variable):
    tensorpress("compress", path, "--var", variable, "--rel", "1e-3", "-o", "x.tpz", "--verify")
    tensorpress("decompress", "x.tpz", "-o", "x.npy")
    check_bound(path, variable, np.load(tensorpress.directory / "x.npy"), 1e-3)


@pytest.mark.parametrize("name", ["back.nc", "back.h5", "back.cdf", "back.NC", "back.CDF"])
@pytest.mark.parametrize("path, variable", [(COADS, "SST"), (LEVITUS, "TEMP"), (ATLAS, "TEMP")])
def test_attributes_and_coordinates_come_back(tensorpress, path, variable, name):
    tensorpress("compress", path, "--var", variable, "--abs", "0.01", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", name)
    back = tensorpress.directory / name
    check_bound(path, variable, raw(back, variable), 1)
    with netCDF4.Dataset(path) as old, netCDF4.Dataset(back) as new:
        assert new[variable].dimensions == old[variable].dimensions
        assert new[variable].dtype == old[variable].dtype
        assert {a: new.getncattr(a) for a in new.ncattrs()} == {
            a: old.getncattr(a) for a in old.ncattrs()
        }
        for dimension in old[variable].dimensions:
            assert (
                new.dimensions[dimension].isunlimited() == old.dimensions[dimension].isunlimited()
            )
            assert np.array_equal(raw(back, dimension), raw(path, dimension))
            assert attributes(back, dimension) == attributes(path, dimension)
    told = attributes(back, variable)
    assert told.pop("tensorpress_history").startswith("dense abs")
    assert told == attributes(path, variable)
    assert (back.read_bytes()[:3] == b"CDF") == name.lower().endswith(".cdf")


def test_a_slice_takes_its_part_of_the_coordinates(tensorpress):
    tensorpress("compress", LEVITUS, "--var", "TEMP", "--abs", "0.01", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "--slice", "3,10:20,5:7", "-o", "part.nc")
    with netCDF4.Dataset(tensorpress.directory / "part.nc") as part:
        assert part["TEMP"].shape == (10, 2)
        assert part["TEMP"].dimensions == ("YAXLEVITR", "XAXLEVITR")
    assert np.array_equal(
        raw(tensorpress.directory / "part.nc", "YAXLEVITR"), raw(LEVITUS, "YAXLEVITR")[10:20]
    )


def test_all_variables_become_a_stream_each_and_a_table(tensorpress):
    shutil.copy(COADS, tensorpress.directory / "run.cdf")
    table = (
        tensorpress("compress", "run.cdf", "--var", "*", "--rel", "1e-3").out.decode().splitlines()
    )
    with netCDF4.Dataset(COADS) as file:
        data = [name for name, variable in file.variables.items() if variable.ndim == 3]
    assert [line.split()[0] for line in table] == ["variable", *data, "all"]
    for name in data:
        assert (tensorpress.directory / f"run.{name}.tpz").is_file()
    (tensorpress.directory / "out").mkdir()
    told = tensorpress(
        "compress",
        "run.cdf",
        "--var",
        "SST",
        "--var",
        "SLP",
        "--rel",
        "1e-3",
        "-o",
        "out",
        "--json",
    ).json
    assert [each["output"] for each in told["variables"]] == ["out/run.SST.tpz", "out/run.SLP.tpz"]


def test_bytes_do_not_depend_on_the_threads(tensorpress):
    for threads in (1, 3):
        tensorpress(
            "compress",
            ATLAS,
            "--var",
            "TEMP",
            "--rel",
            "1e-3",
            "-o",
            f"{threads}.tpz",
            "--threads",
            threads,
        )
    assert (tensorpress.directory / "1.tpz").read_bytes() == (
        tensorpress.directory / "3.tpz"
    ).read_bytes()


def test_verify_finds_the_variable_by_itself(tensorpress):
    tensorpress("compress", COADS, "--var", "SLP", "--rel", "1e-3", "-o", "x.tpz")
    assert tensorpress("verify", COADS, "x.tpz", "--json").json["ok"]


def test_more_fill_values_than_can_be_kept_are_refused(tensorpress):
    path = tensorpress.directory / "fills.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 40)
        variable = file.createVariable("t", "f4", ("x",))
        variable.missing_value = np.arange(100, 120, dtype="f4")
        variable[...] = np.arange(40, dtype="f4")
    refused = tensorpress.refuses("compress", path, "--var", "t", "--abs", "1", "-o", "x.tpz")
    assert "21 fill values; up to 15" in refused


def test_a_file_that_is_not_there_is_called_missing(tensorpress):
    tensorpress("compress", COADS, "--var", "SST", "--abs", "1", "-o", "x.tpz")
    for more in ([], ["--var", "SST"]):
        said = tensorpress.refuses("verify", "absent.nc", "x.tpz", *more)
        assert said == "cannot read 'absent.nc': No such file or directory"
    for more in (["--var", "SST"], ["-o", "y.nc"]):
        said = tensorpress.refuses("compress", "absent.nc", "--abs", "1", *more)
        assert said == "cannot read 'absent.nc': No such file or directory"


def test_a_dataset_in_a_group_of_an_hdf5_file(tensorpress, smooth):
    data = smooth((30, 40), "f8")
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["group/inner/x"] = data
        file["group/inner/x"].attrs["unit"] = "m"
    tensorpress("compress", "in.h5", "--var", "/group/inner/x", "--abs", "0.1", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "back.h5")
    with h5py.File(tensorpress.directory / "back.h5") as file:
        assert np.abs(file["x"][...] - data).max() <= 0.1
    noted = tensorpress("info", "x.tpz", "--json").json["attributes"]["netcdf"]
    assert noted["attributes"]["unit"] in ("m", {"string": ["m"]})


def test_info_lists_variables_with_sizes_and_filters(tensorpress):
    tensorpress("compress", COADS, "--rel", "1e-3", "-o", "small.nc")
    listed = tensorpress("info", "small.nc", "--json").json["variables"]
    sst = next(each for each in listed if each["name"] == "SST")
    assert sst["shape"] == [12, 90, 180] and sst["dimensions"] == ["TIME", "COADSY", "COADSX"]
    assert sst["bytes"] == 12 * 90 * 180 * 4 > 5 * sst["stored_bytes"]
    assert sst["filters"][0]["tensorpress"]["codec"] == "dense"
    table = tensorpress("info", COADS).out.decode()
    assert "SST" in table and "12x90x180" in table and "coordinate" in table


@pytest.fixture
def odd_file(tensorpress):
    with netCDF4.Dataset(tensorpress.directory / "odd.nc", "w") as file:
        file.createDimension("none", None)
        file.createDimension("x", 6)
        file.createVariable("empty", "f4", ("none", "x"))
        file.createVariable("letters", "S1", ("x",))
        file.createVariable("counts", "i4", ("x",))
        pair = file.createCompoundType(np.dtype([("a", "f4"), ("b", "f4")]), "pair")
        file.createVariable("pairs", pair, ("x",))
    return "odd.nc"


@pytest.mark.parametrize(
    "variable, sentence",
    [
        ("empty", "its dimension 'none' has length 0"),
        ("letters", "holds text"),
        ("counts", "holds whole numbers (int)"),
        ("pairs", "is of type pair"),
        ("absent", "there is no variable 'absent'"),
    ],
)
def test_what_is_no_data_is_refused_by_name(tensorpress, odd_file, variable, sentence):
    assert sentence in tensorpress.refuses(
        "compress", odd_file, "--var", variable, "--abs", "1", "-o", "x.tpz"
    )
    assert not (tensorpress.directory / "x.tpz").exists()
    assert "no variable can be compressed" in tensorpress.refuses(
        "compress", odd_file, "--abs", "1"
    )


def test_a_missing_variable_lists_what_there_is(tensorpress):
    said = tensorpress.refuses("compress", COADS, "--var", "TEMP", "--rel", "1e-3", "-o", "x.tpz")
    assert "there are: SST, AIRT" in said
    said = tensorpress.refuses("compress", COADS, "--rel", "1e-3")
    assert "several variables: SST, AIRT" in said and "--var" in said


@pytest.mark.parametrize("keep", [3, 100, 2000, 5_000_000])
def test_a_classic_file_that_is_cut_off_is_refused(tensorpress, keep):
    (tensorpress.directory / "cut.nc").write_bytes(COADS.read_bytes()[:keep])
    tensorpress.refuses("compress", "cut.nc", "--var", "SST", "--rel", "1e-3", "-o", "x.tpz")
    assert not (tensorpress.directory / "x.tpz").exists()


def test_a_damaged_netcdf4_file_is_refused_and_the_old_output_stays(tensorpress):
    tensorpress("compress", COADS, "--rel", "1e-3", "-o", "small.nc")
    whole = (tensorpress.directory / "small.nc").read_bytes()
    (tensorpress.directory / "out.nc").write_bytes(b"precious")
    (tensorpress.directory / "cut.nc").write_bytes(whole[:-5000])
    tensorpress.refuses("compress", "cut.nc", "--rel", "1e-3", "-o", "out.nc")
    damaged = bytearray(whole)
    with h5py.File(tensorpress.directory / "small.nc") as file:
        chunk = file["SST"].id.get_chunk_info(3)
    damaged[chunk.byte_offset + chunk.size // 2] ^= 4
    (tensorpress.directory / "flipped.nc").write_bytes(damaged)
    tensorpress.refuses("compress", "flipped.nc", "--rel", "1e-3", "-o", "out.nc")
    assert (tensorpress.directory / "out.nc").read_bytes() == b"precious"
    assert sorted(p.name for p in tensorpress.directory.iterdir()) == [
        "cut.nc",
        "flipped.nc",
        "out.nc",
        "small.nc",
    ]


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["compress", "x.npy", "--abs", "1", "--var", "a", "-o", "x.tpz"], "is neither"),
        (["compress", "x.npy", "--abs", "1", "-o", "x.nc"], "made from such files only"),
        (["compress", COADS, "--ratio", "10", "-o", "x.nc"], "one chunk at a time"),
        (["compress", COADS, "--rel", "1e-3", "-o", "x.cdf"], "have no filters"),
        (["compress", COADS, "--rel", "1e-3", "-o", "x.nc", "--attr", "a=1"], "for .tpz files"),
        (["decompress", "half.tpz", "-o", "x.nc"], "NetCDF has no type for f16"),
    ],
)
def test_wrong_uses_are_told(tensorpress, arguments, sentence):
    np.save(tensorpress.directory / "x.npy", np.ones((4, 4), "f4"))
    np.save(tensorpress.directory / "half.npy", np.ones((4, 4), "f2"))
    tensorpress("compress", "half.npy", "--abs", "1")
    assert sentence in tensorpress.refuses(*arguments)
    assert not (tensorpress.directory / "x.nc").exists()


def test_a_tensor_without_notes_becomes_a_plain_variable(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((5, 6, 7)))
    tensorpress("compress", "x.npy", "--abs", "0.1")
    tensorpress("decompress", "x.tpz", "-o", "x.nc")
    with netCDF4.Dataset(tensorpress.directory / "x.nc") as file:
        assert file["data"].dimensions == ("dim_0", "dim_1", "dim_2")


@pytest.mark.parametrize(
    "notes", ["{", "[]", '{"variable": 5}', '{"variable":"a","type":"f32","dimensions":["x"]}']
)
def test_damaged_notes_are_told_and_npy_still_works(tensorpress, notes):
    np.save(tensorpress.directory / "x.npy", np.ones((4, 4), "f4"))
    tensorpress("compress", "x.npy", "--abs", "0.1", "--attr", f"netcdf={notes}")
    assert "attribute 'netcdf'" in tensorpress.refuses("decompress", "x.tpz", "-o", "x.nc")
    tensorpress("decompress", "x.tpz", "-o", "y.npy")


@pytest.mark.parametrize("options", [["--cf", "4"], ["--codec", "cast"], ["--codec", "quantize"]])
def test_fill_values_stay_with_codecs_of_a_fixed_rate(tensorpress, options):
    path = tensorpress.directory / "fills.nc"
    values = np.sin(np.arange(64 * 64, dtype="f4") / 50).reshape(64, 64)
    values[5:9, 5:9] = -999
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 64)
        file.createDimension("x", 64)
        variable = file.createVariable("t", "f4", ("y", "x"), fill_value=np.float32(-999))
        variable.set_auto_mask(False)
        variable[...] = values
    tensorpress("compress", path, "--var", "t", *options, "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "x.npy")
    back = np.load(tensorpress.directory / "x.npy")
    assert np.array_equal(back == -999, values == -999)
    assert np.abs(back - values).max() < 0.2


def test_coordinates_that_are_left_behind_are_named(tensorpress):
    path = tensorpress.directory / "text.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("station", 3)
        file.createVariable("station", str, ("station",))[...] = np.array(list("abc"), object)
        file.createVariable("t", "f4", ("station",))[...] = [1, 2, 3]
    outcome = tensorpress("compress", path, "--var", "t", "--abs", "1e-3", "-o", "x.tpz")
    assert "station" in outcome.err and "coordinates" in outcome.err


def test_a_classic_file_lacks_new_types_and_that_is_told(tensorpress):
    path = tensorpress.directory / "in.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", 3)
        file.createDimension("x", 4)
        file.createVariable("time", "i8", ("time",))[...] = [10, 20, 30]
        x = file.createVariable("x", "f8", ("x",))
        x[...] = np.arange(4)
        x.setncattr_string("units", "m")
        x.long_name = "along"
        t = file.createVariable("t", "f4", ("time", "x"))
        t[...] = np.arange(12).reshape(3, 4)
        t.setncattr("flags", np.uint16(3))
        file.setncattr_string("title", "a title")
    tensorpress("compress", path, "--var", "t", "--abs", "0.1", "-o", "x.tpz")
    said = tensorpress("decompress", "x.tpz", "-o", "y.cdf").err
    assert said.startswith("tensorpress: y.cdf: a .cdf keeps no strings and no unsigned or 64-bit")
    assert said.endswith(": time, x:units, t:flags, :title\n") and said.count("\n") == 1
    with netCDF4.Dataset(tensorpress.directory / "y.cdf") as file:
        assert file.data_model == "NETCDF3_64BIT_OFFSET" and list(file.variables) == ["x", "t"]
        assert list(file["x"][:]) == [0, 1, 2, 3] and file["x"].ncattrs() == ["long_name"]
        assert np.abs(file["t"][...] - np.arange(12).reshape(3, 4)).max() <= 0.1
    assert tensorpress("decompress", "x.tpz", "-o", "y.nc").err == ""
