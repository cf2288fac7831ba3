"""The planner beside one codec for everything, at the same saved bytes: error of the gradients.

    .venv/bin/python bench/planner_uniform.py DATA [--output OUTPUT] [--batches 16]

A network of unlike layers (convolutions with batch norm, a residual, attention with layer norms and
GELU, a classifier) is trained for a while on CIFAR-10 with exact gradients. Then uniform plans
store every activation that may be lossy with 4 or with 2 bits, `balanced` takes 8 bits instead of 4
where backward is not linear, and the planner gets the same bytes: `model plan --ratio`, without
statistics, with those of one batch or another, and with the mean of six. It never goes below 4
bits where backward is not linear, so that it cannot follow 2 bits everywhere; then its own smallest
plan is shown, and what it does where one bit is allowed. On other batches each step's gradients are
compared with the exact ones of the same weights:

error       |g' - g| / |g| over all parameters together
layer error the same for each parameter alone, then the mean over the parameters
projection  |1 - <g', g> / <g, g>|: how much shorter or longer the gradient is along itself
score       the least S of tensorpress.torch.scores over all parameters

Ratios are of the planner's value to the uniform one of the same batch, with the 95 % interval of
their geometric mean; below 1 the planner is better (for the score, 1 - S is compared).
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any

import torch
from cifar_training import normalized
from compiled_steps import (
    Rule,
    emitted,
    gradients,
    held_by_step,
    lossy_rules,
    plan_file,
    profile,
    run,
)
from paired_runs import command, described, machine, write
from torch import nn

import tensorpress.torch
from tensorpress.eval.comparison import interval
from tensorpress.eval.sources import cifar10
from tensorpress.torch.scores import LEVELS as LEVELS_OF_BITS
from tensorpress.torch.scores import ONE_BIT, least_score

TEXT = """\
model unlike
input x: f32[N, 3, 32, 32]
target labels: i64[N]

block unit(x, channels, stride = 1)
  h = conv: conv2d(x, channels, kernel = 3, stride = stride, padding = 1, bias = false)
  return relu(bn: batch_norm(h))
end

h = stem: unit(x, 16)
h = down1: unit(h, 32, 2)
h = h + (inner: unit(h, 32))
h = down2: unit(h, 64, 2)
h = transpose(reshape(h, [0, 64, 64]), 1, 2)
a = norm1: layer_norm(h)
a = attention(q: linear(a, 64), k: linear(a, 64), v: linear(a, 64), heads = 4)
h = h + (out: linear(a, 64))
m = gelu(up: linear(norm2: layer_norm(h), 128))
h = h + (down: linear(m, 64))
h = head: linear(mean(h, [1]), 10)
loss cross_entropy(h, labels)
"""
LEVELS = ("balanced",)
UNIFORM: dict[str, Rule] = {
    "4 bits": {"codec": "quantize", "bits": 4},
    "2 bits": {"codec": "quantize", "bits": 2, "rounding": "stochastic"},
    "2 bits nearest": {"codec": "quantize", "bits": 2},
}
BATCH = 50
# Statistics come from these batches; 1 and the following are compared. One batch is a noisy judge.
MEASURED: dict[str, Sequence[int]] = {
    "no batch": (),
    "the first batch": (0,),
    "another batch": (199,),
    "six batches": range(194, 200),
}
SIZE = ("--batch", str(BATCH))
MEASURES = ("error", "layer_error", "projection", "loss_of_score")


def trained(text: pathlib.Path, steps: int, data: Any) -> nn.Module:
    torch.manual_seed(0)
    step: nn.Module = emitted(text, "--plan", "lossless", *SIZE).Step()
    optimizer = torch.optim.SGD(step.parameters(), lr=0.05, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        step(*batch(data, int(torch.randint(len(data.train_inputs) // BATCH, ()))))
        step.backward()
        optimizer.step()
    return step


def batch(data: Any, place: int) -> tuple[torch.Tensor, torch.Tensor]:
    chosen = slice(place * BATCH, (place + 1) * BATCH)
    return normalized(data.train_inputs[chosen]), data.train_targets[chosen]


def plans(folder: pathlib.Path, text: pathlib.Path, step: nn.Module, data: Any) -> dict[str, Any]:
    """A plan file by name. The planner's have as many bytes as the uniform one, or fewer."""
    scored = emitted(text, "--plan", "balanced", *SIZE).Step()
    scored.load_state_dict(step.state_dict())
    measured = {}
    for source, places in MEASURED.items():
        if places:
            path = folder / f"statistics of {source}.json"
            found = tensorpress.torch.measure_activations(
                scored, (batch(data, place) for place in places), levels=[*LEVELS_OF_BITS, ONE_BIT]
            )
            path.write_text(json.dumps(found))
            measured[source] = path
    lossy = lossy_rules(profile(text, "--plan", "balanced", *SIZE))
    files: dict[str, Any] = {}
    for name in (*UNIFORM, *LEVELS):
        uniform: Any = name
        if name in UNIFORM:
            rules = dict.fromkeys(lossy, UNIFORM[name])
            uniform = plan_file(folder, name.replace(" ", "-"), rules, "balanced")
        files[name] = uniform
        forecast = profile(text, "--plan", str(uniform), *SIZE)
        ratio = forecast["plain_saved_bytes"] / forecast["saved_bytes"]
        if name.endswith("nearest"):
            continue
        for source in MEASURED:
            path = folder / f"planned with {source} for {name}.json"
            given = ("--statistics", measured[source]) if source in measured else ()
            write_plan(text, ratio, path, *given)
            files[f"planner, {source} measured, for {name}"] = path
        if name == "2 bits":
            path = folder / "planned with one bit.json"
            given = ("--statistics", measured["six batches"], "--fewest-bits", "1")
            write_plan(text, ratio, path, *given)
            files[f"planner, six batches measured, one bit allowed, for {name}"] = path
    return files


