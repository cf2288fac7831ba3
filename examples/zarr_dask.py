"""A Zarr store written and read by several Dask workers through xarray, compressed by Tensorpress.

    python examples/zarr_dask.py [FOLDER] [--workers 2] [--relative 1e-4]

Makes a field of temperatures with land points missing, lets the workers (processes) write its
chunks, lets them read the store back and work on it, and checks the bound on every value.
"""

import argparse
import pathlib
import sys
import tempfile

import dask
import numpy as np
import xarray

from tensorpress.zarr import TensorpressCodec


def make_field() -> xarray.Dataset:
    """12 months of a temperature in degrees; NaN on land. The last chunks are smaller."""
    month, latitude, longitude = np.arange(12), np.linspace(-89, 89, 90), np.linspace(0, 358, 180)
    seasons = (
        10 * np.sin(2 * np.pi * month / 12)[:, None, None] * np.sin(np.radians(latitude))[:, None]
    )
    values = (
        15
        + seasons
        + 15 * np.cos(np.radians(latitude))[:, None]
        + np.sin(np.radians(3 * longitude))
    )
    land = np.cos(np.radians(2 * longitude)) * np.cos(np.radians(3 * latitude))[:, None] > 0.6
    temperature = np.where(land, np.nan, values).astype("float32")
    return xarray.Dataset(
        {"temperature": (("month", "latitude", "longitude"), temperature, {"units": "degC"})},
        coords={"month": month, "latitude": latitude, "longitude": longitude},
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--relative", type=float, default=1e-4)
    options = parser.parse_args()
    folder = options.folder or pathlib.Path(tempfile.mkdtemp())
    store = folder / "temperature.zarr"

    original = make_field()
    encoding = {
        "temperature": {
            "serializer": TensorpressCodec(relative=options.relative),
            "compressors": None,
        }
    }
    with dask.config.set(scheduler="processes", num_workers=options.workers):
        chunked = original.chunk({"month": 5, "latitude": 32, "longitude": 64})
        chunked.to_zarr(store, mode="w", zarr_format=3, consolidated=False, encoding=encoding)
        stored = xarray.open_zarr(store, consolidated=False)
        means = stored.temperature.mean(("latitude", "longitude")).compute()
        copy = stored.temperature.compute()

    expected = original.temperature
    limit = options.relative * float(expected.max() - expected.min())
    error = float(abs(copy - expected).max())
    same_land = bool((np.isnan(copy) == np.isnan(expected)).all())
    size = sum(file.stat().st_size for file in (store / "temperature").rglob("*") if file.is_file())
    print(f"{options.workers} workers, mean of January {float(means[0]):.2f} degC")
    print(f"{expected.nbytes} bytes -> {size}, ratio {expected.nbytes / size:.1f}")
    print(f"largest error {error:.2e}, bound {limit:.2e}, land {'kept' if same_land else 'LOST'}")
    return 0 if error <= limit and same_land else 1


if __name__ == "__main__":
    sys.exit(main())
