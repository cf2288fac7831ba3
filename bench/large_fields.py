#!/usr/bin/env python3
"""Our codecs beside the best of the others, field by field, at an equal largest error and at an
equal PSNR.

    bench/large_fields.py --fields DIR --hpez PATH --output bench/results/large-fields
    bench/large_fields.py --fields DIR/training/acoustic_late_256x256x192.f32 --quick
    bench/large_fields.py --fields DIR/training --codec-args 'cubes=--chunk-shape 129x129x129'

Fields are raw files with shape and type in their name (`python bench/fields` makes large ones), or
directories of them. PATH is HPEZ's program (bench/hpez.py). Ratios and speeds are those of
`tensorpress bench --peers`: in turns, one thread, memory to memory. `--codec-args` adds a variant
of ours by the arguments of `tensorpress compress`, with sizes alone. OUTPUT.json, OUTPUT.md and the
plots of bench/rate_distortion.py are written; `--from OUTPUT.json` prints the tables again. Needs
requirements/peers.txt.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import hpez
import large_fields_tables
import numpy as np
import rate_distortion
from processor import cpu_model
from raw_fields import RawField, errors, files_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
OURS = ("dense", "dense-fast", "dense-best")
PEERS = ("sz3", "sperr", "zfp", "sz3-3.1", "pcodec", "blosc2-zstd")
QUICK_PEERS = ("sz3", "sperr")


class Bench:
    """What is asked of the program and of others, for one field after another."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.program = str(arguments.program)
        self.hpez = arguments.hpez
        self.bounds = [float(each) for each in arguments.rel.split(",")]
        self.repetitions = arguments.repetitions
        self.codecs = arguments.codecs.split(",")
        self.variants = dict(each.split("=", 1) for each in arguments.codec_args)
        self.fill = [word for value in arguments.fill for word in ("--fill", value)]
        self.psnr = not arguments.no_psnr and "sperr" in self.codecs

    def contest(self, path: pathlib.Path, codecs: list[str]) -> list[dict]:
        argv = [self.program, "bench", str(path), "--peers", "--codec", ",".join(codecs), "--json"]
        argv += ["--rel", ",".join(map(repr, self.bounds)), *self.fill]
        argv += ["--repetitions", str(self.repetitions)]
        done = subprocess.run(argv, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return json.loads(done.stdout)

    def without_unknown_efforts(self, path: pathlib.Path) -> None:
        """`dense-best` is a contender only where it is not the default."""
        argv = [self.program, "bench", str(path), "--peers", "--rel", "1e-2", "--repetitions", "1"]
        for name in [codec for codec in self.codecs if codec in OURS[1:]]:
            done = subprocess.run([*argv, "--codec", name], capture_output=True, text=True)
            if done.returncode != 0 and f"'{name}' cannot be compared" in done.stderr:
                self.codecs.remove(name)

    def packed_size(self, path: pathlib.Path, arguments: list[str]) -> tuple[int, np.ndarray]:
        """The size of the file that `tensorpress compress` writes, and its values."""
        field = RawField.read(path)
        shape = "x".join(map(str, field.values.shape))
        kind = f"f{8 * field.values.itemsize}"
        with tempfile.TemporaryDirectory() as folder:
            packed, copy = pathlib.Path(folder) / "packed.tpz", pathlib.Path(folder) / "copy.raw"
            argv = [self.program, "compress", str(path), "-o", str(packed), "--shape", shape]
            # Zeros that fill a field are values here, not a sign of missing ones.
            argv += ["--dtype", kind, "--threads", "1", "--whole-range", *self.fill, *arguments]
            subprocess.run(argv, check=True, capture_output=True)
            subprocess.run([self.program, "decompress", packed, "-o", copy], check=True)
            values = np.fromfile(copy, field.values.dtype).reshape(field.values.shape)
            return packed.stat().st_size, values

    def variant_rows(self, field: RawField) -> list[dict]:
        rows = []
        for name, words in self.variants.items():
            for rel in self.bounds:
                size, copy = self.packed_size(field.path, ["--rel", repr(rel), *shlex.split(words)])
                row = {"field": field.name, "codec": name, "bound": hpez.bound_text(rel)}
                row |= {"bytes_in": field.values.nbytes, "bytes_out": size, "arguments": words}
                row |= {"ratio": field.values.nbytes / size} | errors(field.values, copy)
                limit = rel * field.value_range
                rows.append(row | {"kept_bound": row["max_abs_error"] <= limit})
        return rows

    def psnr_rows(self, field: RawField, rows: list[dict]) -> list[dict]:
        """SPERR asked for the PSNR that it has at each bound; ours asked for what it then has."""
        found = []
        for row in rows:
            if row["codec"] != "sperr" or "ratio" not in row or row["psnr_db"] is None:
                continue
            theirs = sperr_at(field.values, row["psnr_db"])
            pair = {"field": field.name, "bound": row["bound"], "bytes_in": row["bytes_in"]}
            pair |= {"sperr_psnr_db": theirs["psnr_db"], "sperr_ratio": theirs["ratio"]}
            efforts = [codec for codec in self.codecs if codec in ("dense", "dense-best")]
            for codec in efforts:
                words = ["--psnr", repr(theirs["psnr_db"])]
                words += ["--effort", "best"] if codec == "dense-best" else []
                size, copy = self.packed_size(field.path, words)
                pair[f"{codec}_ratio"] = field.values.nbytes / size
                pair[f"{codec}_psnr_db"] = errors(field.values, copy)["psnr_db"]
            found.append(pair)
        return found

    def measure(self, path: pathlib.Path) -> tuple[list[dict], list[dict]]:
        field = RawField.read(path)
        rows = self.contest(path, self.codecs)
        if self.hpez:
            rows += [hpez.measure(self.hpez, field, b, self.repetitions) for b in self.bounds]
        rows += self.variant_rows(field)
        return rows, self.psnr_rows(field, rows) if self.psnr else []


def sperr_at(values: np.ndarray, psnr: float) -> dict[str, float]:
    """SPERR's chunk in an HDF5 file in memory, asked for a PSNR."""
    import h5py
    import hdf5plugin

    options = hdf5plugin.Sperr(peak_signal_to_noise_ratio=psnr, swap=True)
    # Without a cache, which would hold the values as they were.
    with h5py.File("memory", "w", driver="core", backing_store=False, rdcc_nbytes=0) as file:
        data = file.create_dataset("field", data=values, chunks=values.shape, **options)
        file.flush()
        found = {"ratio": values.nbytes / data.id.get_storage_size()}
        return found | errors(values, data[...])


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--fields", nargs="+", type=pathlib.Path, metavar="PATH")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/bin/tensorpress")
    parser.add_argument("--hpez", metavar="PATH", help="HPEZ's program; left out without")
    parser.add_argument("--codecs", default=",".join(OURS + PEERS), help="ours and others")
    parser.add_argument("--codec-args", action="append", default=[], metavar="NAME=ARGUMENTS")
    parser.add_argument("--rel", default="1e-2,1e-3,1e-4", help="bounds, as shares of the range")
    parser.add_argument("--fill", action="append", default=[], help="a value that means no data")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-psnr", action="store_true", help="leave out the comparison at a PSNR")
    parser.add_argument("--quick", action="store_true", help="SZ3, SPERR and HPEZ alone, one turn")
    parser.add_argument("--output", type=pathlib.Path, help="write OUTPUT.json and OUTPUT.md")
    parser.add_argument("--from", dest="result", type=pathlib.Path, help="a result to print again")
    arguments = parser.parse_args()
    if not arguments.fields and not arguments.result:
        parser.error("--fields or --from is needed")
    if arguments.quick:
        arguments.codecs, arguments.repetitions = ",".join(("dense", *QUICK_PEERS)), 1
        arguments.no_psnr = True
    return arguments


