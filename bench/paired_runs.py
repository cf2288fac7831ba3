"""Runs that are compared in pairs by seed: kept one file each, then summed up in a table.

An interrupted benchmark goes on where it was: `finished` runs nothing that is there already. The
difference of a setting from its base is the mean over the seeds of both, with the 95 % interval of
that mean by Student's t.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

import tensorpress
from tensorpress.eval.comparison import interval

Run = dict[str, Any]


def finished(path: pathlib.Path, run: Callable[[], Run]) -> Run:
    """What is in the file; if it is not there, what `run` gives, which is written to it whole."""
    if not path.exists():
        found = run()
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(found))
        os.replace(partial, path)
        print(found, flush=True)
    read: Run = json.loads(path.read_text())
    return read


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


def versions() -> dict[str, str]:
    return {"version": tensorpress.__version__, "torch": torch.__version__}


def write(output: pathlib.Path | None, result: Mapping[str, Any], text: str) -> None:
    """Prints the text; OUTPUT.json gets the result and OUTPUT.md the text."""
    print(text)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
        output.with_suffix(".md").write_text(text)
