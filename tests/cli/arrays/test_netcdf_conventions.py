"""What attributes and files say of values that stand for no data, and of coordinates."""

import h5py
import netCDF4
import numpy as np
import pytest
from netcdf_files import attributes, needs_plugin, raw

GAP = np.float32(-1e20)


def waves(gap=GAP):
    """Values of -1 to 1, with a gap."""
    values = np.sin(np.arange(64 * 64, dtype="f4") / 50).reshape(64, 64)
    values[5:9] = gap
    return values


def hdf5_with(path, told_by, reader):
    """An HDF5 file `x` with a gap that one thing tells of, for one of our two readers."""
    fill = GAP if told_by == "dataset" else None
    with h5py.File(path, "w") as file:
        made = file.create_dataset("x", data=waves(), fillvalue=fill)
        if told_by != "dataset":
            made.attrs[told_by] = GAP
        if reader == "hdf5":
            # NetCDF's library does not open such a file.
            file["elsewhere"] = h5py.ExternalLink("nowhere.h5", "/x")


@needs_plugin
@pytest.mark.parametrize("reader", ["netcdf", "hdf5"])
@pytest.mark.parametrize("told_by", ["dataset", "_FillValue", "missing_value"])
@pytest.mark.parametrize("to", ["out.h5", "x.tpz"])
def test_whatever_tells_of_a_fill_value_keeps_it_out_of_the_range(tensorpress, to, told_by, reader):
    hdf5_with(tensorpress.directory / "in.h5", told_by, reader)
    tensorpress("compress", "in.h5", "--var", "x", "--rel", "1e-3", "-o", to)
    if to == "x.tpz":
        tensorpress("decompress", to, "-o", "out.h5")
    with h5py.File(tensorpress.directory / "out.h5") as file:
        back = file["x"][...].astype("f8")
    missing = waves() == GAP
    assert np.array_equal(back == GAP, missing)
    # The range is 2.
    assert np.abs(back - waves())[~missing].max() <= 2e-3


def test_a_fill_value_that_only_hdf5_knows_becomes_an_attribute(tensorpress):
    hdf5_with(tensorpress.directory / "in.h5", "dataset", "netcdf")
    tensorpress("compress", "in.h5", "--var", "x", "--rel", "1e-3", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "back.nc")
    assert attributes(tensorpress.directory / "back.nc", "x")["_FillValue"] == GAP


def test_a_likely_fill_value_is_refused_when_a_file_is_rewritten(tensorpress):
    hdf5_with(tensorpress.directory / "in.h5", "a_note", "netcdf")
    arguments = ["compress", "in.h5", "--rel", "1e-3", "-o", "out.h5"]
    said = tensorpress.refuses(*arguments)
    assert "-1e+20 is likely a fill value" in said and "--fill" in said
    assert not (tensorpress.directory / "out.h5").exists()
    assert tensorpress(*arguments, "--fill", "-1e20").err == ""


def test_a_fill_value_of_0_is_an_ordinary_number(tensorpress):
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file.create_dataset("x", data=np.linspace(0, 1, 500, dtype="f4"), fillvalue=np.float32(0))
    tensorpress("compress", "in.h5", "--var", "x", "--rel", "1e-3", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "back.nc")
    assert "_FillValue" not in attributes(tensorpress.directory / "back.nc", "x")


def grid_file(path, form="NETCDF4"):
    """A field on a grid of two axes with all that CF lets it name, each of them floats."""
    generator = np.random.default_rng(1)
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.createDimension("y", 20)
        file.createDimension("x", 30)
        file.createDimension("level", 5)
        file.coordinates = "height"

        def make(name, *dimensions, **named):
            variable = file.createVariable(name, "f8", dimensions)
            variable[...] = generator.random(variable.shape)
            variable.setncatts(named)

        make(
            "T",
            "y",
            "x",
            coordinates="lat lon",
            cell_measures="area: cell_area volume: cell_volume",
            grid_mapping="crs: lat lon",
            geometry="shapes",
            ancillary_variables="T_error",
        )
        make("T_error", "y", "x")
        make("level", "level", formula_terms="a: hyam b: hybm p0: P0")
        make("shapes", "x", node_coordinates="node_x node_y")
        make("lat", "y", "x", bounds="lat_bounds")
        for name in ("lon", "cell_area", "cell_volume", "crs", "height", "lat_bounds"):
            make(name, "y", "x")
        for name in ("hyam", "hybm", "node_x", "node_y"):
            make(name, "level")


@needs_plugin
@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF4", "HDF5"])
def test_variables_that_others_name_as_coordinates_are_copied(tensorpress, form):
    path = tensorpress.directory / "in.nc"
    grid_file(path, "NETCDF4" if form == "HDF5" else form)
    if form == "HDF5":
        with h5py.File(path, "a") as file:
            file["elsewhere"] = h5py.ExternalLink("nowhere.h5", "/x")
    told = tensorpress("compress", path, "--abs", "0.4", "-o", "small.nc", "--json").json
    changed = {each["variable"] for each in told["variables"] if each["bound"]}
    assert changed == {"T", "T_error"}
    with h5py.File(tensorpress.directory / "small.nc") as new:
        if form == "NETCDF3_CLASSIC":
            old = {name: raw(path, name) for name in new if name not in ("x", "y")}
        else:
            with h5py.File(path) as file:
                old = {name: file[name][...] for name in file if name != "elsewhere"}
        for name in old.keys() - changed:
            assert np.array_equal(new[name][...], old[name]), name


@needs_plugin
def test_a_coordinate_is_compressed_when_it_is_named(tensorpress):
    path = tensorpress.directory / "in.nc"
    grid_file(path)
    tensorpress("compress", path, "--var", "lat", "--abs", "0.4", "-o", "small.nc")
    back = raw(tensorpress.directory / "small.nc", "lat")
    assert 0 < np.abs(back - raw(path, "lat")).max() <= 0.4


def one_axis_of_two(file):
    file["scale"] = np.arange(50.0)
    file["scale"].make_scale("rows")
    file["x"].dims[0].attach_scale(file["scale"])


def scale_in_another_group(file):
    file["group/scale"] = np.arange(50.0)
    file["group/scale"].make_scale("rows")
    file["x"].dims[0].attach_scale(file["group/scale"])


def scale_of_another_length(file):
    file["scale"] = np.arange(7.0)
    file["scale"].make_scale("rows")
    file["x"].dims[0].attach_scale(file["scale"])


@needs_plugin
@pytest.mark.parametrize(
    "attach", [one_axis_of_two, scale_in_another_group, scale_of_another_length]
)
def test_files_whose_scales_are_not_those_of_netcdf_are_read(tensorpress, smooth, attach):
    data = smooth((50, 60))
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["x"] = data
        attach(file)
    tensorpress("compress", "in.h5", "--abs", "0.5", "-o", "out.h5")
    tensorpress("compress", "in.h5", "--var", "x", "--abs", "0.5", "-o", "x.tpz")
    with (
        h5py.File(tensorpress.directory / "in.h5") as old,
        h5py.File(tensorpress.directory / "out.h5") as new,
    ):
        scale = old["x"].dims[0][0].name
        assert new["x"].dims[0][0] == new[scale]
        assert np.array_equal(new[scale][...], old[scale][...])
        assert 0 < np.abs(new["x"][...] - data).max() <= 0.5
