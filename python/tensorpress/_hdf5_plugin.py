"""Where our HDF5 filter is, and telling the HDF5 libraries of this process.

A process may hold several of them: the wheels of h5py and netCDF4 bring one each. Those that are
loaded are told by H5PLappend. Those that come later read HDF5_PLUGIN_PATH when they start, which
is why our folder is added to it. A library loads the filter only when it meets a dataset that needs
it.
"""

from __future__ import annotations

import importlib.util
import os

from . import _core

LIBRARY = "libh5tensorpress.so"
VARIABLE = "HDF5_PLUGIN_PATH"
# Where HDF5 looks if the variable is not set, and would not look any more.
DEFAULT_PATH = "/usr/local/hdf5/lib/plugin"


def candidates() -> list[str]:
    """TENSORPRESS_HDF5_PLUGIN, the folder of this package, and the build folder of the tree that it
    is in."""
    named = os.environ.get("TENSORPRESS_HDF5_PLUGIN")
    here = os.path.dirname(os.path.realpath(__file__))
    tree = os.path.dirname(os.path.dirname(here))
    folders = [
        os.path.join(here, "plugins"),
        here,
        os.path.join(tree, "build", "lib", "hdf5", "plugin"),
    ]
    found = [os.path.join(folder, LIBRARY) for folder in folders]
    return [named, *found] if named else found


def find() -> str | None:
    return next((each for each in candidates() if os.path.isfile(each)), None)


def announce() -> None:
    """Never an error: the package is of use without HDF5, and without the filter."""
    plugin = find()
    if plugin is None:
        return
    folder = os.path.dirname(os.path.abspath(plugin))
    _add_to_environment(folder)
    _core.add_hdf5_plugin_path(os.fsencode(folder))


def _add_to_environment(folder: str) -> None:
    present = os.environ.get(VARIABLE)
    if not present:
        folders = [folder, *_plugins_of_netcdf4(), DEFAULT_PATH]
    elif folder in present.split(os.pathsep):
        return
    else:
        folders = [present, folder]
    os.environ[VARIABLE] = os.pathsep.join(folders)


def _plugins_of_netcdf4() -> list[str]:
    """netCDF4 points the variable to its own filters (Zstandard, Blosc and others) when it is
    imported, but only if it is not set by then."""
    try:
        found = importlib.util.find_spec("netCDF4")
    except (ImportError, ValueError, AttributeError):
        return []
    places = (found.submodule_search_locations if found is not None else None) or []
    folders = [os.path.join(place, "plugins") for place in places]
    return [folder for folder in folders if os.path.isdir(folder)]
