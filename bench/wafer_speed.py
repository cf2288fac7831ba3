"""How long the simulated wafer takes: seconds, events and memory by PEs and by blocks a PE.

    python bench/wafer_speed.py [--program build/bin/tensorpress] [--threads 2] [--json FILE]

One block a PE in SRAM, coding and offsets included; then a fixed mesh with more blocks a PE, in
SRAM and over the west edge; then one thread, wavelet by wavelet, for events a second of a core.
`seconds` is the whole command but for reading the file, the host's own codec included.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    width: int
    height: int
    blocks: int  # a PE
    io: str
    one_by_one: bool = False


CASES = [
    Case(100, 100, 1, "sram"),
    Case(200, 200, 1, "sram"),
    Case(400, 400, 1, "sram"),
    Case(750, 994, 1, "sram"),
    Case(100, 100, 4, "sram"),
    Case(100, 100, 16, "sram"),
    Case(100, 100, 1, "edge"),
    Case(100, 100, 16, "edge"),
    Case(400, 400, 1, "edge"),
    Case(100, 100, 1, "sram", True),
    Case(200, 200, 1, "sram", True),
    Case(300, 300, 1, "sram", True),
]


def write_field(path: pathlib.Path, values: int) -> None:
    """In pieces: a child's peak of memory begins with what its parent has."""
    generator = np.random.default_rng(1)
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (values,)}
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, values, 1 << 18):
            along = np.arange(first, min(values, first + (1 << 18)), dtype=np.float64)
            noise = generator.standard_normal(along.size)
            file.write((np.sin(along / 700) * 40 + np.sin(along / 31) + 0.02 * noise).astype("<f4"))


def measure(program: str, folder: pathlib.Path, case: Case, threads: int) -> dict:
    path, told = folder / "field.npy", folder / "told.json"
    write_field(path, case.width * case.height * case.blocks * 32)
    command = [
        program,
        "wafer",
        "run",
        str(path),
        "--rel",
        "1e-4",
        "--mesh",
        f"{case.width}x{case.height}",
        "--whole-mesh",
        "--io",
        case.io,
        "--threads",
        str(1 if case.one_by_one else threads),
        "--verify",
        "--json",
    ]
    command += ["--one-by-one"] * case.one_by_one
    with open(told, "wb") as output:
        process = subprocess.Popen(command, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"status {process.returncode} of {' '.join(command)}")
    run = json.loads(told.read_text())
    return {
        "mesh": run["mesh"],
        "blocks_per_pe": case.blocks,
        "io": case.io,
        "one_by_one": case.one_by_one,
        "threads": 1 if case.one_by_one else threads,
        "seconds": round(run["seconds"], 3),
        "cycles": run["cycles"],
        "wavelet_hops": run["wavelet_hops"],
        "events": run["events"],
        "events_per_second": round(run["events"] / run["seconds"]),
        "peak_gib": round(usage.ru_maxrss / 2**20, 3),
        "same_as_host": run["same_as_host"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/bin/tensorpress")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="leave out the whole wafer")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures there as well")
    options = parser.parse_args()
    print(
        "mesh     blocks/PE  io    wavelets    threads  seconds      cycles  wavelet hops"
        "       events  events/s      GiB"
    )
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for case in CASES:
            if options.quick and case.width > 400:
                continue
            row = measure(options.program, pathlib.Path(name), case, options.threads)
            rows.append(row)
            print(
                f"{row['mesh']:8} {row['blocks_per_pe']:9}  {row['io']:4}  "
                f"{'one by one' if row['one_by_one'] else 'in trains':10} {row['threads']:8} "
                f"{row['seconds']:8.2f} {row['cycles']:11,} {row['wavelet_hops']:13,} "
                f"{row['events']:12,} {row['events_per_second']:10,} {row['peak_gib']:7.2f}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
