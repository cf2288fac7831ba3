"""h5py, netCDF4 and xarray find the filter after `import tensorpress`, whichever comes first, and
nothing that was set is lost."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from conftest import PLUGIN

from tensorpress.hdf5 import Filter


@pytest.fixture
def compressed(tmp_path, field):
    """A file that only the filter can read, and its values."""
    data = field((40, 60))
    path = tmp_path / "x.nc"
    # netCDF4 changes only files that know the order in which things were made.
    with h5py.File(path, "w", track_order=True) as file:
        for axis, name in enumerate(("y", "x")):
            file.create_dataset(name, data=np.arange(data.shape[axis]), track_order=True)
            file[name].make_scale(name)
        file.create_dataset(
            "t", data=data, chunks=(20, 20), track_order=True, **Filter(absolute=0.01)
        )
        for axis, name in enumerate(("y", "x")):
            file["t"].dims[axis].attach_scale(file[name])
    np.save(tmp_path / "t.npy", data)
    return path


def run(program, folder, **variables):
    environment = {key: value for key, value in os.environ.items() if key != "HDF5_PLUGIN_PATH"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**environment, "TENSORPRESS_HDF5_PLUGIN": str(PLUGIN), **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "HDF5-DIAG" not in done.stderr
    return done.stdout


READ = {
    "h5py": "h5py.File('x.nc')['t'][...]",
    "netCDF4": "netCDF4.Dataset('x.nc')['t'][...]",
    "xarray": "xarray.open_dataset('x.nc', engine='netcdf4')['t'].values",
}
CHECK = """
import numpy
def check(values):
    assert abs(values - numpy.load('t.npy')).max() <= 0.01
"""


@pytest.mark.parametrize("reader", READ)
@pytest.mark.parametrize("order", ["before", "after"])
def test_each_package_finds_the_filter_whichever_is_imported_first(compressed, reader, order):
    imports = ["import tensorpress", f"import {reader}"]
    if order == "before":
        imports.reverse()
    run("\n".join([*imports, CHECK, f"check({READ[reader]})"]), compressed.parent)


@pytest.mark.parametrize("place", range(4))
def test_all_of_them_work_in_one_process(compressed, place):
    imports = ["import h5py", "import netCDF4", "import xarray"]
    imports.insert(place, "import tensorpress")
    checks = [f"check({expression})" for expression in READ.values()]
    run("\n".join([*imports, CHECK, *checks, *reversed(checks)]), compressed.parent)


def test_a_library_that_is_at_work_already_is_told_too(compressed):
    """Its plugin path was read long ago."""
    program = f"""
import netCDF4, h5py
netCDF4.Dataset('plain.nc', 'w').close()
h5py.File('plain.h5', 'w').close()
import tensorpress
{CHECK}
check({READ["netCDF4"]})
check({READ["h5py"]})
"""
    run(program, compressed.parent)


def test_a_path_that_is_set_stays_in_front(compressed):
    program = "import os, tensorpress; print(os.environ['HDF5_PLUGIN_PATH'])"
    given = run(program, compressed.parent, HDF5_PLUGIN_PATH="/some/where:/else").strip()
    assert given == f"/some/where:/else:{PLUGIN.parent}"
    # Once is enough, also in the processes that this one starts.
    again = run(program, compressed.parent, HDF5_PLUGIN_PATH=given).strip()
    assert again == given


@pytest.mark.parametrize("first", ["tensorpress", "netCDF4"])
def test_the_filters_of_netcdf4_are_still_found(compressed, first):
    program = f"""
import {first}
import netCDF4, numpy, tensorpress
with netCDF4.Dataset('z.nc', 'w') as file:
    file.createDimension('x', 1000)
    file.createVariable('v', 'f4', ('x',), compression='zstd')[:] = numpy.arange(1000)
with netCDF4.Dataset('z.nc') as file:
    print(file['v'].filters()['zstd'], float(file['v'][:].sum()))
"""
    assert run(program, compressed.parent).split() == ["True", "499500.0"]


def test_importing_the_package_imports_none_of_them(compressed):
    program = """
import sys, tensorpress
print([name for name in ('h5py', 'netCDF4', 'xarray', 'zarr', 'torch') if name in sys.modules])
"""
    assert run(program, compressed.parent).strip() == "[]"


def test_without_the_filter_the_package_is_imported_all_the_same(tmp_path):
    program = """
import os
os.environ.pop('TENSORPRESS_HDF5_PLUGIN', None)
real = os.path.isfile
os.path.isfile = lambda path: 'h5tensorpress' not in str(path) and real(path)
import h5py, tensorpress
print(os.environ.get('HDF5_PLUGIN_PATH'))
"""
    assert run(program, tmp_path).strip() == "None"


@pytest.mark.parametrize("opened", ["h5py.File('y.h5', 'w')", "h5py.File('y.h5', 'a')"])
@pytest.mark.parametrize(
    "imports", ["h5py, tensorpress", "tensorpress, h5py", "tensorpress.hdf5, h5py"]
)
def test_chunks_that_are_left_to_the_end_of_the_process_are_written(compressed, opened, imports):
    """HDF5 flushes them when Python is gone."""
    program = f"""
import {imports}, numpy
file = {opened}
# As tensorpress.hdf5.Filter(absolute=0.01) says it.
dataset = file.create_dataset('t', (40, 60), 'f4', chunks=(20, 20), compression=0xd450,
                              compression_opts=(1, 1, 1, 1202590843, 1065646817))
dataset[...] = numpy.load('t.npy')
h5py._left_open = (file, dataset)
"""
    run(program, compressed.parent)
    data = np.load(compressed.parent / "t.npy")
    with h5py.File(compressed.parent / "y.h5") as file:
        assert np.abs(file["t"][...] - data).max() <= 0.01


def test_a_netcdf4_dataset_that_is_left_open_ends_well(compressed):
    program = f"""
import netCDF4, tensorpress
{CHECK}
file = netCDF4.Dataset('x.nc', 'a')
check(file['t'][...])
file['t'][3, 3] = 280
netCDF4._left_open = file
"""
    run(program, compressed.parent)
    with h5py.File(compressed) as file:
        assert abs(file["t"][3, 3] - 280) <= 0.01
