"""The performance ledger: figures as ratios to memcpy, or to SZ3 and ZFP, in the same run, beside
the committed ones.

    ./dev bench --ledger            measure, compare with bench/ledger.json, status 1 if one lost
    ./dev bench --ledger --update   ... and write it as the new ledger

A speed in GB/s says as much about the machine and its other users as about us; a share of memcpy,
measured in alternation, says less about them. What noise is left goes one way: it slows. So all
cases are measured in several rounds, one after the other, the best of a figure's rounds is
compared, and a figure that seems to have lost is measured again before it is called lost. What
--update writes is the median of the rounds, so that a lucky round does not become the measure of
all others. Shares depend on the instruction set and on how fast the machine's memory is beside
its cores, so each model of CPU has a ledger of its own in the file. A case is one line in CASES.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from processor import cpu_model

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEDGER = ROOT / "bench" / "ledger.json"
LOSS = 0.10
MORE_ROUNDS = 4  # for cases that seem to have lost
CODECS = {
    "dense": ["--codec", "dense", "--rel", "1e-3"],
    "dense fast": ["--codec", "dense", "--effort", "fast", "--rel", "1e-3"],
    "dense 1e-5": ["--codec", "dense", "--rel", "1e-5"],
    "ceresz": ["--codec", "ceresz", "--rel", "1e-3"],
    "ceresz2": ["--codec", "ceresz2", "--rel", "1e-3"],
    "quantize 4": ["--bits", "4"],
    "quantize 2 stochastic": ["--bits", "2", "--rounding", "stochastic"],
    "cast bf16": ["--to", "bf16"],
    "cast e4m3": ["--to", "e4m3"],
}
#: name -> arguments of `tensorpress bench`; FIELD becomes a path.
CASES = {f"{name}, field": ["FIELD", "--threads", "1", *flags] for name, flags in CODECS.items()}
CASES["dct-chop, images"] = (
    "--planes 256 --cfs 2 4 7 --threads 1 --no-matmul --megabytes 64".split()
)
CASES["dct-chop triangle, images"] = [*CASES["dct-chop, images"], "--layout", "triangle"]
CASES["dct-chop, two threads"] = (
    "--planes 256 --cfs 4 --threads 2 --no-matmul --megabytes 64".split()
)
CASES["pack"] = ["--study", "pack", "--megabytes", "16"]
#: Other compressors: what stands in a case with them is a ratio to theirs.
PEERS = ("sz3", "zfp")
CASES["beside peers"] = ["FIELD", "--peers", "--codec", "dense,dense-fast,ceresz,sz3,zfp"]
CASES["beside peers"] += ["--rel", "1e-3", "--threads", "1"]


def make_field(path: pathlib.Path, planes: int):
    """A megabyte a plane of waves over noise with a coast, like an ocean model; the same numbers
    everywhere."""
    z, y, x = np.meshgrid(
        np.arange(planes), np.arange(512), np.arange(512), indexing="ij", sparse=True
    )
    values = 12 * np.sin(x / 37 + z / 5) * np.cos(y / 53) + 3 * np.sin((x + 2 * y) / 11) + 0.3 * z
    values = values + 0.02 * np.random.default_rng(10).standard_normal(values.shape)
    np.save(path, np.where(values < -9, 0, values).astype("f4"))


def rows_of(
    program: str, arguments: list[str], field: pathlib.Path, repetitions: int
) -> list[dict]:
    words = [str(field) if word == "FIELD" else word for word in arguments]
    argv = [program, "bench", *words, "--json", "--repetitions", str(repetitions)]
    return json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)


def figures_of(name: str, rows: list[dict]) -> dict[str, float]:
    """Ratios only: speeds over memcpy's, sizes over the original's; all of it over a peer's."""
    figures = {}
    peers = {row["codec"]: row for row in rows if row.get("codec") in PEERS}
    if peers:
        ours = [row for row in rows if row["codec"] not in PEERS]
        return {
            f"{name}: {row['codec']}, {key.removesuffix('_gb_per_s')} / {peer}": (
                row[key] / peers[peer][key]
            )
            for row in ours
            for peer in peers
            for key in ("compress_gb_per_s", "decompress_gb_per_s", "ratio")
        }
    for row in rows:
        inner = [str(row[key]) for key in ("what", "dtype") if key in row]
        inner += [f"{key} {row[key]}" for key in ("plane", "cf") if key in row]
        label = ": ".join([name, *([" ".join(inner)] if inner else [])])
        for key, value in row.items():
            if key.endswith("_gb_per_s") and key not in ("memcpy_gb_per_s", "matmul_gb_per_s"):
                figures[f"{label}, {key.removesuffix('_gb_per_s')} / memcpy"] = (
                    value / row["memcpy_gb_per_s"]
                )
        figures[f"{label}, ratio"] = row["ratio"]
    return figures


