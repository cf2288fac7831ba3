"""Bounds that keep hardly anything of the data are kept, and remarked upon."""

import numpy as np
import pytest


@pytest.fixture
def field(tensorpress):
    """Values from 0 to 31, a corner of which is far below the others."""
    values = np.linspace(20, 31, 40 * 50, dtype="f4").reshape(40, 50)
    values[3, 4] = 0
    np.save(tensorpress.directory / "x.npy", values)
    return values


REMARKS = {
    "more than the range": (["--abs", "500"], "a bound of 500 exceeds what the values differ by"),
    "half of the range": (["--abs", "15.5"], "a bound of 15.5 is at least half of what the values"),
    "relative": (["--rel", "0.6"], "a bound of 0.6 of the data's range"),
    "point-wise": (["--pw-rel", "0.9"], "lets every value differ by 90 % of itself"),
    "decibels": (["--psnr", "0"], "a PSNR of 0 dB keeps little of the data"),
}


@pytest.mark.parametrize("bound, words", REMARKS.values(), ids=REMARKS.keys())
def test_a_bound_that_leaves_little_is_remarked_upon(tensorpress, field, bound, words):
    outcome = tensorpress("compress", "x.npy", *bound)
    assert words in outcome.err and outcome.err.count("\n") == 1
    if bound[0] == "--abs":
        assert "the data's range is 31" in outcome.err


@pytest.mark.parametrize("bound", [["--abs", "15.4"], ["--rel", "0.4"], ["--pw-rel", "0.1"]])
def test_a_bound_that_makes_sense_is_not(tensorpress, field, bound):
    """The range counts, not that of a sample: all but one value lie between 20 and 31."""
    assert tensorpress("compress", "x.npy", *bound).err == ""


def test_fill_values_and_constants_do_not_count(tensorpress, field):
    field[5:9] = -1e34
    np.save(tensorpress.directory / "x.npy", field)
    outcome = tensorpress("compress", "x.npy", "--abs", "500", "--fill", "-1e34")
    assert "the data's range is 31" in outcome.err
    np.save(tensorpress.directory / "c.npy", np.full((40, 50), 7, "f4"))
    assert tensorpress("compress", "c.npy", "--abs", "1").err == ""
    np.save(tensorpress.directory / "n.npy", np.full((40, 50), np.nan, "f4"))
    assert tensorpress("compress", "n.npy", "--abs", "1").err == ""


def test_variables_are_remarked_upon_by_name(tensorpress, field):
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tensorpress.directory / "w.nc", "w") as file:
        for axis, extent in zip("yx", field.shape, strict=True):
            file.createDimension(axis, extent)
        file.createVariable("T", "f4", ("y", "x"))[:] = field
        file.createVariable("big", "f4", ("y", "x"))[:] = field * 1000
    outcome = tensorpress("compress", "w.nc", "--var", "*", "--abs", "500")
    assert "T: a bound of 500 exceeds" in outcome.err and "big: a bound" not in outcome.err


def test_pipes_are_not_looked_at(tensorpress, field):
    content = (tensorpress.directory / "x.npy").read_bytes()
    assert "a bound" not in tensorpress("compress", "-", "--abs", "500", stdin=content).err
