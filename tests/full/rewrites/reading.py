"""Everything in a NetCDF or HDF5 file as plain values: {path: (kind, ...)}."""

import h5py
import netCDF4
import numpy as np

IGNORED = ("history", "_NCProperties")


def read_netcdf(path):
    found = {}

    def attributes(owner):
        return {
            name: owner.getncattr(name)
            for name in owner.ncattrs()
            if name not in IGNORED and not name.startswith("tensorpress_")
        }

    def walk(group, prefix):
        found[prefix or "/"] = ("group", attributes(group))
        for name, dimension in group.dimensions.items():
            found[f"{prefix}dimension {name}"] = (
                "dimension",
                (dimension.size, dimension.isunlimited()),
            )
        for name, variable in group.variables.items():
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            found[prefix + name] = (
                "variable",
                np.asarray(variable[...]),
                variable.dimensions,
                attributes(variable),
            )
        for name, below in group.groups.items():
            walk(below, f"{prefix}{name}/")

    with netCDF4.Dataset(path) as file:
        walk(file, "")
    return found


def link_in_words(group, name):
    link = group.get(name, getlink=True)
    return f"{type(link).__name__} {getattr(link, 'path', '')}"


def read_hdf5(path):
    found = {}

    def attributes(owner):
        return {
            name: value
            for name, value in owner.attrs.items()
            if name not in IGNORED and not name.startswith("tensorpress_")
        }

    def visit(name, thing):
        if isinstance(thing, h5py.Dataset):
            found[name] = ("variable", thing[()], thing.maxshape, attributes(thing))
        else:
            found[name] = ("group", attributes(thing))

    with h5py.File(path) as file:
        found["/"] = ("group", attributes(file))
        found["links"] = ("group", {name: link_in_words(file, name) for name in file})
        file.visititems(visit)
    return found
