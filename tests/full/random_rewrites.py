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

NAMES = ["tas", "pr", "psl", "hus", "ua", "va", "zg", "clt", "snw", "rlut"]
IGNORED = ("history", "_NCProperties")


class Breach(AssertionError):
    """Something that must not be."""


def require(condition, *words):
    if not condition:
        raise Breach(" ".join(map(str, words)))


# ---- Random files --------------------------------------------------------------------------------


def random_floats(generator, shape, dtype, fills):
    """Smooth, rough, constant or of wild sizes, with some special values strewn in."""
    kind = generator.choice(["smooth", "noise", "constant", "wild", "steps", "tiny"])
    count = int(np.prod(shape, dtype=np.int64))
    if kind == "smooth":
        values = np.cumsum(generator.standard_normal(count)) * 10.0 ** generator.integers(-6, 7)
        values = values + generator.choice([0.0, 273.15, -1e4])
    elif kind == "noise":
        values = generator.standard_normal(count) * 10.0 ** generator.integers(-20, 20)
    elif kind == "constant":
        values = np.full(count, generator.choice([0.0, -0.0, 1.5, -1e10, 3e-12]))
    elif kind == "wild":
        values = generator.standard_normal(count) * 10.0 ** generator.integers(-30, 30, count)
    elif kind == "steps":
        values = np.rint(generator.standard_normal(count) * 3)
    else:
        values = generator.standard_normal(count) * np.finfo(dtype).tiny * 3
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    if count and generator.random() < 0.6:
        specials = [np.nan, np.inf, -np.inf, -0.0, 0.0, *fills]
        for special in generator.choice(len(specials), size=generator.integers(1, 4)):
            where = generator.random(count) < generator.choice([0.01, 0.2])
            values[where] = np.asarray(specials[special]).astype(dtype)
    return values.reshape(shape)


def random_text(generator):
    letters = list("abcxyz 0123-_é°")
    return "".join(generator.choice(letters, size=generator.integers(1, 12)))


def add_attributes(generator, target, dtype=None):
    target.setncattr("long_name", random_text(generator))
    if generator.random() < 0.3:
        target.setncattr("numbers", generator.standard_normal(3).astype("f4"))
    if generator.random() < 0.2:
        target.setncattr("level", np.int16(7))
    if generator.random() < 0.1:  # HDF5 stores more than eight in another way
        for i in range(10):
            target.setncattr(f"note{i}", random_text(generator))
    if dtype is not None and dtype.kind == "f" and generator.random() < 0.3:
        target.setncattr("valid_range", np.array([-1e6, 1e6], dtype))


def storage(generator, form, shape):
    """How netCDF-4 stores a variable."""
    if not form.startswith("NETCDF4") or not shape:
        return {}
    options = {}
    if generator.random() < 0.5 and all(shape):
        options["chunksizes"] = [int(generator.integers(1, extent + 1)) for extent in shape]
    if generator.random() < 0.4:
        options |= {"zlib": True, "shuffle": bool(generator.random() < 0.5), "complevel": 1}
    return options


