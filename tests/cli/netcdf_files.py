"""Real NetCDF files, and what the tests of NetCDF and HDF5 files ask of them."""

import os
import pathlib

import netCDF4
import numpy as np
import pytest

FERRET = pathlib.Path("/usr/share/ferret-vis/data")
COADS = FERRET / "coads_climatology.cdf"  # classic, records, fill value -1e34
LEVITUS = FERRET / "levitus_climatology.cdf"  # 3-D, fill value -1e10
ATLAS = FERRET / "ocean_atlas_subset.nc"  # 4-D

# A build under sanitizers has no plugin, and what our program wrote is then read by others after
# ./dev build only.
needs_plugin = pytest.mark.skipif(
    not any(pathlib.Path(os.environ["HDF5_PLUGIN_PATH"]).glob("libh5tensorpress.so")),
    reason="the plugin is not built",
)


def raw(path, variable):
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        return file[variable][...]


def attributes(path, variable):
    with netCDF4.Dataset(path) as file:
        return {name: file[variable].getncattr(name) for name in file[variable].ncattrs()}


def check_bound(path, variable, back, relative):
    original, fill = raw(path, variable), attributes(path, variable)["_FillValue"]
    missing = original == fill
    assert np.array_equal(back[missing], original[missing])
    ordinary = original[~missing].astype(np.float64)
    assert np.abs(back[~missing] - ordinary).max() <= relative * np.ptp(ordinary)
