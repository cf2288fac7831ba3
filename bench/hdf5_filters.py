#!/usr/bin/env python3
"""Our HDF5 filter beside SZ3's and ZFP's: one h5py process, one thread, the same field, the same
absolute bound.

HDF5 in memory (core driver), one chunk. Turns alternate; the best of several counts. Speeds are
uncompressed 1e9 bytes per second. Every copy is compared with the original.

usage: hdf5_filters.py [FILE.cdf:VARIABLE ...] [--rel 1e-3 1e-4] [--repeat 7] [--json FILE]
"""

import argparse
import json
import pathlib
import sys
import time

import h5py
import hdf5plugin
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "tensorpress"))
import hdf5  # the module alone, so that the bench needs no installed package

FERRET = "/usr/share/ferret-vis/data"
FIELDS = [
    f"{FERRET}/etopo5.cdf:ROSE",
    f"{FERRET}/monthly_navy_winds.cdf:UWND",
    f"{FERRET}/ocean_atlas_subset.nc:TEMP",
]


def contenders(absolute):
    return {
        "tensorpress dense": hdf5.Filter(absolute=absolute),
        "tensorpress dense fast": hdf5.Filter(absolute=absolute, effort="fast"),
        "tensorpress ceresz": hdf5.Filter("ceresz", absolute=absolute),
        "sz3": hdf5plugin.SZ3(absolute=absolute),
        "zfp": hdf5plugin.Zfp(accuracy=absolute),
        "uncompressed": {},
    }


def load(name):
    """A variable of a NetCDF file; what is missing becomes the mean, because the others know no
    fill values."""
    import netCDF4

    path, variable = name.rsplit(":", 1)
    with netCDF4.Dataset(path) as file:
        values = np.ma.asarray(file[variable][...])
    return np.ascontiguousarray(values.filled(values.mean()), dtype=np.float32).reshape(
        values.shape
    )


def measure(field, options):
    """Seconds to write and to read, bytes, and what came back."""
    memory = {"driver": "core", "backing_store": False, "block_size": 2 * field.nbytes + 2**20}
    # Without a cache of chunks reading decompresses what was just written.
    with h5py.File("bench.h5", "w", rdcc_nbytes=0, **memory) as file:
        began = time.perf_counter()
        dataset = file.create_dataset("x", data=field, chunks=field.shape, **options)
        file.flush()
        wrote = time.perf_counter() - began
        output = np.empty_like(field)
        began = time.perf_counter()
        dataset.read_direct(output)
        return wrote, time.perf_counter() - began, dataset.id.get_storage_size(), output


def compare(name, field, relative, repeat):
    absolute = relative * float(np.ptp(field))
    best = {}
    for _ in range(repeat):
        for contender, options in contenders(absolute).items():
            wrote, read, size, output = measure(field, options)
            error = float(np.abs(output.astype(np.float64) - field).max())
            assert error <= absolute * 1.0000001 or not contender.startswith("tensorpress"), (
                contender,
                error,
            )
            row = best.setdefault(
                contender, {"write": wrote, "read": read, "bytes": size, "max_abs_error": error}
            )
            row["write"], row["read"] = min(row["write"], wrote), min(row["read"], read)
    rows = []
    for contender, row in best.items():
        rows.append(
            {
                "field": name,
                "relative": relative,
                "filter": contender,
                "ratio": field.nbytes / row["bytes"],
                "write_gb_per_s": field.nbytes / row["write"] / 1e9,
                "read_gb_per_s": field.nbytes / row["read"] / 1e9,
                "max_rel_error": row["max_abs_error"] / float(np.ptp(field)),
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("fields", nargs="*", default=FIELDS)
    parser.add_argument("--rel", nargs="+", type=float, default=[1e-3, 1e-4])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    results = []
    print(
        f"h5py {h5py.version.version}, HDF5 {h5py.version.hdf5_version}, "
        f"hdf5plugin {hdf5plugin.version}"
    )
    for name in arguments.fields:
        field = load(name)
        short = f"{pathlib.Path(name.rsplit(':', 1)[0]).stem}:{name.rsplit(':', 1)[1]}"
        for relative in arguments.rel:
            rows = compare(short, field, relative, arguments.repeat)
            results += rows
            print(
                f"\n{short} {'x'.join(map(str, field.shape))} f32, bound {relative:g} of the range"
            )
            print(
                f"{'filter':24} {'ratio':>8} {'write GB/s':>11} {'read GB/s':>10} "
                f"{'max_rel_error':>14}"
            )
            for row in rows:
                print(
                    f"{row['filter']:24} {row['ratio']:8.2f} {row['write_gb_per_s']:11.3f} "
                    f"{row['read_gb_per_s']:10.3f} {row['max_rel_error']:14.2e}"
                )
            speeds = {row["filter"]: row for row in rows}
            ours = speeds["tensorpress dense"]
            for peer in ("sz3", "zfp"):
                times = [
                    ours[key] / speeds[peer][key]
                    for key in ("write_gb_per_s", "read_gb_per_s", "ratio")
                ]
                print(
                    f"dense beside {peer}: writes {times[0]:.2f}, reads {times[1]:.2f} times as "
                    f"fast, {times[2]:.2f} the ratio"
                )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