def lost(figures: dict[str, float], before: dict[str, float]) -> list[str]:
    return [
        name
        for name, value in figures.items()
        if name in before and value < (1 - LOSS) * before[name]
    ]


class Measurement:
    """Rounds of all cases: figure -> what each round gave."""

    def __init__(self, program: str, field: pathlib.Path, repetitions: int):
        self.program, self.field, self.repetitions = program, field, repetitions
        self.rounds: dict[str, list[float]] = {}
        self.case_of: dict[str, str] = {}

    def measure(self, cases) -> None:
        for name in cases:
            rows = rows_of(self.program, CASES[name], self.field, self.repetitions)
            for figure, value in figures_of(name, rows).items():
                self.rounds.setdefault(figure, []).append(value)
                self.case_of[figure] = name

    def best(self) -> dict[str, float]:
        return {figure: max(values) for figure, values in self.rounds.items()}

    def median(self) -> dict[str, float]:
        return {figure: statistics.median(values) for figure, values in self.rounds.items()}


def measure(measurement: Measurement, before: dict[str, float], rounds: int) -> None:
    for _ in range(rounds):
        measurement.measure(CASES)
    for _ in range(MORE_ROUNDS):
        again = {measurement.case_of[figure] for figure in lost(measurement.best(), before)}
        measurement.measure(name for name in CASES if name in again)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write the new ledger")
    parser.add_argument(
        "--ledger",
        type=pathlib.Path,
        default=LEDGER,
        help="the ledger to compare with and to write",
    )
    parser.add_argument("--rounds", type=int, default=3, help="times that every case is measured")
    parser.add_argument(
        "--repetitions", type=int, default=5, help="turns of a case in a round; its best counts"
    )
    parser.add_argument("--planes", type=int, default=24, help="size of the field, in MiB")
    options = parser.parse_args()
    program = os.environ.get("TENSORPRESS", str(ROOT / "build" / "bin" / "tensorpress"))
    ledgers = json.loads(options.ledger.read_text()) if options.ledger.exists() else {}
    isa = json.loads(
        subprocess.run([program, "info", "--json"], check=True, capture_output=True).stdout
    )["isa"]
    machine = f"{isa} on {cpu_model()}"
    if machine not in ledgers:
        print(f"no figures of {machine} yet: nothing is compared; --update adds them")
    before = ledgers.get(machine, {})
    with tempfile.TemporaryDirectory() as folder:
        field = pathlib.Path(folder) / "field.npy"
        make_field(field, options.planes)
        measurement = Measurement(program, field, options.repetitions)
        measure(measurement, before, options.rounds)
    figures = measurement.best()
    losses = lost(figures, before)
    for name, value in figures.items():
        change = f"{100 * (value / before[name] - 1):+6.1f} %" if name in before else "     new"
        print(f"{value:9.4g}  {change}{'  LOST' if name in losses else ''}  {name}")
    missing = sorted(set(before) - set(figures))
    for name in missing:
        print(f"  missing          {name}")
    if options.update:
        ledgers[machine] = {name: round(value, 5) for name, value in measurement.median().items()}
        options.ledger.write_text(json.dumps(ledgers, indent=1) + "\n")
    if losses or missing:
        print(
            f"{len(losses)} of {len(figures)} figures lost more than {LOSS:.0%}, "
            f"{len(missing)} are missing",
            file=sys.stderr,
        )
    return 1 if losses or missing else 0


if __name__ == "__main__":
    sys.exit(main())
