"""How long the simulated wafer takes: seconds, events and memory by PEs and by blocks a PE.

    python bench/wafer_speed.py [--program build/bin/tensorpress] [--threads 2]

One block a PE in SRAM, coding and offsets included; then a fixed mesh with more blocks a PE, in
SRAM and over the west edge. `seconds` is the whole command but for reading the file.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import tempfile

import numpy as np


def field(values: int) -> np.ndarray:
    along = np.arange(values, dtype=np.float64)
    noise = np.random.default_rng(1).standard_normal(values)
    return (np.sin(along / 700) * 40 + np.sin(along / 31) + 0.02 * noise).astype("f4")


def measure(program: str, folder: pathlib.Path, width: int, height: int, blocks: int, io: str,
            threads: int) -> dict:
    path = folder / "field.npy"
    np.save(path, field(width * height * blocks * 32))
    command = [program, "wafer", "run", str(path), "--rel", "1e-4", "--mesh", f"{width}x{height}",
               "--whole-mesh", "--io", io, "--threads", str(threads), "--verify", "--json"]
    done = subprocess.run(command, check=True, capture_output=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/bin/tensorpress")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="leave out the whole wafer")
    options = parser.parse_args()
    cases = [(100, 100, 1, "sram"), (200, 200, 1, "sram"), (400, 400, 1, "sram")]
    if not options.quick:
        cases.append((750, 994, 1, "sram"))
    cases += [(100, 100, 4, "sram"), (100, 100, 16, "sram"), (100, 100, 1, "edge"),
              (100, 100, 16, "edge"), (400, 400, 1, "edge")]
    print("mesh      blocks/PE  io    seconds      cycles  wavelet hops     events")
    with tempfile.TemporaryDirectory() as name:
        for width, height, blocks, io in cases:
            told = measure(options.program, pathlib.Path(name), width, height, blocks, io,
                           options.threads)
            print(f"{width}x{height:<6} {blocks:9}  {io:4} {told['seconds']:8.2f} "
                  f"{told['cycles']:11,} {told['wavelet_hops']:13,} {told['events']:10,}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"largest memory of a run: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
