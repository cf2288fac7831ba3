"""verify of whole NetCDF and HDF5 files: every variable against its own bound, everything else bit
for bit, and a sentence for each breach."""

import shutil

import h5py
import netCDF4
import numpy as np
import pytest
from netcdf_files import COADS, needs_plugin

pytestmark = needs_plugin


def make_netcdf(path, form="NETCDF4"):
    generator = np.random.default_rng(7)
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.title = "a title"
        file.createDimension("t", None)
        file.createDimension("x", 4000)
        file.createDimension("c", 5)
        x = file.createVariable("x", "f8", ("x",))
        x[:] = np.linspace(0, 1, 4000)
        for name in ("tas", "pr"):
            made = file.createVariable(name, "f4", ("t", "x"), fill_value=np.float32(-999))
            made.units = "K"
            made.set_auto_maskandscale(False)
            values = np.cumsum(generator.standard_normal((30, 4000)), axis=1).astype("f4")
            values[3, 4:9] = -999
            values[5, 5] = np.nan
            made[:] = values
        file.createVariable("n", "i4", ("t",))[:] = np.arange(30)
        file.createVariable("label", "S1", ("c",))[:] = np.array(list("hello"), "S1")
        if form == "NETCDF4":
            group = file.createGroup("ocean")
            group.createVariable("depth", "f8", ("x",))[:] = generator.standard_normal(4000) * 100
            words = group.createVariable("words", str, ("c",))
            words[:] = np.array(["a", "bc", "", "déf", "g"], dtype=object)
    return path


@pytest.fixture(params=["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF4"])
def rewritten(request, tensorpress):
    """The directory with in.nc and small.nc."""
    make_netcdf(tensorpress.directory / "in.nc", request.param)
    tensorpress("compress", "in.nc", "--rel", "1e-3", "-o", "small.nc")
    return tensorpress.directory


def sentences(outcome):
    lines = outcome.err.splitlines()
    assert all(line.startswith("tensorpress: ") for line in lines), lines
    return [line.removeprefix("tensorpress: ") for line in lines]


def test_a_rewritten_file_keeps_what_it_says_and_the_table_shows_it(tensorpress, rewritten):
    outcome = tensorpress("verify", "in.nc", "small.nc")
    lines = outcome.out.decode().splitlines()
    assert lines[0].split() == "variable type shape bound largest error ratio".split()
    by_name = {line.split()[0]: line for line in lines[1:]}
    assert {"x", "tas", "pr", "n", "label"} <= set(by_name)
    assert "30x4000" in by_name["tas"] and " rel 0.001 (abs " in by_name["tas"]
    assert by_name["n"].split()[3] == "exact"
    assert all(line.endswith("ok") and "NOT" not in line for line in lines[1:])
    assert outcome.err == ""


def test_numbers_are_numbers_in_json(tensorpress, rewritten):
    told = tensorpress("verify", "in.nc", "small.nc", "--json").json
    assert told["ok"] is True and told["differences"] == []
    rows = {each["variable"]: each for each in told["variables"]}
    tas = rows["tas"]
    limit = float(tas["bound"].removeprefix("abs "))
    assert 0 < tas["max_abs_error"] <= limit and isinstance(tas["ratio"], float)
    assert tas["shape"] == [30, 4000] and tas["type"] == "float" and tas["exact"] is False
    assert rows["n"]["max_abs_error"] == 0 and rows["n"]["bound"] is None


def test_a_variable_may_be_chosen(tensorpress, rewritten):
    told = tensorpress("verify", "in.nc", "small.nc", "--var", "tas", "--json").json
    assert [each["variable"] for each in told["variables"]] == ["tas"]
    assert "there is no variable 'nix'; there are: tas, pr" in tensorpress.refuses(
        "verify", "in.nc", "small.nc", "--var", "nix"
    )


def damage_value(file):
    file["tas"].set_auto_maskandscale(False)
    file["tas"][2, 3] = file["tas"][2, 3] + 50


def damage_fill(file):
    file["tas"].set_auto_maskandscale(False)
    file["tas"][3, 5] = 1.5


def damage_nan(file):
    file["tas"].set_auto_maskandscale(False)
    file["tas"][5, 5] = 0


def damage_whole_number(file):
    file["n"][4] = 1000


def damage_coordinate(file):
    file["x"][1] = np.nextafter(file["x"][1], 2)


def damage_text(file):
    file["label"][0] = b"j"


def damage_attribute(file):
    file["tas"].units = "C"


def drop_attribute(file):
    file["tas"].delncattr("units")


def damage_title(file):
    file.title = "another"


def add_variable(file):
    file.createVariable("extra", "f4", ("x",))[:] = 1


def add_dimension(file):
    file.createDimension("more", 3)


