"""Runs that are compared in pairs by seed: kept one file each, then summed up in a table.

An interrupted benchmark goes on where it was: `finished` runs nothing that is there already. The
difference of a setting from its base is the mean over the seeds of both, with the 95 % interval of
that mean by Student's t.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shlex
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from processor import cpu_name

from tensorpress.eval.comparison import interval

Run = dict[str, Any]


def finished(path: pathlib.Path, run: Callable[[], Run], same: Mapping[str, Any]) -> Run:
    """The run in the file; if it is not there, what `run` gives, with the settings `same` and the
    machine. A file of other settings ends the program, because rows are means of equal runs; what
    a file does not say is not compared."""
    found = kept(path, lambda: {**run(), **same, "machine": machine()})
    other = {key: found[key] for key in same if key in found and found[key] != same[key]}
    if other:
        wanted = {key: same[key] for key in other}
        raise SystemExit(f"{path} is of {other}, not of {wanted}; give another folder")
    return found


def kept(path: pathlib.Path, make: Callable[[], Run]) -> Run:
    """What is in the file; if it is not there, what `make` gives, which is written to it whole."""
    if not path.exists():
        found = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(found))
        os.replace(partial, path)
        print(found, flush=True)
    read: Run = json.loads(path.read_text())
    return read


def by_seed(runs: Iterable[Run], setting: str) -> dict[str, dict[int, Run]]:
    """Of each value of a setting, the runs by their seeds.

    >>> by_seed([{"plan": "off", "seed": 3}, {"plan": "max", "seed": 3}], "plan")["max"]
    {3: {'plan': 'max', 'seed': 3}}
    """
    found: dict[str, dict[int, Run]] = {}
    for run in runs:
        found.setdefault(run[setting], {})[run["seed"]] = run
    return found


def means(runs: Mapping[int, Run], base: Mapping[int, Run], keys: Sequence[str]) -> dict[str, Any]:
    """Of runs by their seeds: the mean of each key, and the difference from the base where that has
    the same seeds (none from itself)."""
    row: dict[str, Any] = {"seeds": sorted(runs)}
    for key in keys:
        row[key] = statistics.fmean(run[key] for run in runs.values())
        pairs = [run[key] - base[seed][key] for seed, run in runs.items() if seed in base]
        if pairs and runs is not base:
            row[f"{key}_difference"] = interval(pairs)
    return row


def difference(found: Mapping[str, float | None] | None, digits: int) -> str:
    """`+0.12 ± 0.34`, nothing where there is none."""
    if found is None:
        return ""
    half = found["half_width"]
    return f"{found['mean']:+.{digits}f}" + ("" if half is None else f" ± {half:.{digits}f}")


def machine() -> dict[str, Any]:
    """What times depend on, and peaks too: libraries lay out copies by the CPU's vectors."""
    isa = torch.backends.cpu.get_cpu_capability()
    return {
        "cpu": cpu_name(),
        "isa": {"AVX512": "AVX-512"}.get(isa, isa),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
    }


def described(found: Mapping[str, Any] | None) -> str:
    """What `machine` gave, in words. Results that are older than it have parts of it, or none.

    >>> described({"cpu": "EPYC", "isa": "AVX2", "cores": 2, "torch": "2.13.0", "threads": 1})
    'EPYC, AVX2, 2 cores, torch 2.13.0, 1 thread'
    >>> described({"torch": "2.13.0", "threads": 2})
    'CPU not recorded, torch 2.13.0, 2 threads'
    >>> described(None)
    'machine not recorded'
    """
    if not found:
        return "machine not recorded"
    words = ["CPU not recorded"]
    if "cpu" in found:
        words = [found["cpu"], found["isa"], f"{found['cores']} cores"]
    threads = found["threads"]
    words += [f"torch {found['torch']}", f"{threads} thread" + ("s" if threads > 1 else "")]
    return ", ".join(words)


def machines(runs: Iterable[Run]) -> str:
    """Where they ran; with how many of the runs, if there were several machines."""
    counts = Counter(described(run.get("machine")) for run in runs)
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{where} ({count} of {counts.total()})" for where, count in counts.items())


def arguments(page: str) -> argparse.ArgumentParser:
    """Of a script whose docstring is `page`: where data, finished runs and the result are."""
    parser = argparse.ArgumentParser(description=page.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--runs", type=pathlib.Path, required=True, help="folder of finished runs")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--collect", action="store_true", help="run nothing, summarize RUNS")
    return parser


def command(options: argparse.Namespace) -> str:
    """The command line of this program, with names for the folders of this machine."""
    names = {
        value: key.upper()
        for key, value in vars(options).items()
        if isinstance(value, pathlib.Path)
    }
    script = pathlib.Path(sys.argv[0]).resolve()
    words = [names.get(pathlib.Path(word), word) for word in sys.argv[1:]]
    return shlex.join([f"{script.parent.name}/{script.name}", *words])


def write(output: pathlib.Path | None, result: Mapping[str, Any], text: str) -> None:
    """Prints the text; OUTPUT.json gets the result and OUTPUT.md the text."""
    print(text)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
        output.with_suffix(".md").write_text(text)