def write_plan(
    text: pathlib.Path, ratio: float, path: pathlib.Path, *options: str | pathlib.Path
) -> None:
    """With the ratio, or the largest that the planner says it can reach."""
    try:
        run("model", "plan", text, "--ratio", ratio, *options, "-o", path, *SIZE)
    except subprocess.CalledProcessError as error:
        largest = re.search(r"ratio of saved bytes found is ([0-9.]+),", error.stderr)
        if largest is None:
            raise
        less = 0.999 * float(largest[1])  # it is printed with four digits, perhaps rounded up
        run("model", "plan", text, "--ratio", less, *options, "-o", path, *SIZE)


def compare(exact: dict[str, torch.Tensor], lossy: dict[str, torch.Tensor]) -> dict[str, float]:
    apart = {name: lossy[name].double() - each.double() for name, each in exact.items()}
    length = sum(float(each.double().square().sum()) for each in exact.values())
    along = sum(float((apart[name] * each.double()).sum()) for name, each in exact.items())
    largest = max(float(each.abs().max()) for each in exact.values())
    layers = [  # not of biases whose gradients are rounding errors alone
        float(apart[name].norm() / each.double().norm())
        for name, each in exact.items()
        if float(each.abs().max()) > 1e-6 * largest
    ]
    return {
        "error": math.sqrt(sum(float(each.square().sum()) for each in apart.values()) / length),
        "layer_error": statistics.fmean(layers),
        "projection": abs(along / length),
        "loss_of_score": 1 - least_score(exact, lossy),
    }


def measure(
    text: pathlib.Path, files: dict[str, Any], step: nn.Module, data: Any, batches: int
) -> list[dict[str, Any]]:
    rows = []
    steps = {name: emitted(text, "--plan", str(path), *SIZE).Step() for name, path in files.items()}
    for each in steps.values():
        each.load_state_dict(step.state_dict())
    values: dict[str, list[dict[str, float]]] = {name: [] for name in files}
    for place in range(1, batches + 1):
        given = batch(data, place)
        exact = gradients(step, given, seed=place)
        for name, each in steps.items():
            values[name].append(compare(exact, gradients(each, given, seed=place)))
    for name, each in steps.items():
        forecast = profile(text, "--plan", str(files[name]), *SIZE)
        row: dict[str, Any] = {
            "plan": name,
            "saved_bytes": held_by_step(each, batch(data, 0)),
            "ratio": forecast["plain_saved_bytes"] / forecast["saved_bytes"],
            "rules": lossy_rules(forecast),
            "values": values[name],
        }
        uniform = name.rpartition("for ")[2]
        for key in MEASURES:
            row[key] = statistics.fmean(value[key] for value in values[name])
            if uniform != name:
                logs = [
                    math.log(value[key] / other[key])
                    for value, other in zip(values[name], values[uniform], strict=True)
                    if value[key] > 0 and other[key] > 0
                ]
                row[f"{key}_times"] = interval(logs)
        rows.append(row)
    return rows


def times(found: dict[str, float] | None) -> str:
    if found is None:
        return ""
    low, high = (math.exp(found["mean"] + sign * (found["half_width"] or 0)) for sign in (-1, 1))
    return f" ({math.exp(found['mean']):.2f} x, {low:.2f} to {high:.2f})"


def table(result: dict[str, Any]) -> str:
    lines = [
        "# The planner beside one codec for everything, at equal saved bytes",
        "",
        f"`{result['command']}`; {result['data']}; {result['trained_steps']} steps trained, then "
        f"{result['batches']} batches of {BATCH}; tensorpress {result['version']}; "
        f"{described(result['machine'])}. In brackets: times the uniform plan's value of the "
        "same batch, geometric mean and 95 % interval; below 1 the planner is better.",
        "",
        "| plan | saved bytes | times fewer | error | mean of layers' errors "
        "| wrong length along g | 1 - lowest score |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        cells = [f"{row[key]:.4f}{times(row.get(f'{key}_times'))}" for key in MEASURES]
        lines.append(
            f"| {row['plan']} | {row['saved_bytes']} | {row['ratio']:.2f} | "
            + " | ".join(cells)
            + " |"
        )
    lines += ["", "What the planner chose:", ""]
    for row in result["rows"]:
        if row["plan"].startswith("planner"):
            chosen = ", ".join(
                f"{name} {rule.get('bits', rule.get('to'))}" for name, rule in row["rules"].items()
            )
            lines.append(f"- {row['plan']}: {chosen}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--batches", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60, help="to train before measuring")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = cifar10.load(options.data)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = folder / "unlike.tpm"
        text.write_text(TEXT)
        step = trained(text, options.steps, data)
        files = plans(folder, text, step, data)
        rows = measure(text, files, step, data, options.batches)
    result = {
        "command": command(options),
        "data": data.source,
        "trained_steps": options.steps,
        "batches": options.batches,
        "version": tensorpress.__version__,
        "machine": machine(),
        "rows": rows,
    }
    write(options.output, result, table(result))


if __name__ == "__main__":
    main()