DAMAGE = {
    "value": (damage_value, "tas: the error "),
    "fill value": (damage_fill, "tas: 1 NaN, infinite or fill values came back changed"),
    "nan": (damage_nan, "tas: "),  # the chunk was coded again, too
    "whole number": (damage_whole_number, "n: 1 value differs; they must be the same bit for bit"),
    "coordinate": (damage_coordinate, "x: 1 value differs"),
    "text": (damage_text, "label: 1 value differs"),
    "attribute": (damage_attribute, "tas: attribute 'units' has another"),
    "no attribute": (drop_attribute, "tas: attribute 'units' is not in the copy"),
    "title": (damage_title, "attribute 'title' has another"),
    "variable": (add_variable, "extra: it is not in the original"),
    "dimension": (add_dimension, "more"),
}


@pytest.mark.parametrize("damage, sentence", DAMAGE.values(), ids=DAMAGE.keys())
def test_every_breach_is_a_sentence_and_status_1(tensorpress, rewritten, damage, sentence):
    with netCDF4.Dataset(rewritten / "small.nc", "a") as file:
        damage(file)
    outcome = tensorpress("verify", "in.nc", "small.nc", "--json", status=1)
    told = sentences(outcome)
    assert len(told) == 1 and told[0].startswith("small.nc: ") and sentence in told[0], told
    assert outcome.json["ok"] is False


def test_a_variable_that_is_missing_is_a_breach(tensorpress):
    make_netcdf(tensorpress.directory / "in.nc")
    make_netcdf(tensorpress.directory / "more.nc")
    with netCDF4.Dataset(tensorpress.directory / "more.nc", "a") as file:
        file.createVariable("extra", "f4", ("x",))[:] = 1
    told = sentences(tensorpress("verify", "more.nc", "in.nc", status=1))
    assert told == ["in.nc: extra: it is not in the copy"]
    told = sentences(tensorpress("verify", "more.nc", "in.nc", "--var", "extra", status=1))
    assert told == ["in.nc: extra: it is not in the copy"]


def test_types_shapes_and_groups_are_compared(tensorpress):
    make_netcdf(tensorpress.directory / "in.nc")
    with netCDF4.Dataset(tensorpress.directory / "other.nc", "w") as file:
        file.title = "a title"
        file.createDimension("t", None)
        file.createDimension("x", 4000)
        file.createDimension("c", 5)
        file.createVariable("tas", "f8", ("t", "x"))
        file.createVariable("pr", "f4", ("x",))
    told = "\n".join(sentences(tensorpress("verify", "in.nc", "other.nc", status=1)))
    assert "tas: its type is double and was float" in told
    assert "pr: its shape is another one" in told
    assert "'ocean': it is not in the copy" in told


@pytest.fixture
def everything(tensorpress, smooth):
    """in.h5 with every kind of type, and its copy out.h5."""
    compound = np.dtype([("a", "<i2"), ("b", ">f8"), ("name", "S5")], align=True)
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file["field"] = smooth((60, 70))
        file["big"] = smooth((30, 20)).astype(">f8")
        file["half"] = smooth((50, 40), "f2")
        rows = file.create_dataset("rows", (3,), dtype=h5py.vlen_dtype("i4"))
        for i in range(3):
            rows[i] = np.arange(i + 1)
        file.create_dataset("words", data=["one", "two", "three"])
        file["records"] = np.zeros(4, compound)
        colors = h5py.enum_dtype({"red": 0, "green": 1}, basetype="i1")
        file.create_dataset("colors", data=np.array([0, 1, 1], "i1"), dtype=colors)
        file["flags"] = np.array([True, False])
        file["opaque"] = np.void(b"abcd")
        file["nothing"] = h5py.Empty("f4")
        file["empty"] = np.zeros((0, 3), "f4")
        file["z"] = 1 + 2j
        file["sub/again"] = file["field"]
        file["soft"] = h5py.SoftLink("/field")
        file["a type"] = np.dtype("i2")
        file["field"].attrs["ref"] = file["big"].ref
        file["field"].attrs["many"] = ["x", "y"]
    tensorpress("compress", "in.h5", "--abs", "0.5", "-o", "out.h5")
    return tensorpress.directory


def test_every_type_of_hdf5_is_compared(tensorpress, everything):
    told = tensorpress("verify", "in.h5", "out.h5", "--json").json
    types = {each["variable"]: each["type"] for each in told["variables"]}
    assert types["rows"] == "vlen" and types["words"] == "string"
    assert types["records"] == types["z"] == "compound" and types["colors"] == "enum"
    bounds = {each["variable"]: each["bound"] for each in told["variables"]}
    assert bounds["big"] == bounds["half"] == bounds["field"] == "abs 0.5"
    assert told["ok"] is True


def change(name, index, value):
    def work(file):
        file[name][()]  # HDF5 looks for a filter when it reads, and not when it writes
        file[name][index] = value

    return work


def change_link(file):
    del file["soft"]
    file["soft"] = h5py.SoftLink("/big")


def change_reference(file):
    file["field"].attrs["ref"] = file["half"].ref