class NetcdfMaker:
    """Fills one NetCDF file and notes which variables may be given a bound."""

    def __init__(self, generator, path):
        self.generator = generator
        self.path = path
        self.form = str(
            generator.choice(
                ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"],
                p=[0.2, 0.15, 0.1, 0.55],
            )
        )
        self.floats = []  # paths of data that take a bound
        self.fills = {}

    def make(self):
        with netCDF4.Dataset(self.path, "w", format=self.form) as file:
            add_attributes(self.generator, file)
            if self.generator.random() < 0.5:
                file.history = "made by chance"
            self.fill_group(file, "", {})
            if self.form == "NETCDF4":
                for name in ("ocean", "land"):
                    if self.generator.random() < 0.35:
                        group = file.createGroup(name)
                        add_attributes(self.generator, group)
                        self.fill_group(group, name + "/", dict(file.dimensions.items()))

    def fill_group(self, group, prefix, above):
        generator = self.generator
        lengths = {}
        for name in ("t", "y", "x", "z")[: generator.integers(1, 5)]:
            grows = name == "t" and generator.random() < 0.6
            length = int(generator.integers(1, 14))
            if not grows and generator.random() < 0.04 and self.form == "NETCDF4":
                length = 0
            if prefix and name in above and generator.random() < 0.5:
                length = above[name].size
            else:
                group.createDimension(name, None if grows else max(length, 1))
                if length == 0:  # grows, and has no records
                    group.createDimension(name + "_empty", 0)
                    group.createVariable(name + "_none", "f4", (name + "_empty",))
            lengths[name] = length if length else 1
        # Records that are there from the start, so that shapes are known.
        for name, length in lengths.items():
            if generator.random() < 0.6:
                made = group.createVariable(name, generator.choice(["f8", "f4", "i4"]), (name,))
                made[:] = np.arange(length)
                add_attributes(generator, made)
            elif group.dimensions.get(name) is not None and group.dimensions[name].isunlimited():
                group.createVariable(name + "_id", "i4", (name,))[:] = np.arange(length)
        for name in generator.choice(NAMES, size=generator.integers(1, 6), replace=False):
            self.add_variable(group, prefix, str(name), lengths)

    def add_variable(self, group, prefix, name, lengths):
        generator = self.generator
        rank = int(generator.integers(0, len(lengths) + 1))
        dimensions = [d for d in lengths if d in list(lengths)[:rank]]
        shape = tuple(lengths[d] for d in dimensions)
        kinds = ["f4", "f8", "f4", "i2", "i4", "i1", "S1", "packed"]
        if self.form == "NETCDF4":
            kinds += ["str", "u2", "i8", "u8"]
        kind = str(generator.choice(kinds))
        if kind in ("f4", "f8"):
            return self.add_floats(group, prefix, name, kind, dimensions, shape)
        if kind == "str":
            made = group.createVariable(name, str, dimensions)
            words = np.empty(shape, object)
            for index in np.ndindex(*shape):
                words[index] = random_text(generator)
            if shape:
                made[...] = words
            else:
                made[0] = random_text(generator)
            return add_attributes(generator, made)
        if kind == "packed":
            made = group.createVariable(
                name, "i2", dimensions, fill_value=np.int16(-32767), **self.how(shape)
            )
            made.scale_factor = generator.choice([np.float32(0.01), np.float64(0.5)])
            made.add_offset = generator.choice([np.float32(10), np.float64(0)])
            kind = "i2"
        else:
            made = group.createVariable(name, kind, dimensions, **self.how(shape))
        made.set_auto_maskandscale(False)
        if kind == "S1":
            made[...] = generator.integers(97, 123, shape).astype("u1").view("S1").reshape(shape)
        else:
            limits = np.iinfo(kind)
            low, high = max(limits.min, -30000), min(limits.max, 30000)
            made[...] = generator.integers(low, high, shape).astype(kind)
        add_attributes(generator, made)

    def how(self, shape):
        return storage(self.generator, self.form, shape)

    def add_floats(self, group, prefix, name, kind, dimensions, shape):
        generator = self.generator
        dtype = np.dtype(kind)
        fills = []
        fill = None
        if generator.random() < 0.5:
            fill = dtype.type(generator.choice([-999.0, 1e20, -9.99e8, np.nan]))
            fills.append(fill)
        made = group.createVariable(name, kind, dimensions, fill_value=fill, **self.how(shape))
        made.set_auto_maskandscale(False)
        if generator.random() < 0.3:
            missing = dtype.type(-32768.5)
            made.missing_value = missing
            fills.append(missing)
        made[...] = random_floats(generator, shape, dtype, fills)
        add_attributes(generator, made, dtype)
        if generator.random() < 0.1 and "x" in dimensions:
            made.coordinates = "lon lat"
        self.fills[prefix + name] = fills
        if shape:
            self.floats.append(prefix + name)


class Hdf5Maker:
    """The same for HDF5 by h5py: byte orders, halves, records, references, links."""

    def __init__(self, generator, path):
        self.generator = generator
        self.path = path
        self.form = "HDF5"
        self.floats = []
        self.fills = {}

    def make(self):
        generator = self.generator
        with h5py.File(self.path, "w", track_order=bool(generator.random() < 0.5)) as file:
            file.attrs["title"] = random_text(generator)
            for group in ["", "a/", "a/b/"][: generator.integers(1, 4)]:
                for name in generator.choice(NAMES, size=generator.integers(1, 4), replace=False):
                    self.add_dataset(file, group + str(name))
            if generator.random() < 0.2:
                file["none"] = np.zeros((0, 3), "f4")
            if generator.random() < 0.3:
                file["soft"] = h5py.SoftLink("/" + next(iter(file)))

    def add_dataset(self, file, path):
        generator = self.generator
        shape = tuple(int(n) for n in generator.integers(1, 15, generator.integers(0, 4)))
        kind = str(
            generator.choice(
                [
                    "<f4",
                    "<f8",
                    ">f4",
                    ">f8",
                    "<f2",
                    "<i4",
                    ">i2",
                    "|u1",
                    "rows",
                    "words",
                    "record",
                    "bool",
                ]
            )
        )
        if kind == "words":
            made = file.create_dataset(path, data=[random_text(generator) for _ in range(4)])
        elif kind == "rows":
            made = file.create_dataset(path, (3,), dtype=h5py.vlen_dtype("f4"))
            for i in range(3):
                made[i] = generator.standard_normal(i + 1).astype("f4")
        elif kind == "record":
            record = np.zeros(5, np.dtype([("a", "i2"), ("b", "f8"), ("c", "S3")], align=True))
            record["b"] = generator.standard_normal(5)
            made = file.create_dataset(path, data=record)
        elif kind == "bool":
            made = file.create_dataset(path, data=generator.random(6) < 0.5)
        else:
            dtype = np.dtype(kind)
            options = {}
            if shape and generator.random() < 0.5:
                options["chunks"] = tuple(int(generator.integers(1, n + 1)) for n in shape)
                if generator.random() < 0.5:
                    options |= {"compression": "gzip", "shuffle": True}
                if generator.random() < 0.4:
                    options["maxshape"] = (None, *shape[1:])
            fills = []
            if dtype.kind == "f":
                if generator.random() < 0.4:
                    options["fillvalue"] = dtype.type(-99.5)
                    fills.append(dtype.type(-99.5))
                native = dtype.newbyteorder("=")
                values = random_floats(generator, shape, native, fills).astype(dtype)
                if shape:
                    self.floats.append(path)
                    self.fills[path] = fills
            else:
                values = generator.integers(0, 100, shape).astype(dtype)
            made = file.create_dataset(path, data=values, **options)
        for i in range(int(generator.choice([1, 1, 1, 12]))):
            made.attrs[f"note{i}"] = random_text(generator)
        if generator.random() < 0.3:
            made.attrs["numbers"] = generator.standard_normal(2)


