"""Bounds for each variable of a file: by name, by pattern and from a TOML file."""

import os

import h5py
import netCDF4
import numpy as np
import pytest
from netcdf_files import needs_plugin, raw


@pytest.fixture
def file(tensorpress):
    """in.nc: tas, pr, ocean/temp, ocean/salt, x and x_bnds, packed and n."""
    generator = np.random.default_rng(3)

    def values(shape):
        return np.cumsum(generator.standard_normal(shape), axis=-1)

    with netCDF4.Dataset(tensorpress.directory / "in.nc", "w") as made:
        made.createDimension("t", 20)
        made.createDimension("x", 50)
        made.createDimension("two", 2)
        made.createVariable("x", "f8", ("x",))[:] = np.arange(50)
        made["x"].bounds = "x_bnds"
        made.createVariable("x_bnds", "f8", ("x", "two"))[:] = values((50, 2))
        made.createVariable("tas", "f4", ("t", "x"))[:] = values((20, 50))
        made.createVariable("pr", "f4", ("t", "x"))[:] = values((20, 50)) * 1e-5
        made.createVariable("n", "i4", ("t",))[:] = np.arange(20)
        packed = made.createVariable("packed", "i2", ("x",))
        packed.scale_factor = 0.5
        packed[:] = np.arange(50)
        group = made.createGroup("ocean")
        group.createVariable("temp", "f4", ("t", "x"))[:] = values((20, 50))
        salt = group.createVariable("salt", "f8", ("t", "x"))
        salt[:] = values((20, 50))
        salt[3, 4:9] = -999
    return tensorpress.directory


def write_bounds(directory, *lines):
    (directory / "bounds.toml").write_text("[variables]\n" + "\n".join(lines) + "\n")


def bounds_told(outcome):
    return {each["variable"]: each["bound"] for each in outcome.json["variables"] if each["bound"]}


def largest_error(directory, name):
    return np.abs(
        raw(directory / "small.nc", name).astype("f8") - raw(directory / "in.nc", name)
    ).max()


REWRITE = ["compress", "in.nc", "-o", "small.nc"]


@needs_plugin
def test_every_variable_keeps_the_bound_it_was_given_and_others_are_copied(tensorpress, file):
    arguments = ["--abs", "tas=0.01", "--abs", "pr=1e-7", "--json", "--verify"]
    told = tensorpress(*REWRITE, *arguments)
    assert bounds_told(told) == {"tas": "abs 0.01", "pr": "abs 1e-07"}
    assert 0 < largest_error(file, "tas") <= 0.01
    assert 0 < largest_error(file, "pr") <= 1e-7
    for name in ("ocean/temp", "ocean/salt", "x", "x_bnds", "n", "packed"):
        assert np.array_equal(raw(file / "small.nc", name), raw(file / "in.nc", name)), name


@needs_plugin
def test_the_name_comes_before_a_pattern_and_a_pattern_before_all_others(tensorpress, file):
    told = tensorpress(
        *REWRITE,
        *["--abs", "*=0.5", "--abs", "ocean/*=0.25", "--abs", "ocean/temp=0.125", "--json"],
    )
    assert bounds_told(told) == {
        "tas": "abs 0.5",
        "pr": "abs 0.5",
        "ocean/salt": "abs 0.25",
        "ocean/temp": "abs 0.125",
    }


@needs_plugin
def test_a_plain_number_is_for_all_others(tensorpress, file):
    told = tensorpress(*REWRITE, "--abs", "0.5", "--pw-rel", "pr=0.001", "--json")
    assert bounds_told(told)["pr"] == "pw-rel 0.001" and bounds_told(told)["tas"] == "abs 0.5"
    assert bounds_told(told)["ocean/temp"] == "abs 0.5"


@needs_plugin
def test_a_relative_bound_is_of_the_variables_own_range(tensorpress, file):
    tensorpress(*REWRITE, "--rel", "*=1e-3", "--abs", "ocean/salt=1")
    for name in ("tas", "pr", "ocean/temp"):
        assert largest_error(file, name) <= 1e-3 * np.ptp(raw(file / "in.nc", name).astype("f8"))
    tensorpress("verify", "in.nc", "small.nc")