HDF5_DAMAGE = {
    "rows": (change("rows", 1, np.array([0, 5])), "rows: 1 value differs"),
    "shorter row": (change("rows", 2, np.array([0, 1])), "rows: 1 value differs"),
    "words": (change("words", 1, "tvo"), "words: 1 value differs"),
    "record": (change("records", 2, (1, 0.0, b"")), "records: 1 value differs"),
    "enum": (change("colors", 0, 1), "colors: 1 value differs"),
    "boolean": (change("flags", 0, False), "flags: 1 value differs"),
    "opaque": (change("opaque", (), np.void(b"abce")), "opaque: 1 value differs"),
    "complex": (change("z", (), 1 + 3j), "z: 1 value differs"),
    "big-endian": (change("big", (2, 2), 1e6), "big: the error "),
    "half": (change("half", (2, 2), -1e3), "half: the error "),
    "link": (change_link, "link 'soft' leads elsewhere"),
    "reference": (change_reference, "field: attribute 'ref' has another value"),
}


@pytest.mark.parametrize("damage, sentence", HDF5_DAMAGE.values(), ids=HDF5_DAMAGE.keys())
def test_a_change_of_any_type_is_found(tensorpress, everything, damage, sentence):
    with h5py.File(everything / "out.h5", "a") as file:
        damage(file)
    told = sentences(tensorpress("verify", "in.h5", "out.h5", status=1))
    assert told[0].startswith(f"out.h5: {sentence}"), told
    # What has two names is told under both, or under the first.
    assert len(told) <= 2


def test_what_was_recompressed_is_judged_by_what_came_after(tensorpress):
    """The steps that the original has behind it already do not count."""
    make_netcdf(tensorpress.directory / "in.nc")
    tensorpress("compress", "in.nc", "--abs", "0.05", "-o", "one.nc")
    shutil.copy(tensorpress.directory / "one.nc", tensorpress.directory / "two.nc")
    assert tensorpress("verify", "one.nc", "two.nc", "--json").json["variables"][0]["exact"]
    # With the filter's own step or, where another tool has set the filter, without.
    for history in ("dense abs 0.5; dense abs 0.05", "dense abs 0.5"):
        with netCDF4.Dataset(tensorpress.directory / "two.nc", "a") as file:
            file["tas"].tensorpress_history = history
        rows = tensorpress("verify", "in.nc", "two.nc", "--json").json["variables"]
        total = {each["variable"]: each["bound"] for each in rows}["tas"]
        assert float(total.removeprefix("abs ")) == pytest.approx(0.55)


def test_a_file_without_the_filter_is_judged_by_its_history(tensorpress):
    make_netcdf(tensorpress.directory / "in.nc")
    make_netcdf(tensorpress.directory / "plain.nc")
    with netCDF4.Dataset(tensorpress.directory / "plain.nc", "a") as file:
        file["tas"].set_auto_maskandscale(False)
        file["tas"].tensorpress_history = "dense abs 0.01"
        file["tas"][0, 0] = file["tas"][0, 0] + 0.009
    tensorpress("verify", "in.nc", "plain.nc")
    with netCDF4.Dataset(tensorpress.directory / "plain.nc", "a") as file:
        file["tas"].set_auto_maskandscale(False)
        file["tas"][0, 0] = file["tas"][0, 0] + 0.009
    told = sentences(tensorpress("verify", "in.nc", "plain.nc", status=1))
    assert len(told) == 1 and "exceeds the bound 0.01" in told[0]


def test_datasets_that_were_never_written_are_not_read(tensorpress):
    for name in ("in.h5", "out.h5"):
        with h5py.File(tensorpress.directory / name, "w") as file:
            file.create_dataset("huge", (2**40, 2**20), "i4", chunks=(2, 2), fillvalue=7)
    tensorpress("verify", "in.h5", "out.h5")
    with h5py.File(tensorpress.directory / "out.h5", "w") as file:
        file.create_dataset("huge", (2**40, 2**20), "i4", chunks=(2, 2), fillvalue=8)
    told = sentences(tensorpress("verify", "in.h5", "out.h5", status=1))
    assert told == ["out.h5: huge: its fill value is another one"]


@pytest.mark.parametrize("bound", [["--abs", "0.1"], ["--pw-rel", "1e-3"], ["--psnr", "60"]])
def test_compress_verifies_whole_files(tensorpress, bound):
    outcome = tensorpress("compress", COADS, *bound, "-o", "small.nc", "--verify", "--json")
    assert outcome.json["verify"]["ok"] is True
    assert len(outcome.json["verify"]["variables"]) == len(outcome.json["variables"])
    outcome = tensorpress("compress", COADS, *bound, "-o", "again.nc", "--verify")
    assert "largest error" in outcome.out.decode()


def test_files_that_cannot_be_read_are_told(tensorpress, rewritten):
    small = (rewritten / "small.nc").read_bytes()
    (rewritten / "cut.nc").write_bytes(small[: len(small) // 2])
    assert "cut.nc" in tensorpress.refuses("verify", "in.nc", "cut.nc")
    np.save(rewritten / "x.npy", np.zeros(3))
    tensorpress.refuses("verify", "in.nc", "x.npy")
