"""Several variables of a NetCDF file: which files they go to, and when they are refused."""

import os

import numpy as np
import pytest

netCDF4 = pytest.importorskip("netCDF4")


@pytest.fixture
def two(tensorpress):
    """m.nc with A and B, and another file where A would go."""
    with netCDF4.Dataset(tensorpress.directory / "m.nc", "w") as file:
        file.createDimension("x", 64)
        for name in "AB":
            file.createVariable(name, "f4", ("x",))[:] = np.sin(np.arange(64.0))
    (tensorpress.directory / "m.A.tpz").write_bytes(b"precious")
    return tensorpress.directory


@pytest.mark.parametrize("output", ["mine.tpz", "-", "nodir"])
@pytest.mark.parametrize("chosen", [["--var", "A", "--var", "B"], ["--var", "*"]])
def test_several_variables_need_a_folder(tensorpress, two, chosen, output):
    sentence = tensorpress.refuses("compress", "m.nc", *chosen, "--abs", "1e-3", "-o", output)
    assert "several variables need an output directory: -o DIR/" in sentence
    assert sorted(os.listdir(two)) == ["m.A.tpz", "m.nc"]
    assert (two / "m.A.tpz").read_bytes() == b"precious"


def test_a_folder_gets_a_file_for_each_variable(tensorpress, two):
    for name in ("plain", "slash"):
        (two / name).mkdir()
        output = name + ("/" if name == "slash" else "")
        tensorpress("compress", "m.nc", "--var", "*", "--abs", "1e-3", "-o", output)
        assert sorted(os.listdir(two / name)) == ["m.A.tpz", "m.B.tpz"]
    assert (two / "m.A.tpz").read_bytes() == b"precious"


def test_one_variable_goes_where_it_is_told(tensorpress, two):
    tensorpress("compress", "m.nc", "--var", "A", "--abs", "1e-3", "-o", "mine.tpz")
    stream = tensorpress("compress", "m.nc", "--var", "A", "--abs", "1e-3", "-o", "-").out
    assert stream == (two / "mine.tpz").read_bytes()
    assert (two / "m.A.tpz").read_bytes() == b"precious"


def test_two_variables_are_not_written_to_one_file(tensorpress, tmp_path):
    with netCDF4.Dataset(tmp_path / "col.nc", "w") as file:
        file.createDimension("x", 8)
        file.createVariable("other", "f4", ("x",))[:] = np.arange(8)
        file.createVariable("g.T", "f4", ("x",))[:] = np.arange(8)
        file.createGroup("g").createVariable("T", "f4", ("x",))[:] = -np.arange(8)
    sentence = tensorpress.refuses("compress", "col.nc", "--var", "*", "--abs", "1e-3")
    assert "'g.T' and 'g/T' would both become 'col.g.T.tpz'" in sentence
    assert os.listdir(tmp_path) == ["col.nc"]
    tensorpress("compress", "col.nc", "--var", "g/T", "--abs", "1e-3", "-o", "group.tpz")


def test_a_remark_about_raw_chunks_names_the_variable(tensorpress, tmp_path):
    noise = np.random.default_rng(1).integers(0, 2**32, 4096, dtype="u4").view("f4")
    with netCDF4.Dataset(tmp_path / "n.nc", "w") as file:
        file.createDimension("x", 4096)
        file.createVariable("calm", "f4", ("x",))[:] = 0
        file.createVariable("noise", "f4", ("x",))[:] = noise
    said = tensorpress("compress", "n.nc", "--var", "*", "--abs", "0").err
    assert "noise: stored uncompressed: 1 of 1 chunks" in said
    assert "calm: stored uncompressed" not in said
