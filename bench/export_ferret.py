#!/usr/bin/env python3
"""Writes the floating-point variables of Debian's ferret-datasets as raw little-endian files.

    export_ferret.py OUTPUT_DIRECTORY [SOURCE_DIRECTORY]

One file a variable, its shape in the name: coads_climatology.SST_12x90x180.f32. Axes of length one
are dropped; variables of fewer than 4000 values (axes, edges) are left out. Missing values take the
value before them in C order (the first valid one at the start), as the codecs fill them, so that
every compressor gets the same field. Needs SciPy (requirements/bench.txt).
"""

import pathlib
import sys

import numpy as np
from scipy.io import netcdf_file


def filled(values, missing):
    """`values` in C order with every missing one replaced by the valid one before it."""
    flat = values.ravel()
    valid = np.isfinite(flat) & (np.abs(flat) < 1e30)
    for value in missing:
        valid &= flat != value
    if not valid.any():
        return None
    before = np.maximum.accumulate(np.where(valid, np.arange(flat.size), -1))
    before[before < 0] = np.flatnonzero(valid)[0]
    return flat[before].reshape(values.shape)


def export(path, target):
    with netcdf_file(path, mmap=False) as file:
        for name, variable in file.variables.items():
            values = np.array(variable.data)
            if values.dtype.kind != "f" or values.size < 4000:
                continue
            values = values.astype(values.dtype.newbyteorder("<")).squeeze()
            attributes = (getattr(variable, key, None) for key in ("missing_value", "_FillValue"))
            values = filled(values, [values.dtype.type(v) for v in attributes if v is not None])
            if values is None:
                continue
            shape = "x".join(str(extent) for extent in values.shape)
            values.tofile(target / f"{path.stem}.{name}_{shape}.f{8 * values.itemsize}")


def main():
    target = pathlib.Path(sys.argv[1])
    source = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "/usr/share/ferret-vis/data")
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.cdf")):
        export(path, target)


if __name__ == "__main__":
    main()
