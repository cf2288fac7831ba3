"""Whole NetCDF and HDF5 files with our filter on their data, and everything else as it was."""

import h5py
import netCDF4
import numpy as np
import pytest
from netcdf_files import ATLAS, COADS, LEVITUS, attributes, check_bound, needs_plugin, raw


def without_own(attributes):
    """Without what the program says about its work (test_provenance.py)."""
    return {name: value for name, value in attributes.items() if "tensorpress_" not in name}


@needs_plugin
def test_strings_of_any_length_are_copied(tensorpress):
    # Each with the fill value that NetCDF gives it, or one of its own.
    path, small = tensorpress.directory / "in.nc", tensorpress.directory / "small.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("station", 3)
        file.createDimension("time", None)
        file.createVariable("t", "f4", ("time", "station"))[0:4] = np.ones((4, 3))
        names = np.array(["Bern", "Zürich", ""], object)
        file.createVariable("station", str, ("station",))[:] = names
        file.createVariable("one", str, ())[...] = "alone"
        file.createVariable("gaps", str, ("station",), fill_value="gone")[1] = "here"
        remarks = file.createVariable("remarks", str, ("time", "station"), zlib=True)
        remarks[0:4] = np.full((4, 3), "x" * 1000, object)
        remarks.note = "kept"
        group = file.createGroup("more")
        group.createDimension("none", None)
        group.createVariable("nothing", str, ("none",))
    tensorpress("compress", path, "--abs", "1e-3", "-o", "small.nc")
    with netCDF4.Dataset(path) as old, netCDF4.Dataset(small) as new:
        assert list(new.variables) == list(old.variables)
        for name in ("station", "one", "gaps", "remarks", "more/nothing"):
            assert np.array_equal(new[name][...], old[name][...]), name
            assert new[name].dimensions == old[name].dimensions
            assert new[name].chunking() == old[name].chunking()
            assert new[name].filters() == old[name].filters()
            assert attributes(small, name) == attributes(path, name)
        assert np.array_equal(new["t"][...], old["t"][...])
    # What was written can be written again, and grows with the fill value that it had.
    tensorpress("compress", "small.nc", "--abs", "1e-3", "-o", "again.nc")
    with netCDF4.Dataset(tensorpress.directory / "again.nc", "a") as again:
        again["remarks"][4, 0] = "more"
        assert list(again["remarks"][4]) == ["more", "", ""]


def test_fill_values_of_strings_in_hdf5_are_copied(tensorpress):
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["x"] = np.ones((20, 20), "f4")
        file.create_dataset("words", (4,), h5py.string_dtype(), fillvalue="none")[2] = "two"
        file.create_dataset("letters", (4,), "S5", fillvalue=b"fixed")[1] = b"ab"
    tensorpress("compress", "in.h5", "--abs", "0.1", "-o", "out.h5")
    with (
        h5py.File(tensorpress.directory / "in.h5") as old,
        h5py.File(tensorpress.directory / "out.h5") as new,
    ):
        for name in ("words", "letters"):
            assert np.array_equal(new[name][...], old[name][...]), name
            assert new[name].fillvalue == old[name].fillvalue


