"""All runs of one command, and what is written about them."""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from .activations import activation_series
from .benchmark import Benchmark, Scale
from .benchmarks import BENCHMARKS
from .comparison import compare
from .figures import write_figures
from .page import table, write_page
from .series import BASELINE, Series, all_series
from .start import Start
from .training import Run, write_atomically

OF_DATA = (
    "Training and test inputs go through the compressor, targets do not; the network sees "
    "decompressed data."
)
OF_ACTIVATIONS = (
    "What autograd saves for the backward pass is stored as the series says, in training only; the "
    "ratio is that of the last step."
)


def evaluate(options: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    """Runs what is not done yet and writes JSON, SVG and HTML into the folder."""
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    benchmark = BENCHMARKS[options.benchmark]
    scale = benchmark.scales[options.scale]
    if options.epochs is not None:
        scale = replace(scale, epochs=options.epochs)
    codecs = _codecs(options, benchmark)
    series = [
        *all_series(codecs, options.cf, options.layout, benchmark.serialize),
        *activation_series(options.activations),
    ]
    start = _start(options, benchmark)
    data = benchmark.load(options.data, scale)
    folder = options.out or pathlib.Path(f"eval-{benchmark.name}-{options.scale}")
    folder.mkdir(parents=True, exist_ok=True)
    say(f"{benchmark.name}, {options.scale}: {benchmark.summary}")
    network = scale.describe()["network"]
    say(f"network: {network}, {scale.epochs} epochs in batches of {scale.batch}")
    count = len(data.train_inputs)
    say(f"data: {data.source}; {count} samples to train, {len(data.test_inputs)} to test")
    if count < scale.train:
        say(f"the scale {options.scale} would take {scale.train} samples to train; these are fewer")
    runs = [
        Run(benchmark, options.scale, scale, each, seed, data, folder, options.workers, start)
        for seed in options.seeds
        for each in series
    ]
    results = _finished(runs, say) if options.report else _run_all(runs, say)
    summary = summarize(benchmark, options.scale, scale, series, results)
    write_atomically(folder / "summary.json", json.dumps(summary, indent=1).encode() + b"\n")
    figures = write_figures(folder, summary, results, say)
    write_page(folder / "report.html", summary, figures)
    write_atomically(folder / "table.md", table(summary).encode() + b"\n")
    say(table(summary))
    names = ["summary.json", "table.md", "report.html", *(figure.name for figure in figures)]
    say(f"written: {folder}/{', '.join(names)}")
    return summary


def _codecs(options: argparse.Namespace, benchmark: Benchmark) -> list[str]:
    """Of the data: DCT+Chop if nothing is asked for that could be compared instead."""
    if options.codec is None:
        return [] if options.activations or benchmark.tokens else ["dct-chop"]
    if benchmark.tokens:
        raise ValueError(
            f"the samples of {benchmark.name} are tokens, which no codec may change: compare "
            "--activations instead of --codec"
        )
    return list(options.codec)


def _start(options: argparse.Namespace, benchmark: Benchmark) -> Start | None:
    if benchmark.begin is None:
        if options.start is not None:
            raise ValueError(f"{benchmark.name} begins from nothing and takes no --start")
        return None
    if options.start is None:
        raise ValueError(
            f"{benchmark.name} goes on with trained weights: give --start FILE (docs/evaluation.md "
            "says which)"
        )
    return Start.read(options.start)


def _finished(runs: list[Run], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """The results that are there, without training anything."""
    results = [result for run in runs if (result := run.finished()) is not None]
    if not any(result["config"]["series"] == "baseline" for result in results):
        raise ValueError(
            f"{runs[0].result_path.parent} holds no finished baseline to compare with; leave "
            "--report out to train it"
        )
    say(f"{len(results)} of {len(runs)} runs are finished")
    return results


def _run_all(runs: list[Run], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """With each line the time that is left, from the epochs that were run here."""
    results = []
    began, done = time.monotonic(), 0
    todo = sum(run.scale.epochs for run in runs if run.finished() is None)

    def progress(text: str) -> None:
        nonlocal done
        if ": epoch " not in text:
            say(text)
            return
        done += 1
        left = (time.monotonic() - began) / done * (todo - done)
        say(f"{text}; {_duration(left)} left of all runs")

    for run in runs:
        result = run.finished()
        if result is None:
            result = run.run(progress)
        else:
            say(f"{run.name}: done before")
        results.append(result)
    return results


def summarize(
    benchmark: Benchmark,
    scale_name: str,
    scale: Scale,
    series: list[Series],
    results: list[dict[str, Any]],
) -> dict[str, Any]:
    labels = {each.name: each.label for each in series}
    rows = compare(results, benchmark.metric)
    for row in rows:
        row["label"] = labels[row["series"]]
    config = results[0]["config"]
    return {
        "benchmark": benchmark.name,
        "summary": benchmark.summary,
        "scale": scale_name,
        "metric": benchmark.metric,
        "data": config["data"],
        "train_samples": config["train_samples"],
        "test_samples": config["test_samples"],
        "seeds": sorted({result["config"]["seed"] for result in results}),
        "configuration": scale.describe(),
        "note": " ".join(_notes(series)),
        "environment": results[0]["environment"],
        "rows": rows,
    }


def _notes(series: list[Series]) -> list[str]:
    compressed = [each for each in series if each != BASELINE]
    of_data = any(each.activations is None for each in compressed)
    of_activations = any(each.activations is not None for each in compressed)
    return [OF_DATA] * of_data + [OF_ACTIVATIONS] * of_activations


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
