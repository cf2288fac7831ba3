"""Series against the baseline: paired by seed, with the interval of the mean difference."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any


def percent_difference(value: float, base: float) -> float:
    """As in the paper's Figs. 8, 9 and 16."""
    return 100 * (value - base) / base


def compare(runs: Sequence[Mapping[str, Any]], metric: str) -> list[dict[str, Any]]:
    """A row for each series in the order of the runs: means over its seeds, the difference from
    the baseline of the same seed, and whether both learned the same weights to the bit."""
    by_series: dict[str, dict[int, Mapping[str, Any]]] = {}
    for run in runs:
        config = run["config"]
        by_series.setdefault(config["series"], {})[config["seed"]] = run
    base = by_series.get("baseline", {})
    rows = []
    for name, seeds in by_series.items():
        values = [run["final"][metric] for run in seeds.values()]
        first = next(iter(seeds.values()))
        measured = first["loader"] or first.get("saved")
        row = {
            "series": name,
            "ratio": first["config"]["ratio"],
            "measured_ratio": None if measured is None else measured["ratio"],
            "seeds": len(values),
            metric: statistics.fmean(values),
            "train_loss": statistics.fmean(run["final"]["train_loss"] for run in seeds.values()),
        }
        pairs = [
            (run["final"][metric], base[seed]["final"][metric])
            for seed, run in seeds.items()
            if seed in base
        ]
        if name != "baseline" and pairs:
            row["difference"] = interval([value - of_base for value, of_base in pairs])
            digests = [
                (run.get("weights_sha256"), base[seed].get("weights_sha256"))
                for seed, run in seeds.items()
                if seed in base
            ]
            row["same_weights"] = all(own == of_base is not None for own, of_base in digests)
            percents = [percent_difference(value, of_base) for value, of_base in pairs]
            row["percent_difference"] = interval(percents)
        rows.append(row)
    return rows


def ratio_of(row: Mapping[str, Any]) -> float | None:
    """What was asked for, or else what came out."""
    ratio: float | None = row["ratio"] if row["ratio"] is not None else row["measured_ratio"]
    return ratio


def interval(values: Sequence[float]) -> dict[str, float | None]:
    """The mean, and half the width of its 95 % interval by Student's t; one value has none."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return {"mean": mean, "half_width": None}
    error = statistics.stdev(values) / math.sqrt(len(values))
    return {"mean": mean, "half_width": t_quantile(len(values) - 1) * error}


def t_quantile(freedom: int, probability: float = 0.975) -> float:
    """The quantile of Student's t distribution, by bisection of its integral."""
    low, high = 0.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        if 0.5 + _t_integral(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _t_integral(end: float, freedom: int, parts: int = 400) -> float:
    """From 0 to end, by Simpson's rule in the angle x = sqrt(n) tan(a), where the density is a
    constant times cos(a) to the power n - 1."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    angle = math.atan(end / math.sqrt(freedom))
    step = angle / parts
    total = 0.0
    for i in range(parts + 1):
        weight = 1 if i in (0, parts) else 4 if i % 2 else 2
        total += weight * math.cos(i * step) ** (freedom - 1)
    return scale * total * step / 3
