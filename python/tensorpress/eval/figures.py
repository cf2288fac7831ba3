"""Learning curves and differences from the baseline, as in the paper's Figs. 7 to 9, as SVG."""

from __future__ import annotations

import importlib.util
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .comparison import percent_difference, ratio_of

Curves = Mapping[str, Sequence[float]]


def write_figures(
    folder: pathlib.Path,
    summary: Mapping[str, Any],
    results: Sequence[Mapping[str, Any]],
    say: Callable[[str], None],
) -> list[pathlib.Path]:
    """The files written: none, with a word about it, where matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        say(
            "no figures, because matplotlib is not installed: "
            "pip install '.[eval]' in a clone of tensorpress"
        )
        return []
    import matplotlib

    settings = {
        "svg.hashsalt": "tensorpress",  # the same picture is the same file
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "figure.figsize": (6.4, 3.8),
    }
    with matplotlib.rc_context(settings):
        losses, differences = _curves(results, summary["metric"])
        files = [
            _training_loss(folder / "training_loss.svg", summary, losses),
            _difference(folder / "difference.svg", summary, differences),
        ]
        if len(summary["seeds"]) > 1:
            files.append(_intervals(folder / "intervals.svg", summary))
    return files


def _curves(results: Sequence[Mapping[str, Any]], metric: str) -> tuple[Curves, Curves]:
    """By series, epoch by epoch, means over seeds: the training loss, and the percent difference
    of the metric from the baseline of the same seed."""
    base = {r["config"]["seed"]: r for r in results if r["config"]["series"] == "baseline"}
    losses, differences = {}, {}
    for name in dict.fromkeys(result["config"]["series"] for result in results):
        runs = [result for result in results if result["config"]["series"] == name]
        losses[name] = _means([[p["train_loss"] for p in run["curve"]] for run in runs])
        differences[name] = _means(
            [
                [
                    percent_difference(point[metric], of_base[metric])
                    for point, of_base in zip(run["curve"], base[seed]["curve"], strict=True)
                ]
                for run in runs
                if (seed := run["config"]["seed"]) in base
            ]
        )
    return losses, differences


def _means(curves: Sequence[Sequence[float]]) -> list[float]:
    return [sum(values) / len(values) for values in zip(*curves, strict=True)]


def _training_loss(path: pathlib.Path, summary: Mapping[str, Any], curves: Curves) -> pathlib.Path:
    figure, axes = _axes(summary, "training loss")
    for row in summary["rows"]:
        values = curves[row["series"]]
        _plot(axes, row, range(1, len(values) + 1), values)
    axes.set_xlabel("epoch")
    return _saved(figure, axes, path)


def _difference(path: pathlib.Path, summary: Mapping[str, Any], curves: Curves) -> pathlib.Path:
    metric = summary["metric"]
    better = "higher" if metric == "test_accuracy" else "lower"
    name = metric.replace("_", " ")
    figure, axes = _axes(summary, f"{name}, % from baseline ({better} is better)")
    axes.axhline(0, color="black", linewidth=1)
    for row in summary["rows"]:
        if row["series"] != "baseline":
            values = curves[row["series"]]
            _plot(axes, row, range(1, len(values) + 1), values)
    axes.set_xlabel("epoch")
    return _saved(figure, axes, path)


def _intervals(path: pathlib.Path, summary: Mapping[str, Any]) -> pathlib.Path:
    """The final differences with their 95 % intervals, over the ratio."""
    name = summary["metric"].replace("_", " ")
    figure, axes = _axes(summary, f"final {name}, % from baseline, 95 % interval")
    axes.axhline(0, color="black", linewidth=1)
    kinds: dict[str, list[Any]] = {}
    for row in summary["rows"]:
        if "percent_difference" in row and ratio_of(row):
            kinds.setdefault(row["label"].split()[0], []).append(row)
    for place, (kind, rows) in enumerate(kinds.items()):
        shift = 1 + 0.03 * place
        axes.errorbar(
            [ratio_of(row) * shift for row in rows],
            [row["percent_difference"]["mean"] for row in rows],
            [row["percent_difference"]["half_width"] or 0 for row in rows],
            marker="o",
            capsize=3,
            label=kind,
        )
    axes.set_xscale("log", base=2)
    axes.set_xlabel("compression ratio")
    return _saved(figure, axes, path)


def _axes(summary: Mapping[str, Any], label: str) -> tuple[Any, Any]:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots()
    seeds = len(summary["seeds"])
    of_seeds = f", mean of {seeds} seeds" if seeds > 1 else ""
    axes.set_title(f"{summary['benchmark']}, {summary['scale']}{of_seeds}")
    axes.set_ylabel(label)
    return figure, axes


def _plot(axes: Any, row: Mapping[str, Any], x: Any, y: Any) -> None:
    if row["series"] == "baseline":
        axes.plot(x, y, color="black", linewidth=2, label="base")
    else:
        dashed = row["label"].startswith("ZFP")
        axes.plot(x, y, "--" if dashed else "-", marker=".", label=row["label"])


def _saved(figure: Any, axes: Any, path: pathlib.Path) -> pathlib.Path:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path
