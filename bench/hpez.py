#!/usr/bin/env python3
"""Measures HPEZ (QoZ 2.0, `-q 4`) on raw fields, with a binary that was built elsewhere.

    bench/hpez.py --binary PATH FIELDS... [--rel 1e-2,1e-3,1e-4] [--repetitions 3]

PATH is the program `qoz` of github.com/szcompressor/QoZ. Sizes are its files; times are those that
it prints, without reading and writing; the best of the repetitions counts, on one thread. Prints
the rows of `tensorpress bench --peers --json`. Needs NumPy.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
from raw_fields import RawField, errors


def seconds(printed: str, what: str) -> float:
    return float(re.search(rf"^{what} time = ([0-9.eE+-]+)", printed, re.MULTILINE)[1])


def measure(binary: str, field: RawField, rel: float, repetitions: int) -> dict:
    """One row. A field that HPEZ cannot take has the reason under `cannot`."""
    row = {
        "field": field.name,
        "codec": "hpez",
        "bound": bound_text(rel),
        "absolute_bound": rel * field.value_range,
        "threads": 1,
        "repetitions": repetitions,
        "lossless": False,
        "bytes_in": field.values.nbytes,
    }
    shape = field.values.shape
    if len(shape) > 4:
        return row | {"cannot": "takes four dimensions at most"}
    kind = "-f" if field.values.dtype == np.float32 else "-d"
    extents = [f"-{len(shape)}", *(str(extent) for extent in reversed(shape))]
    with tempfile.TemporaryDirectory() as folder:
        packed, copy = pathlib.Path(folder) / "packed", pathlib.Path(folder) / "copy"
        argv = [binary, "-q", "4", kind, "-i", str(field.path), "-z", str(packed)]
        # A bound of the range, which HPEZ takes in the same way, would have its own rounding.
        argv += ["-o", str(copy), *extents, "-M", "ABS", repr(row["absolute_bound"])]
        times = []
        for _ in range(repetitions):
            done = subprocess.run(
                argv, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
            )
            if done.returncode != 0 or not copy.exists():
                return row | {"cannot": f"the program ended with status {done.returncode}"}
            ways = ("compression", "decompression")
            times.append([seconds(done.stdout, way) for way in ways])
        found = np.fromfile(copy, field.values.dtype).reshape(shape)
        size = packed.stat().st_size
    best = np.min(times, axis=0)
    speeds = field.values.nbytes / 1e9 / best
    row |= {"bytes_out": size, "ratio": field.values.nbytes / size}
    row |= {"compress_gb_per_s": speeds[0], "decompress_gb_per_s": speeds[1]}
    row |= errors(field.values, found)
    return row | {"kept_bound": bool(row["max_abs_error"] <= row["absolute_bound"])}


def bound_text(rel: float) -> str:
    """As `tensorpress bench` writes it."""
    return f"rel {rel:g}" if rel >= 1e-3 else f"rel {rel:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("fields", nargs="+", type=pathlib.Path, metavar="FIELD")
    parser.add_argument("--binary", required=True, help="the program qoz")
    parser.add_argument("--rel", default="1e-2,1e-3,1e-4", help="bounds, as shares of the range")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    rows = []
    for path in arguments.fields:
        field = RawField.read(path)
        for rel in map(float, arguments.rel.split(",")):
            rows.append(measure(arguments.binary, field, rel, arguments.repetitions))
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
