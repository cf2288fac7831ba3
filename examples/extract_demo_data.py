#!/usr/bin/env python3
"""Turns data of two Debian packages into .npy files for `tensorpress demo`.

    python3 examples/extract_demo_data.py OUTDIR

ferret-datasets (climate fields, NetCDF) and dataset-fashion-mnist (pictures of clothes). Every NAME.npy
gets a NAME.json beside it with a title and a sentence for the report. Files that exist are left alone.
Needs numpy and netCDF4 (requirements/demo.txt).
"""

import gzip
import json
import os
import pathlib
import sys

FERRET = pathlib.Path("/usr/share/ferret-vis/data")
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")

# name, file, variable, title, about
FIELDS = [
    ("relief", "etopo20.cdf", "ROSE", "Relief of the Earth",
     "Height of the land and depth of the sea in metres, every 20 minutes of arc (ETOPO)."),
    ("zonal_wind", "monthly_navy_winds.cdf", "UWND", "Zonal wind",
     "West-to-east wind over the globe in m/s, month by month from 1982 to 1992 (US Navy)."),
    ("sea_temperature", "levitus_climatology.cdf", "TEMP", "Sea temperature by depth",
     "Temperature of the ocean in degrees Celsius at 20 depths from 0 to 5000 m (Levitus's climatology)."),
    ("sea_temperature_by_month", "ocean_atlas_subset.nc", "TEMP", "Sea temperature by month and depth",
     "Temperature of the ocean in degrees Celsius for 12 months at 19 depths (an ocean atlas)."),
]
IMAGES = 1000


class MissingPackage(Exception):
    """Data or a module that a package would bring."""


def save(directory, name, array, title, about, grey=False):
    """Writes NAME.json, then NAME.npy: the array appears last and whole, so that its presence means done."""
    import numpy

    description = {"title": title, "about": about, "grey": grey}
    (directory / f"{name}.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    unfinished = directory / f"{name}.npy.part"
    with open(unfinished, "wb") as file:
        numpy.save(file, numpy.ascontiguousarray(array))
    os.replace(unfinished, directory / f"{name}.npy")
    print(f"{directory / name}.npy: {array.dtype} {'x'.join(map(str, array.shape))}")


def fill_land(values):
    """A masked array as plain floats: what is missing becomes the mean of its plane (or of the field)."""
    import numpy

    filled = numpy.array(values.filled(0), dtype=numpy.float32)
    missing = numpy.ma.getmaskarray(values)
    for index in numpy.ndindex(values.shape[:-2]):
        plane = values[index]
        filled[index][missing[index]] = plane.mean() if plane.count() else values.mean()
    return filled, float(missing.mean())


def extract_field(directory, name, file, variable, title, about):
    import netCDF4

    path = FERRET / file
    if not path.exists():
        raise MissingPackage(f"{path} is missing: apt-get install ferret-datasets")
    with netCDF4.Dataset(path) as dataset:
        stored = dataset.variables[variable]
        values = stored[...]
        latitudes = dataset.variables[stored.dimensions[-2]][:]
    if latitudes[0] < latitudes[-1]:
        values = values[..., ::-1, :]  # north is up in pictures
    filled, missing = fill_land(values)
    if missing > 0:
        about += (f" {100 * missing:.0f} % of the grid is land or has no data; dct-chop knows no missing values, so"
                  " they were set to the mean of their plane, and the errors below count the coasts that this makes.")
    save(directory, name, filled, title, about)


def read_images(count):
    """The first `count` pictures of Fashion-MNIST's training set: IDX, a big-endian header and then bytes."""
    import numpy

    path = FASHION_MNIST / "train-images-idx3-ubyte.gz"
    if not path.exists():
        raise MissingPackage(f"{path} is missing: apt-get install dataset-fashion-mnist")
    with gzip.open(path) as file:
        magic, images, height, width = (int.from_bytes(file.read(4), "big") for _ in range(4))
        if magic != 0x803:
            raise ValueError(f"{path} is not an IDX file of bytes with 3 axes")
        count = min(count, images)
        pixels = numpy.frombuffer(file.read(count * height * width), dtype=numpy.uint8)
    return pixels.reshape(count, 1, height, width)


def extract_images(directory, name):
    import numpy

    images = read_images(IMAGES)
    about = f"The first {len(images)} pictures of Fashion-MNIST's training set"
    if name == "fashion_mnist":
        save(directory, name, images.astype(numpy.float32) / 255, "Fashion-MNIST as floats",
             f"{about}, scaled to 0..1.", grey=True)
    else:
        save(directory, name, images, "Fashion-MNIST as bytes",
             f"{about} in their own 8 bits; coefficients are kept in 16 bits (f16).", grey=True)


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stdout if arguments in (["-h"], ["--help"]) else sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    directory = pathlib.Path(arguments[0])
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for field in FIELDS:
            if not (directory / f"{field[0]}.npy").exists():
                extract_field(directory, *field)
        for name in ("fashion_mnist", "fashion_mnist_bytes"):
            if not (directory / f"{name}.npy").exists():
                extract_images(directory, name)
    except ModuleNotFoundError as error:
        print(f"extract_demo_data: the Python module {error.name} is missing:"
              " pip install -r requirements/demo.txt", file=sys.stderr)
        return 2
    except (MissingPackage, OSError, ValueError) as error:
        print(f"extract_demo_data: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
