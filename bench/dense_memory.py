#!/usr/bin/env python3
"""The memory that `dense` takes beyond the values and the stream, on large fields.

    bench/dense_memory.py --fields DIR/training --output bench/results/dense-memory

Fields are raw files with shape and type in their name (`python bench/fields` makes large ones), or
directories of them. Each call of the library runs in a process of its own, from memory to memory:
values, stream and copy lie in arrays that are filled beforehand. What counts is how far the
resident memory rises above that during the call, as Linux tells it (VmHWM, whose mark is reset
before). OUTPUT.json and OUTPUT.md are written; `--from OUTPUT.json` prints the table again. Needs
the package and NumPy.
"""

import argparse
import dataclasses
import itertools
import json
import multiprocessing
import pathlib
import re
import shlex
import sys
import tempfile

import numpy as np
from processor import cpu_model
from raw_fields import RawField, files_of

LIMIT_MIB = 96  # a thread
EFFORTS = ("normal", "best")
WAYS = ("compress", "decompress")
MIB = 2**20


@dataclasses.dataclass(frozen=True)
class Case:
    path: pathlib.Path
    rel: float
    effort: str
    threads: int
    stream: pathlib.Path


def resident(what: str) -> int:
    """VmRSS, what is resident now, or VmHWM, the most since the mark was reset."""
    status = pathlib.Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(rf"^{what}:\s+(\d+) kB", status, re.MULTILINE)[1])


def rise(call) -> tuple[int, object]:
    """How far resident memory rises during the call, and what the call returns."""
    pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets VmHWM
    before = resident("VmRSS")
    result = call()
    return resident("VmHWM") - before, result


def warmed_up():
    """The package, with its code and threads in memory before the call that counts."""
    import tensorpress

    tensorpress.decompress(tensorpress.compress(np.zeros((4, 4), "f4"), absolute=1, threads=2))
    return tensorpress


def compress(case: Case) -> dict:
    """Leaves the stream for decompress()."""
    tensorpress, field = warmed_up(), RawField.read(case.path)
    room = np.ones(field.values.nbytes + MIB, "u1")
    options = {"effort": case.effort, "whole_range": True, "threads": case.threads}
    more, packed = rise(
        lambda: tensorpress.compress(field.values, relative=case.rel, out=room, **options)
    )
    case.stream.write_bytes(packed)
    row = {"field": field.name, "bound": f"rel {case.rel:g}", "effort": case.effort}
    row |= {"threads": case.threads, "bytes_in": field.values.nbytes, "bytes_out": len(packed)}
    return row | {"compress_bytes": more}


def decompress(case: Case) -> dict:
    tensorpress, field = warmed_up(), RawField.read(case.path)
    packed, copy = case.stream.read_bytes(), np.ones_like(field.values)
    more, _ = rise(lambda: tensorpress.decompress(packed, out=copy, threads=case.threads))
    return {"decompress_bytes": more}


def a_thread(row: dict, way: str) -> float:
    return row[f"{way}_bytes"] / row["threads"] / MIB


def table(result: dict) -> str:
    rows = result["rows"]
    threads = sorted({row["threads"] for row in rows})
    columns = list(itertools.product(WAYS, EFFORTS, threads))
    head = ["field"]
    for way, effort, count in columns:
        head.append(f"{way}, {effort}, {count} thread{'s' * (count > 1)}")
    lines = [head, ["---"] + ["---:"] * len(columns)]
    for field in dict.fromkeys(row["field"] for row in rows):
        cells = [field]
        for way, effort, count in columns:
            here = [r for r in rows if (r["field"], r["effort"]) == (field, effort)]
            most = max(a_thread(row, way) for row in here if row["threads"] == count)
            cells.append(f"{most:.1f}")
        lines.append(cells)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def summary(result: dict) -> str:
    """The most of each effort and way, with where it was."""
    lines = []
    for effort, way in itertools.product(EFFORTS, WAYS):
        rows = [row for row in result["rows"] if row["effort"] == effort]
        most = max(rows, key=lambda row: a_thread(row, way))
        above = sum(a_thread(row, way) > LIMIT_MIB for row in rows)
        count = most["threads"]
        lines.append(
            f"- `{way}`, effort {effort}: at most {a_thread(most, way):.1f} MiB a thread "
            f"({most['field']}, {most['bound']}, {count} thread{'s' * (count > 1)}); "
            f"above {LIMIT_MIB} MiB in {above} of {len(rows)} cases."
        )
    return "\n".join(lines) + "\n"


def page(result: dict) -> str:
    return (
        "# Memory of dense beyond input and output\n\n"
        f"Made by `{result['command']}`.\n\n"
        f"Measured on {result['machine']}, tensorpress {result['version']}: how far resident "
        "memory rises while the library works from memory to memory, in MiB divided by the "
        f"number of threads. The aim is at most {LIMIT_MIB}.\n\n"
        + summary(result)
        + f"\nThe most over {', '.join(dict.fromkeys(r['bound'] for r in result['rows']))}:\n\n"
        + table(result)
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--fields", nargs="+", type=pathlib.Path, metavar="PATH")
    parser.add_argument("--rel", default="1e-2,1e-3,1e-4", help="bounds, as shares of the range")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--output", type=pathlib.Path, help="write OUTPUT.json and OUTPUT.md")
    parser.add_argument("--from", dest="result", type=pathlib.Path, help="a result to print again")
    arguments = parser.parse_args()
    if not arguments.fields and not arguments.result:
        parser.error("--fields or --from is needed")
    return arguments


def command_of(arguments: argparse.Namespace) -> str:
    """What was called, without the paths of this machine."""
    words = ["--fields", *(f"DIR/{path.name}" for path in arguments.fields)]
    words += ["--rel", arguments.rel] if arguments.rel != "1e-2,1e-3,1e-4" else []
    words += ["--threads", arguments.threads] if arguments.threads != "1,2" else []
    return shlex.join(["bench/dense_memory.py", *words])


def main() -> None:
    arguments = parsed()
    if arguments.result:
        print(page(json.loads(arguments.result.read_text(encoding="utf-8"))))
        return
    import tensorpress

    bounds = [float(each) for each in arguments.rel.split(",")]
    threads = [int(each) for each in arguments.threads.split(",")]
    result = {"command": command_of(arguments), "machine": cpu_model()}
    result |= {"version": tensorpress.__version__, "rows": []}
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, spawn.Pool(1, maxtasksperchild=1) as processes:
        stream = pathlib.Path(folder) / "packed.tpz"
        for each in itertools.product(files_of(arguments.fields), bounds, EFFORTS, threads):
            case = Case(*each, stream)
            row = processes.apply(compress, [case]) | processes.apply(decompress, [case])
            result["rows"].append(row)
            told = [f"{way} {a_thread(row, way):.1f}" for way in WAYS]
            print(*each[1:], row["field"], *told, file=sys.stderr, flush=True)
    print(page(result))
    if arguments.output:
        text = json.dumps(result, indent=1) + "\n"
        arguments.output.with_suffix(".json").write_text(text, encoding="utf-8")
        arguments.output.with_suffix(".md").write_text(page(result), encoding="utf-8")


if __name__ == "__main__":
    main()
