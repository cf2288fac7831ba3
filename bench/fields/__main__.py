"""Makes large fields as simulations write them, with solvers of our own.

    python bench/fields --list
    python bench/fields --make acoustic --output DIR
    python bench/fields --make heldout --output DIR --size small

Raw little-endian files with their shape in the name, in DIR/training and DIR/heldout. Large fields
have 8 MB and more and take seconds to minutes a solver; small ones take seconds and are for tests.
Seeds are fixed; a different FFT or compiler may change last bits, which turbulence then amplifies.
Needs requirements/fields.txt.
"""

import argparse
import os
import pathlib
import time

# Numba reads this when it is imported.
os.environ.setdefault("NUMBA_NUM_THREADS", str(min(2, os.cpu_count() or 1)))

import catalog
import numpy as np


def write(values: np.ndarray, name: str, folder: pathlib.Path) -> pathlib.Path:
    shape = "x".join(str(extent) for extent in values.shape)
    path = folder / f"{name}_{shape}.f{8 * values.itemsize}"
    partial = path.with_suffix(".partial")
    np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tofile(partial)
    partial.rename(path)
    return path


def make(solver: catalog.Solver, output: pathlib.Path, large: bool) -> None:
    folder = output / solver.split
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    for name, values in solver.run(large):
        if not np.isfinite(values).all():
            raise SystemExit(f"fields: {name} is not finite: the solver became unstable")
        path = write(values, name, folder)
        print(f"{path} after {time.monotonic() - start:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--list", action="store_true", help="print solvers, their split and fields")
    parser.add_argument("--make", nargs="+", metavar="NAME", help="solvers, fields, splits, or all")
    parser.add_argument("--output", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--size", choices=("small", "large"), default="large")
    arguments = parser.parse_args()
    if arguments.list:
        for solver in catalog.SOLVERS:
            print(f"{solver.split:9} {solver.name:21} {solver.about}")
            print(f"{'':31} {' '.join(solver.fields)}")
        return
    if not arguments.make or not arguments.output:
        parser.error("either --list, or --make NAME and --output DIR")
    for solver in catalog.select(arguments.make):
        make(solver, arguments.output, arguments.size == "large")


if __name__ == "__main__":
    main()