def command_of(arguments: argparse.Namespace) -> str:
    """What was called, without the paths of this machine."""
    words = ["--fields", *(f"DIR/{path.name}" for path in arguments.fields)]
    words += ["--hpez", "PATH"] if arguments.hpez else []
    words += ["--codecs", arguments.codecs]
    for each in arguments.codec_args:
        words += ["--codec-args", each]
    for each in arguments.fill:
        words += ["--fill", each]
    words += ["--rel", arguments.rel] if arguments.rel != "1e-2,1e-3,1e-4" else []
    words += ["--repetitions", str(arguments.repetitions)]
    words += ["--no-psnr"] if arguments.no_psnr else []
    return shlex.join(["bench/large_fields.py", *words])


def main() -> None:
    arguments = parsed()
    if arguments.result:
        print(large_fields_tables.page(json.loads(arguments.result.read_text())))
        return
    paths = files_of(arguments.fields)
    bench = Bench(arguments)
    bench.without_unknown_efforts(min(paths, key=lambda path: path.stat().st_size))
    command = command_of(arguments)
    result = {"command": command, "machine": cpu_model(), "repetitions": bench.repetitions}
    result |= {"rows": [], "psnr": []}
    for path in paths:
        rows, psnr = bench.measure(path)
        result["rows"] += rows
        result["psnr"] += psnr
        for line in large_fields_tables.lines_of_field(rows):
            print(line, file=sys.stderr, flush=True)
    page = large_fields_tables.page(result)
    print(page)
    if arguments.output:
        arguments.output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
        arguments.output.with_suffix(".md").write_text(page)
        rate_distortion.write(result, arguments.output)


if __name__ == "__main__":
    main()
