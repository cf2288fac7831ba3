"""What attributes and files say of values that stand for no data."""

import h5py
import numpy as np
import pytest
from netcdf_files import attributes, needs_plugin

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


def test_a_fill_value_of_0_is_an_ordinary_number(tensorpress):
    with h5py.File(tensorpress.directory / "in.h5", "w") as file:
        file.create_dataset("x", data=np.linspace(0, 1, 500, dtype="f4"), fillvalue=np.float32(0))
    tensorpress("compress", "in.h5", "--var", "x", "--rel", "1e-3", "-o", "x.tpz")
    tensorpress("decompress", "x.tpz", "-o", "back.nc")
    assert "_FillValue" not in attributes(tensorpress.directory / "back.nc", "x")