@needs_plugin
def test_a_coordinate_is_compressed_only_by_its_own_name(tensorpress, file):
    assert "x" not in bounds_told(tensorpress(*REWRITE, "--abs", "*=0.5", "--json"))
    os.remove(file / "small.nc")
    assert bounds_told(tensorpress(*REWRITE, "--abs", "x=0.5", "--json")) == {"x": "abs 0.5"}


@needs_plugin
def test_a_file_of_bounds(tensorpress, file):
    write_bounds(
        file,
        "tas = { abs = 0.01, effort = 'fast' }   # tight",
        'pr = { rel = 1e-3, codec = "ceresz", range = [0, 1e-3] }',
        '"ocean/*" = { rel = 1e-4, fill = [-999] }',
        '"/ocean/temp" = "lossless"',
        '"*_bnds" = "copy"',
    )
    told = tensorpress(*REWRITE, "--bounds", "bounds.toml", "--json", "--verify")
    bounds = bounds_told(told)
    assert bounds["tas"] == "abs 0.01" and "ocean/temp" not in bounds
    assert largest_error(file, "ocean/temp") == 0
    assert float(bounds["pr"].split()[1]) == pytest.approx(1e-6)
    salt = raw(file / "in.nc", "ocean/salt")
    assert largest_error(file, "ocean/salt") <= 1e-4 * np.ptp(salt[salt != -999])
    assert np.array_equal(raw(file / "small.nc", "ocean/temp"), raw(file / "in.nc", "ocean/temp"))
    assert "x_bnds" not in bounds
    with h5py.File(file / "small.nc") as made:
        filters = made["pr"].id.get_create_plist().get_filter(0)
        assert filters[2][1] == 2  # ceresz


def test_streams_have_bounds_for_each_variable(tensorpress, file):
    write_bounds(file, "tas = { abs = 0.01 }", "packed = { abs = 1 }", '"ocean/*" = { abs = 0.5 }')
    told = tensorpress("compress", "in.nc", "--var", "*", "--bounds", "bounds.toml", "--json").json[
        "variables"
    ]
    limits = {each["variable"]: each["parameters"]["bound"] for each in told}
    assert limits == {
        "tas": "abs 0.01",
        "packed": "abs 1",
        "ocean/temp": "abs 0.5",
        "ocean/salt": "abs 0.5",
    }
    said = tensorpress.refuses("compress", "in.nc", "--var", "pr", "--abs", "tas=1", "-o", "o.tpz")
    assert "variable 'pr' is asked for and has no bound" in said


BAD_FLAGS = {
    "nothing matches": (
        ["--abs", "nix=1"],
        "--abs nix=1: 'nix' matches no variable; there are: x,",
    ),
    "pattern": (["--abs", "nix*=1"], "'nix*' matches no variable; there are: "),
    "whole numbers": (["--abs", "n=1"], "variable 'n' holds whole numbers (int)"),
    "packed": (["--abs", "packed=1"], "holds packed whole numbers, which the HDF5 filter does not"),
    "pattern of whole numbers": (["--abs", "n*=1"], "variable 'n' holds whole numbers"),
    "pattern of coordinates": (["--abs", "x_b*=1"], "matches coordinates and single values only"),
    "two patterns": (
        ["--abs", "ocean/*=1", "--rel", "*temp=1e-3"],
        "variable 'ocean/temp' is matched by 'ocean/*' (--abs ocean/*=1) and by '*temp'",
    ),
    "twice": (["--abs", "tas=1", "--abs", "tas=2"], "'tas' is named twice"),
    "two kinds": (["--abs", "tas=1", "--rel", "/tas=1e-3"], "'tas' is named twice, also by --abs"),
    "all twice": (["--abs", "*=1", "--rel", "1e-3"], "'*' is named twice"),
    "plain twice": (["--abs", "1", "--abs", "2"], "--abs is given twice"),
    "two plain": (["--abs", "1", "--rel", "1e-3"], "--abs and --rel exclude each other"),
    "two plain and a name": (
        ["--abs", "1", "--rel", "1e-3", "--abs", "tas=1"],
        "--abs and --rel exclude each other",
    ),
    "no number": (["--abs", "tas=abc"], "--abs is tas=abc, not a number"),
    "nothing": (["--abs", "tas="], "--abs is tas=, which ends without a number"),
    "no name": (["--abs", "=1"], "--abs =1: a name or pattern is missing"),
    "negative": (["--abs", "tas=-1"], "must not be negative"),
    "range": (["--rel", "tas=1e-3", "--range", "0:1"], "--range is of one variable"),
    "ratio": (["--ratio", "10", "--abs", "tas=1"], "--ratio cannot be kept by a filter"),
}