@needs_plugin
@pytest.mark.parametrize("form", ["classic", "netcdf4"])
@pytest.mark.parametrize("path", [COADS, LEVITUS, ATLAS])
def test_a_whole_file_is_rewritten_and_only_its_data_differ(tensorpress, path, form):
    source = path
    if form == "netcdf4":
        source = tensorpress.directory / "source.nc"
        with netCDF4.Dataset(path) as old, netCDF4.Dataset(source, "w") as new:
            new.setncatts({a: old.getncattr(a) for a in old.ncattrs()})
            for name, dimension in old.dimensions.items():
                new.createDimension(name, None if dimension.isunlimited() else dimension.size)
            for name, variable in old.variables.items():
                fill = getattr(variable, "_FillValue", None)
                made = new.createVariable(
                    name, variable.dtype, variable.dimensions, fill_value=fill, zlib=True
                )
                made.set_auto_maskandscale(False)
                made.setncatts(
                    {a: variable.getncattr(a) for a in variable.ncattrs() if a != "_FillValue"}
                )
                made[...] = raw(path, name)
            group = new.createGroup("more")
            group.createDimension("n", 5)
            group.createVariable("numbers", "i4", ("n",))[:] = np.arange(5)
            group.note = "kept"
    told = tensorpress("compress", source, "--rel", "1e-3", "-o", "small.nc", "--json").json
    small = tensorpress.directory / "small.nc"
    assert small.stat().st_size < path.stat().st_size / 4
    bounds = {each["variable"]: each["bound"] for each in told["variables"]}
    with netCDF4.Dataset(source) as old, netCDF4.Dataset(small) as new:
        assert list(new.variables) == list(old.variables)
        expected = {a: old.getncattr(a) for a in old.ncattrs()}
        told_now, _, told_before = new.history.partition("\n")
        assert "tensorpress" in told_now and told_before == expected.pop("history", "")
        assert {a: new.getncattr(a) for a in new.ncattrs() if a != "history"} == expected
        for name, dimension in old.dimensions.items():
            assert new.dimensions[name].isunlimited() == dimension.isunlimited()
            assert new.dimensions[name].size == dimension.size
        for name, variable in old.variables.items():
            assert new[name].dimensions == variable.dimensions
            assert without_own(attributes(small, name)) == attributes(source, name)
            if variable.ndim < 3:
                assert bounds[name] is None
                assert np.array_equal(raw(small, name), raw(source, name))
            else:
                assert bounds[name].startswith("abs ")
                check_bound(source, name, raw(small, name), 1e-3)
        if form == "netcdf4":
            assert new["more"].note == "kept" and list(new["more/numbers"][:]) == list(range(5))
    # Our own program reads it without any plugin path.
    tensorpress(
        "compress",
        "small.nc",
        "--var",
        list(bounds)[-2 if form == "netcdf4" else -1],
        "--abs",
        "1",
        "-o",
        "x.tpz",
    )


@needs_plugin
def test_an_hdf5_file_with_everything_in_it_is_rewritten(tensorpress, smooth):
    data = smooth((120, 90))
    with h5py.File(tensorpress.directory / "in.h5", "w", track_order=True) as file:
        file.attrs["title"] = "a title"
        field = file.create_dataset(
            "z/field", data=data.astype(">f4"), chunks=(50, 50), compression="gzip"
        )
        field.attrs["names"] = ["one", "two"]
        file["a_scale"] = np.arange(120.0)
        file["a_scale"].make_scale("rows")
        field.dims[0].attach_scale(file["a_scale"])
        file["whole"] = np.arange(7)
        file["words"] = ["x", "yy"]
        file["pairs"] = np.zeros(3, [("a", "f4"), ("b", "i4")])
        file["named_type"] = np.dtype("f8")
        file["soft"] = h5py.SoftLink("/z/field")
        file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
        file["nothing"] = np.zeros((0, 4), "f4")
        file.attrs["best"] = field.ref
    tensorpress("compress", "in.h5", "--abs", "0.5", "-o", "out.h5")
    with (
        h5py.File(tensorpress.directory / "in.h5") as old,
        h5py.File(tensorpress.directory / "out.h5") as new,
    ):
        assert list(new) == list(old)
        assert new.attrs["title"] == "a title" and new[new.attrs["best"]] == new["z/field"]
        assert new["z/field"].dims[0][0] == new["a_scale"]
        assert list(new["z/field"].attrs["names"]) == ["one", "two"]
        assert new["z/field"].dtype == ">f4" and new["z/field"].chunks == (50, 50)
        for name in ("a_scale", "whole", "words", "pairs", "nothing"):
            assert np.array_equal(new[name][...], old[name][...])
        assert new.get("elsewhere", getlink=True).filename == "other.h5"
        assert new.get("soft", getlink=True).path == "/z/field"
        assert np.abs(new["z/field"][...] - data).max() <= 0.5
        assert new["z/field"].id.get_create_plist().get_filter(0)[0] == 54352


def linked_file(path, data):
    """One dataset with three names, one of them in a group with two names."""
    with h5py.File(path, "w") as file:
        file["a"] = data
        file["group/x"] = file["a"]
        file["whole"] = np.arange(5)
        file["same"] = file["whole"]
        file["twin"] = file["group"]
        file["uses"] = np.zeros(3)
        file["uses"].attrs["which"] = file["twin/x"].ref


@needs_plugin
def test_hard_links_stay_links(tensorpress, smooth):
    data = smooth((120, 90))
    linked_file(tensorpress.directory / "in.h5", data)
    tensorpress("compress", "in.h5", "--abs", "0.5", "-o", "out.h5")
    with h5py.File(tensorpress.directory / "out.h5") as new:
        assert new["a"] == new["group/x"] == new["twin/x"]
        assert new["twin"] == new["group"] and new["same"] == new["whole"]
        assert new[new["uses"].attrs["which"]] == new["a"]
        assert np.abs(new["a"][...] - data).max() <= 0.5
        assert new["a"].id.get_create_plist().get_filter(0)[0] == 54352


