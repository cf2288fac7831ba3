#!/usr/bin/env python3
"""Makes .npy files for the demo and for `tensorpress demo`, from data of two Debian packages.

    python3 examples/demo/extract_data.py OUTDIR

ferret-datasets (climate fields, NetCDF) and dataset-fashion-mnist (pictures of clothes); and one
large field, which waves.py computes in seconds. Every NAME.npy gets a NAME.json beside it with a
title and a sentence for the report. Files that exist are left alone. Of a package that is missing
it says so, goes on with the others, and ends with status 2. Needs numpy and netCDF4
(requirements/demo.txt).
"""

import json
import os
import pathlib
import sys

FERRET = pathlib.Path("/usr/share/ferret-vis/data")

# name, file, variable, title, about
FIELDS = [
    (
        "relief",
        "etopo20.cdf",
        "ROSE",
        "Relief of the Earth",
        "Height of the land and depth of the sea in metres, every 20 minutes of arc (ETOPO).",
    ),
    (
        "zonal_wind",
        "monthly_navy_winds.cdf",
        "UWND",
        "Zonal wind",
        "West-to-east wind over the globe in m/s, month by month from 1982 to 1992 (US Navy).",
    ),
    (
        "sea_temperature",
        "levitus_climatology.cdf",
        "TEMP",
        "Sea temperature by depth",
        "Temperature of the ocean in degrees Celsius at 20 depths from 0 to 5000 m (Levitus's "
        "climatology).",
    ),
    (
        "sea_temperature_by_month",
        "ocean_atlas_subset.nc",
        "TEMP",
        "Sea temperature by month and depth",
        "Temperature of the ocean in degrees Celsius for 12 months at 19 depths (an ocean atlas).",
    ),
]
PICTURES = ("fashion_mnist", "fashion_mnist_bytes")
IMAGES = 1000
LARGE = "sound_in_rock"


class MissingPackage(Exception):
    """Data or a module that a package would bring."""


def save(directory, name, array, title, about, grey=False):
    """Writes NAME.json, then NAME.npy: the array appears last and whole, so that its presence means
    done."""
    import numpy

    description = {"title": title, "about": about, "grey": grey}
    (directory / f"{name}.json").write_text(
        json.dumps(description, indent=2) + "\n", encoding="utf-8"
    )
    unfinished = directory / f"{name}.npy.part"
    with open(unfinished, "wb") as file:
        numpy.save(file, numpy.ascontiguousarray(array))
    os.replace(unfinished, directory / f"{name}.npy")
    print(f"{directory / name}.npy: {array.dtype} {'x'.join(map(str, array.shape))}")


def fill_land(values):
    """A masked array as plain floats: what is missing becomes the mean of its plane (or of the
    field)."""
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
        about += (
            f" {100 * missing:.0f} % of the grid is land or has no data. dct-chop stores chunks "
            "with missing values uncompressed, so here these were set to the mean of their plane, "
            "and the errors below include the coasts that this makes."
        )
    save(directory, name, filled, title, about)


def extract_images(directory, name):
    import numpy
    from fashion_mnist import read_idx

    try:
        images = read_idx("train-images-idx3", IMAGES)[:, None]
    except FileNotFoundError as error:
        raise MissingPackage(error) from None
    about = f"The first {len(images)} pictures of Fashion-MNIST's training set"
    if name == "fashion_mnist":
        save(
            directory,
            name,
            images.astype(numpy.float32) / 255,
            "Fashion-MNIST as floats",
            f"{about}, scaled to 0..1.",
            grey=True,
        )
    else:
        save(
            directory,
            name,
            images,
            "Fashion-MNIST as bytes",
            f"{about} in their own 8 bits; coefficients are kept in 16 bits (f16).",
            grey=True,
        )


def compute_waves(directory):
    import waves

    save(directory, LARGE, waves.waves(), waves.TITLE, waves.ABOUT)


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip(), file=sys.stdout if arguments in (["-h"], ["--help"]) else sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    directory = pathlib.Path(arguments[0])
    wanted = [(field[0], lambda field=field: extract_field(directory, *field)) for field in FIELDS]
    wanted += [(name, lambda name=name: extract_images(directory, name)) for name in PICTURES]
    wanted.append((LARGE, lambda: compute_waves(directory)))
    problems = {}  # each once, in their order
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, extract in wanted:
            if (directory / f"{name}.npy").exists():
                continue
            try:
                extract()
            except MissingPackage as error:
                problems[str(error)] = None
    except ModuleNotFoundError as error:
        problems = {
            f"the Python module {error.name} is missing: pip install -r requirements/demo.txt": None
        }
    except (OSError, ValueError) as error:
        problems[str(error)] = None
    for problem in problems:
        print(f"extract_data: {problem}", file=sys.stderr)
    return 2 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