# ---- Reading them back ---------------------------------------------------------------------------


def read_netcdf(path):
    """Everything in a file as plain values: {path: (kind, ...)}."""
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


def same(a, b):
    """Equal bit for bit, whatever it is."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == object:
        return all(
            same(x, y) if isinstance(x, np.ndarray) else x == y
            for x, y in zip(a.ravel(), b.ravel(), strict=True)
        )
    return a.tobytes() == b.tobytes()


def check_attributes(where, old, new):
    require(list(sorted(old)) == list(sorted(new)), where, "attributes", sorted(old), sorted(new))
    for name in old:
        require(same(old[name], new[name]), where, "attribute", name, old[name], new[name])


# ---- Judging -------------------------------------------------------------------------------------


def counted(values, fills):
    """Where ordinary values are: finite and no fill value."""
    ordinary = np.isfinite(values)
    for fill in fills:
        ordinary &= values != fill
    return ordinary


def check_bound(path, old, new, bound, fills):
    """`bound` is a kind and a number; the arithmetic is longdouble's."""
    kind, limit = bound
    native = old.dtype.newbyteorder("=")
    old, new = old.astype(native), new.astype(native)
    ordinary = counted(old, fills)
    require(same(old[~ordinary], new[~ordinary]), path, "special or fill values changed")
    x, y = old[ordinary].astype(np.longdouble), new[ordinary].astype(np.longdouble)
    require(np.isfinite(y).all(), path, "a value became infinite or NaN")
    if x.size == 0:
        return
    error = np.abs(x - y)
    limit = np.longdouble(limit)
    if kind == "abs":
        allowed = np.broadcast_to(limit, error.shape)
    elif kind == "rel":
        allowed = np.broadcast_to(limit * (x.max() - x.min()), error.shape)
    elif kind == "pw-rel":
        allowed = limit * np.abs(x)
    else:  # decibels: 20 log10(range / rmse)
        rms = np.sqrt(np.mean(error**2))
        span = x.max() - x.min()
        require(
            rms == 0 or 20 * np.log10(span / rms) >= limit - np.longdouble(1e-9),
            path,
            "PSNR",
            float(20 * np.log10(span / rms)) if rms else "inf",
            "below",
            float(limit),
        )
        return
    worst = np.argmax(error - allowed)
    require(
        (error <= allowed).all(),
        path,
        kind,
        float(limit),
        "is exceeded:",
        repr(x[worst]),
        "came back as",
        repr(y[worst]),
        "with an error of",
        repr(error[worst]),
        "and not",
        repr(allowed[worst]),
    )


def check_files(read, original, copy, bounds, fills):
    old, new = read(original), read(copy)
    require(list(sorted(old)) == list(sorted(new)), "objects:", sorted(old), sorted(new))
    for path, thing in old.items():
        other = new[path]
        require(thing[0] == other[0], path, "is another kind of thing")
        if thing[0] == "group":
            check_attributes(path, thing[1], other[1])
        elif thing[0] == "dimension":
            require(thing[1] == other[1], path, thing[1], other[1])
        else:
            values, others = np.asarray(thing[1]), np.asarray(other[1])
            require(values.shape == others.shape and values.dtype == others.dtype, path, "type")
            require(thing[2] == other[2], path, "dimensions", thing[2], other[2])
            check_attributes(path, thing[3], other[3])
            if path in bounds:
                check_bound(path, values, others, bounds[path], fills.get(path, []))
            else:
                require(same(values, others), path, "has no bound and changed")


# ---- One case ------------------------------------------------------------------------------------


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