@pytest.mark.parametrize("arguments, words", BAD_FLAGS.values(), ids=BAD_FLAGS.keys())
def test_a_bad_bound_is_one_sentence_and_nothing_is_written(tensorpress, file, arguments, words):
    assert words in tensorpress.refuses(*REWRITE, *arguments)
    assert sorted(os.listdir(file)) == ["in.nc"]


BAD_FILES = {
    "twice": (["tas = { abs = 1 }", "tas = { abs = 2 }"], "bounds.toml:3: ", "named twice"),
    "twice, with a slash": (
        ["tas = { abs = 1 }", '"/tas" = "copy"'],
        "bounds.toml:",
        "named twice",
    ),
    "no number": (['tas = { abs = "1" }'], "bounds.toml:2: ", "'abs' of 'tas' must be a number"),
    "unknown key": (["tas = { asb = 1 }"], "bounds.toml:2: ", "unknown key 'asb' (did you mean"),
    "two bounds": (["tas = { abs = 1, rel = 1e-3 }"], "bounds.toml:2: ", "has two bounds"),
    "no bound": (["tas = { fill = [1] }"], "bounds.toml:2: ", "'tas' has no bound"),
    "another word": (['tas = "keep"'], "bounds.toml:2: ", '"copy", "lossless" or a bound'),
    "a number": (["tas = 1"], "bounds.toml:2: ", "must be a bound like { abs = 0.01 }"),
    "negative": (["tas = { abs = -1 }"], "bounds.toml:2: ", "must not be negative"),
    "fill": (["tas = { abs = 1, fill = ['x'] }"], "bounds.toml:2: ", "'fill' of 'tas' must be"),
    "range": (["tas = { rel = 1e-3, range = [1] }"], "bounds.toml:2: ", "two numbers: [low, high]"),
    "codec": (["tas = { abs = 1, codec = 'denze' }"], "bounds.toml:2: ", "denze"),
    "fixed rate": (["tas = { abs = 1, codec = 'dct-chop' }"], "bounds.toml:2: ", "keeps no bound"),
    "effort": (["tas = { abs = 1, effort = 'slow' }"], "bounds.toml:2: ", "slow"),
    "section": (["[more]", "tas = 1"], "bounds.toml:2: ", "unknown key 'more'"),
    "no TOML": (["tas = {"], "bounds.toml:", ""),
    "none": ([], "bounds.toml:1: ", "[variables] names none"),
    "nothing matches": (
        ['"q*" = { abs = 1 }'],
        "bounds.toml:2: ",
        "'q*' matches no variable; there",
    ),
    "whole numbers": (["n = { abs = 1 }"], "bounds.toml:2: ", "holds whole numbers"),
    "lossless whole numbers": (['n = "lossless"'], "bounds.toml:2: ", "leave it out and it is"),
}


@pytest.mark.parametrize("lines, place, words", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_of_bounds_is_told_with_its_line(tensorpress, file, lines, place, words):
    write_bounds(file, *lines)
    said = tensorpress.refuses(*REWRITE, "--bounds", "bounds.toml")
    assert place in said and words in said, said
    assert sorted(os.listdir(file)) == ["bounds.toml", "in.nc"]


def test_a_missing_file_of_bounds_is_told(tensorpress, file):
    assert "'nix.toml'" in tensorpress.refuses(*REWRITE, "--bounds", "nix.toml")


def test_names_are_refused_where_there_is_one_tensor(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((10, 10)))
    said = tensorpress.refuses("compress", "x.npy", "--abs", "tas=1", "-o", "x.tpz")
    assert "--abs tas=1 is for the variables of a NetCDF or HDF5 file" in said
    said = tensorpress.refuses("hdf5", "args", "--abs", "tas=1")
    assert "--abs is tas=1, not a number" in said