@needs_plugin
@pytest.mark.parametrize("chosen", ["a", "group/x", "twin/x"])
def test_of_several_names_only_the_chosen_one_is_compressed(tensorpress, smooth, chosen):
    data = smooth((120, 90))
    linked_file(tensorpress.directory / "in.h5", data)
    tensorpress("compress", "in.h5", "--var", chosen, "--abs", "0.5", "-o", "out.h5")
    with h5py.File(tensorpress.directory / "out.h5") as new:
        for name in ("a", "group/x", "twin/x"):
            exact = np.array_equal(new[name][...], data)
            assert exact == (name != chosen) and np.abs(new[name][...] - data).max() <= 0.5


def add_circle(file):
    file["inner/back"] = file["/"]


def add_deep_groups(file):
    file["/".join(["g"] * 70)] = 1


def add_many_ways(file):
    group = file
    for _ in range(60):
        inner = group.create_group("left")
        group["right"] = inner
        group = inner


@pytest.mark.parametrize(
    "add, sentence",
    [
        (add_circle, "groups are nested more than 64 deep, or in a circle"),
        (add_deep_groups, "groups are nested more than 64 deep, or in a circle"),
        (add_many_ways, "links lead to the same groups in more than 65536 ways"),
    ],
)
def test_groups_without_an_end_are_refused(tensorpress, add, sentence):
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["a"] = np.ones((4, 4), "f4")
        add(file)
    np.save(tensorpress.directory / "x.npy", np.ones((4, 4), "f4"))
    tensorpress("compress", "x.npy", "--abs", "1", "-o", "x.tpz")
    for arguments in (
        ["info", "in.h5"],
        ["compress", "in.h5", "--var", "a", "--abs", "1", "-o", "a.tpz"],
        ["compress", "in.h5", "--abs", "1", "-o", "out.h5"],
        ["verify", "in.h5", "x.tpz", "--var", "a"],
    ):
        assert sentence in tensorpress.refuses(*arguments)
    assert not list(tensorpress.directory.glob("[ao]*"))


@needs_plugin
@pytest.mark.parametrize("kind", ["soft", "external"])
def test_a_circle_of_links_by_name_is_kept(tensorpress, smooth, kind):
    data = smooth((60, 70))
    link = h5py.SoftLink("/") if kind == "soft" else h5py.ExternalLink("in.h5", "/")
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["a"] = data
        file["back"] = link
    listed = tensorpress("info", "in.h5", "--json").json["variables"]
    assert [each["name"] for each in listed] == ["a"]
    tensorpress("compress", "in.h5", "--abs", "0.5", "-o", "out.h5")
    with h5py.File(tensorpress.directory / "out.h5") as new:
        assert type(new.get("back", getlink=True)) is type(link)
        assert np.abs(new["back/a"][...] - data).max() <= 0.5


@needs_plugin
@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF4"])
def test_a_given_range_decides_about_a_relative_bound(tensorpress, form):
    values = np.linspace(0, 1000, 4000, dtype="f4").reshape(40, 100)
    with netCDF4.Dataset(tensorpress.directory / "run.nc", "w", format=form) as file:
        file.createDimension("y", 40)
        file.createDimension("x", 100)
        file.createVariable("t", "f4", ("y", "x"))[...] = values
    arguments = ["compress", "run.nc", "--rel", "1e-3", "--range", "0:1", "-o", "small.nc"]
    (told,) = tensorpress(*arguments, "--json").json["variables"]
    assert told["bound"] == "abs 0.001"
    assert np.abs(raw(tensorpress.directory / "small.nc", "t") - values).max() <= 1e-3
    arguments[5] = "2:1"
    said = tensorpress.refuses(*arguments, "--force")
    assert "the value range 2 to 1 needs two finite numbers, the lower one first" in said


def waves_with_gaps(path, gap):
    """Values of -1 to 1 with gaps that only the attribute missing_value tells of."""
    values = np.sin(np.arange(64 * 64, dtype="f4") / 50).reshape(64, 64)
    values[5:9, 5:9] = gap
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 64)
        file.createDimension("x", 64)
        variable = file.createVariable("t", "f4", ("y", "x"))
        variable.set_auto_mask(False)
        variable[...] = values
    return values


