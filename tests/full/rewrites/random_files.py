"""NetCDF and HDF5 files at random: groups, records, packed numbers, fill values, text and links."""

import h5py
import netCDF4
import numpy as np

NAMES = ["tas", "pr", "psl", "hus", "ua", "va", "zg", "clt", "snw", "rlut"]


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
