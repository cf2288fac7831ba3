"""Random NetCDF and HDF5 files, written again by `tensorpress compress` with random bounds, and
every value judged by arithmetic of its own.

    python random_rewrites.py PROGRAM [COUNT] [SEED]

Each case makes a file (classic, 64-bit offset, netCDF-4 or HDF5; groups, records, packed numbers,
fill values, NaN, infinities, -0, text, empty dimensions, ...), chooses a bound for each of its
variables, rewrites it, reads both files with netCDF4 or h5py and checks with NumPy:

- values with a bound keep it, in longdouble; NaN, infinities and fill values come back bit for bit;
- all others, attributes, dimensions and types are the same;
- `tensorpress verify` agrees: status 0, and status 1 for a copy with one change.

A failure prints the seed that repeats it: COUNT 1 and that SEED. HDF5_PLUGIN_PATH must lead to our
plugin (./dev rewrites sets it).
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import netCDF4
import numpy as np
from rewrites.judging import check_files, require
from rewrites.random_files import Hdf5Maker, NetcdfMaker
from rewrites.reading import read_hdf5, read_netcdf


def random_bound(generator):
    kind = str(generator.choice(["abs", "rel", "pw-rel", "psnr"], p=[0.35, 0.35, 0.2, 0.1]))
    if kind == "psnr":
        return kind, float(generator.integers(20, 120))
    exponent = generator.integers(-7, 0)
    value = float(generator.choice([1, 2.5, 7])) * 10.0 ** int(exponent)
    if kind == "abs" and generator.random() < 0.15:
        value = 0.0
    return kind, min(value, 0.7)


def choose_bounds(generator, floats):
    """A bound for some of the variables, and the arguments that say so."""
    if not floats:
        return {}, ["--abs", "0.1"]
    if generator.random() < 0.35:  # one for all
        kind, value = random_bound(generator)
        return dict.fromkeys(floats, (kind, value)), [f"--{kind}", repr(value)]
    chosen = [path for path in floats if generator.random() < 0.7] or floats[:1]
    bounds = {path: random_bound(generator) for path in chosen}
    if generator.random() < 0.5:
        arguments = []
        for path, (kind, value) in bounds.items():
            arguments += [f"--{kind}", f"{path}={value!r}"]
        return bounds, arguments
    lines = ["[variables]"]
    for path, (kind, value) in bounds.items():
        extra = generator.choice(["", ', effort = "fast"', ', codec = "ceresz"'])
        lines.append(f'"{path}" = {{ {kind} = {value!r}{extra} }}')
    for path in floats:
        if path not in bounds:
            lines.append(f'"{path}" = "copy"')
    return bounds, "\n".join(lines) + "\n"


def run(program, *arguments):
    done = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def change_one(generator, read, path):
    """Changes one value or attribute of a copy; returns what, or None where there is nothing."""
    found = read(path)
    variables = [
        name
        for name, thing in found.items()
        if thing[0] == "variable"
        and np.asarray(thing[1]).size
        and np.asarray(thing[1]).dtype.kind in "fiu"
    ]
    opened = h5py.File(path, "a") if read is read_hdf5 else netCDF4.Dataset(path, "a")
    with opened as file:
        if not variables or generator.random() < 0.3:
            if read is read_hdf5:
                file.attrs["title"] = "changed"
            else:
                file.setncattr("long_name", "changed?")
            return "an attribute"
        name = str(generator.choice(variables))
        variable = file[name]
        if read is read_netcdf:
            variable.set_auto_maskandscale(False)
        values = np.asarray(variable[...]).copy()
        where = tuple(int(generator.integers(0, n)) for n in values.shape)
        old = values[where]
        if values.dtype.kind == "f":
            # Another kind of value: none of our bounds allows that.
            values[where] = np.nan if np.isfinite(old) else 1
        else:
            values[where] = 1 if old != 1 else 2
        variable[...] = values
    return name


def one_case(program, seed, folder):
    generator = np.random.default_rng(seed)
    hdf5 = generator.random() < 0.3
    original = folder / ("in.h5" if hdf5 else "in.nc")
    maker = (Hdf5Maker if hdf5 else NetcdfMaker)(generator, original)
    maker.make()
    read = read_hdf5 if hdf5 else read_netcdf
    bounds, how = choose_bounds(generator, maker.floats)
    arguments = how
    if isinstance(how, str):
        (folder / "bounds.toml").write_text(how)
        arguments = ["--bounds", folder / "bounds.toml"]
    arguments = [*arguments, "--whole-range"]
    copy = folder / ("small.h5" if hdf5 else "small.nc")
    status, out, err = run(program, "compress", original, "-o", copy, *arguments, "--json")
    if status != 0:
        require(status == 2 and err.count("\n") == 1, "compress:", status, err)
        require(not copy.exists(), "a refused rewrite left a file")
        return f"refused: {err.strip()}"
    told = {each["variable"]: each["bound"] for each in json.loads(out)["variables"]}
    # What the program leaves as it was must be equal bit for bit, asked for or not. (A link by name
    # is listed like what it leads to, and is none of ours.)
    named = {path for path in maker.floats if told.get(path) is not None}
    require(named <= set(bounds), "compressed without being asked:", named - set(bounds))
    bounds = {path: bounds[path] for path in named}
    check_files(read, original, copy, bounds, maker.fills)
    status, out, err = run(program, "verify", original, copy)
    require(status == 0, "verify of a good copy:", status, err)
    damaged = folder / ("damaged" + copy.suffix)
    shutil.copy(copy, damaged)
    what = change_one(generator, read, damaged)
    status, out, err = run(program, "verify", original, damaged)
    require(status == 1 and err, "verify of a copy with another value of", what, ":", status, err)
    return f"{maker.form}, {len(bounds)} bounds"


def main(program, count=1000, seed=None, quiet=False):
    seed = int(time.time()) if seed is None else int(seed)
    failures, refused = [], 0
    for number in range(int(count)):
        with tempfile.TemporaryDirectory(prefix="rewrites-") as folder:
            try:
                said = one_case(program, seed + number, pathlib.Path(folder))
                refused += said.startswith("refused")
            except Exception as error:  # whatever happened, the seed repeats it
                failures.append(seed + number)
                print(f"seed {seed + number}: {type(error).__name__}: {error}", flush=True)
                continue
        if not quiet and ((number + 1) % 100 == 0 or said.startswith("refused")):
            print(f"{number + 1} of {count}: seed {seed + number}: {said}", flush=True)
    print(f"{count} rewrites from seed {seed}: {len(failures)} failed, {refused} were refused")
    if failures:
        print("repeat one with COUNT 1 and its SEED:", *failures)
    return 1 if failures else 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    root = pathlib.Path(__file__).resolve().parents[2]
    os.environ.setdefault("HDF5_PLUGIN_PATH", str(root / "build" / "lib" / "hdf5" / "plugin"))
    sys.exit(main(*sys.argv[1:]))