@needs_plugin
@pytest.mark.parametrize("told_by", ["attribute", "option"])
def test_fill_values_stay_where_a_file_is_rewritten_at_a_fixed_rate(tensorpress, told_by):
    path = tensorpress.directory / "in.nc"
    values = waves_with_gaps(path, -999)
    if told_by == "attribute":
        with netCDF4.Dataset(path, "a") as file:
            file["t"].missing_value = np.float32(-999)
    fill = [] if told_by == "attribute" else ["--fill", "-999"]
    tensorpress("compress", path, "--cf", "4", *fill, "-o", "out.nc")
    back = raw(tensorpress.directory / "out.nc", "t")
    assert np.array_equal(back == -999, values == -999)
    assert np.abs(back - values).max() < 0.2


@pytest.mark.parametrize("how", [["--cf", "4"], ["--abs", "1"]])
def test_more_fill_values_than_the_filter_takes_are_refused(tensorpress, how):
    waves_with_gaps(tensorpress.directory / "in.nc", 0)
    # With NetCDF's own there are sixteen.
    fills = [word for fill in range(15) for word in ("--fill", fill)]
    said = tensorpress.refuses("compress", "in.nc", *how, *fills, "-o", "out.nc")
    assert "variable 't' and --fill have 16 fill values; the HDF5 filter takes at most 15" in said
    assert not (tensorpress.directory / "out.nc").exists()


@pytest.mark.parametrize("how", [["--abs", "1"], ["--cf", "4"]])
@pytest.mark.parametrize("kind", ["strings", "floats"])
def test_datasets_that_declare_more_than_can_be_read_are_refused(tensorpress, kind, how):
    # Nothing is stored; a count of their bytes in 64 bits is 0.
    dtype, fill = (h5py.string_dtype(), "none") if kind == "strings" else ("f4", -1)
    with h5py.File(tensorpress.directory / "bad.h5", "w") as file:
        file.create_dataset("x", (1, 2**31, 2**30), dtype, chunks=(1, 8, 8), fillvalue=fill)
    said = tensorpress.refuses("compress", "bad.h5", *how, "-o", "y.h5")
    assert "has more than 2^" in said
    assert not (tensorpress.directory / "y.h5").exists()


@needs_plugin
@pytest.mark.parametrize("kind", ["netCDF-4", "HDF5"])
def test_groups_with_many_variables_are_rewritten(tensorpress, smooth, kind):
    """HDF5 keeps more than eight links of a group elsewhere, and tells where when it is asked for
    the properties of the group."""
    path = tensorpress.directory / ("in.nc" if kind == "netCDF-4" else "in.h5")
    if kind == "netCDF-4":
        with netCDF4.Dataset(path, "w") as file:
            group = file.createGroup("ocean")
            group.createDimension("x", 50)
            for i in range(20):
                group.createVariable(f"v{i}", "f4", ("x",))[:] = smooth((50,))
            group.z_first, group.a_last = 1, 2
    else:
        with h5py.File(path, "w", track_order=True) as file:
            for i in range(20):
                file[f"ocean/deep/v{i}"] = smooth((50,))
    tensorpress("compress", path, "--abs", "0.5", "-o", "out.nc", "--verify")
    with h5py.File(path) as old, h5py.File(tensorpress.directory / "out.nc") as new:
        assert list(new["ocean"]) == list(old["ocean"])
        assert list(new["ocean"].attrs) == list(old["ocean"].attrs)


@needs_plugin
def test_variables_with_many_attributes_are_copied(tensorpress):
    """HDF5 1.10 itself crashes when it copies more than eight attributes, one of any length."""
    path = tensorpress.directory / "in.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 10)
        made = file.createVariable("n", "i4", ("t", "x"))
        made[:] = np.arange(50).reshape(5, 10)
        for i in range(12):
            made.setncattr_string(f"note{i}", f"text {i}")
    tensorpress("compress", path, "--abs", "0.5", "-o", "out.nc", "--verify")
    assert attributes(tensorpress.directory / "out.nc", "n") == attributes(path, "n")


@needs_plugin
def test_a_psnr_is_of_the_variable_and_not_of_what_fills_its_chunks(tensorpress):
    """The chunks at the edges of a dataset are filled up, and the filter sees all of them."""
    generator = np.random.default_rng(5)
    data = generator.standard_normal((9, 9, 9)).astype("f4")
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file.create_dataset("noise", data=data, chunks=(8, 8, 8))
    tensorpress("compress", "in.h5", "--psnr", "40", "-o", "out.h5", "--verify")
    with h5py.File(tensorpress.directory / "out.h5") as file:
        error = file["noise"][...].astype("f8") - data
    rms = np.sqrt(np.mean(error**2))
    assert rms > 0 and 20 * np.log10(np.ptp(data.astype("f8")) / rms) >= 40
