"""Emitted steps beside plain PyTorch: saved bytes, measured and predicted peaks, times, one run.

    ./dev build && .venv/bin/python bench/model_steps.py [MODEL...] [--batch N] [--repeat 5]

For every text of models/ its PyTorch twin trains one step with SGD and momentum, in these ways:

plain       autograd, then the optimizer's step
plain+upd   autograd, each weight updated when its gradient is there (PyTorch's own recipe)
checkpoint  torch.utils.checkpoint around every block, for networks that have blocks
off, ...    emitted code; the update stands in its backward pass ("+upd")

Peaks are what the profiler counted in one step, with weights, momentum and batch; "activations"
is the peak without batch, weights, momentum and plain's gradients of weights. Times are the best of
the repetitions, taken in turn; processor time with one thread. Writes
bench/results/model_steps.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Callable, Iterable
from typing import Any

import torch
from compiled_steps import ROOT, bytes_of, emitted, held_by_autograd, profile
from paired_runs import described, machine
from torch import nn
from torch.utils.checkpoint import checkpoint

from tensorpress.eval.networks.resnet import BasicBlock, Bottleneck
from tensorpress.eval.networks.shipped import TWINS, Twin
from tensorpress.eval.networks.transformers import GptLayer, VitLayer
from tensorpress.torch.peak_memory import measured_peak

BLOCKS = (BasicBlock, Bottleneck, GptLayer, VitLayer)
BATCHES = {"unet": 4, "encoder_decoder": 4, "autoencoder": 16, "gpt2": 4, "gcn": 20000}
BATCHES["graphsage"] = BATCHES["gcn"]
EMITTED = {
    "off": (),
    "off+upd": ("--optimizer", "sgd"),
    "balanced": ("--plan", "balanced"),
    "balanced+upd": ("--plan", "balanced", "--optimizer", "sgd"),
    "max+upd": ("--plan", "max", "--optimizer", "sgd"),
}
WAYS = ("plain", "plain+upd", "checkpoint", *EMITTED)
Step = Callable[..., None]


def sizes(twin: Twin, batch: tuple[torch.Tensor, ...]) -> list[str]:
    """Of graphs, vertices V and the entries E of their matrix."""
    if twin.open_dimension == "N":
        return ["--batch", str(batch[0].size(0))]
    entries = next(each.values().numel() for each in batch if each.layout == torch.sparse_csr)
    return ["--size", f"{twin.open_dimension}={batch[0].size(0)}", "--size", f"E={entries}"]


def checkpoint_blocks(model: nn.Module) -> bool:
    """Every block of the network runs again in the backward pass; whether it has any."""
    blocks = [module for module in model.modules() if isinstance(module, BLOCKS)]
    for block in blocks:
        inner = block.forward

        def again(*inputs: torch.Tensor, inner: Callable = inner) -> torch.Tensor:
            return checkpoint(inner, *inputs, use_reentrant=False)

        block.forward = again
    return bool(blocks)


def plain_step(model: nn.Module, twin: Twin) -> Step:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def step(*batch: torch.Tensor) -> None:
        optimizer.zero_grad()
        twin.loss(model, *batch).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def updating_step(model: nn.Module, twin: Twin) -> Step:
    optimizers = {p: torch.optim.SGD([p], lr=1e-4, momentum=0.9) for p in model.parameters()}

    def update(parameter: nn.Parameter) -> None:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(update)

    def step(*batch: torch.Tensor) -> None:
        twin.loss(model, *batch).backward()

    return step


def emitted_step(model: nn.Module, way: str) -> Step:
    optimizer = None
    if "+upd" not in way:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def step(*batch: torch.Tensor) -> None:
        model(*batch)
        model.backward()
        if optimizer:
            optimizer.step()
            optimizer.zero_grad()

    return step


def measure(name: str, batch_size: int, repeat: int) -> dict[str, dict[str, float]]:
    twin, rows = TWINS[name], {}
    torch.manual_seed(0)
    batch = tuple(twin.batch(batch_size))
    text = ROOT / "models" / f"{name}.tpm"
    size = sizes(twin, batch)
    steps: dict[str, Step] = {}
    for way in WAYS:
        torch.manual_seed(1)
        row: dict[str, float] = {}
        if way in EMITTED:
            options = EMITTED[way]
            model = emitted(text, *options, *size).Step(**({"lr": 1e-4} if "+upd" in way else {}))
            forecast = profile(text, *options, *size)
            row["predicted_peak"] = forecast["peak_bytes"]
            row["saved_bytes"] = forecast["saved_bytes"]
            steps[way] = emitted_step(model, way)
        else:
            model = twin.make()
            if way == "plain":
                row["saved_bytes"] = held_by_autograd(model, batch, twin.loss)
            if way == "checkpoint" and not checkpoint_blocks(model):
                continue
            make = updating_step if way == "plain+upd" else plain_step
            steps[way] = make(model, twin)
        state = sum(p.numel() * p.element_size() for p in model.parameters())
        steps[way](*batch)
        with measured_peak(model) as peaks:
            steps[way](*batch)
        row["step_bytes"] = peaks[0].activations_and_gradients
        row["peak_bytes"] = row["step_bytes"] + 2 * state + bytes_of(batch)
        gradients = 0 if "+upd" in way else state
        row["activation_bytes"] = row["step_bytes"] - gradients
        rows[way] = row
    # Other processes do not count where one thread does all.
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    for _ in range(repeat):
        for way, step in steps.items():
            started = clock()
            step(*batch)
            seconds = clock() - started
            rows[way]["seconds"] = min(rows[way].get("seconds", seconds), seconds)
    return rows


def table(result: dict[str, Any]) -> str:
    rows: dict[str, dict[str, float]] = result["ways"]
    plain = rows["plain"]
    updating = rows["plain+upd"]
    lines = [
        f"## {result['name']}, batch {result['batch']}",
        "",
        f"{described(result.get('machine'))}.",
        "",
        "| | saved MB | times fewer | peak MB | plain's | plain+upd's | activations, plain's | "
        "predicted MB | error | step s | times plain |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for way, row in rows.items():
        saved = row.get("saved_bytes")
        forecast = row.get("predicted_peak")
        cells = [
            f"{saved / 1e6:.1f} | {plain['saved_bytes'] / saved:.2f}" if saved else "|",
            f"{row['peak_bytes'] / 1e6:.1f}",
            f"{plain['peak_bytes'] / row['peak_bytes']:.2f}",
            f"{updating['peak_bytes'] / row['peak_bytes']:.2f}",
            f"{plain['activation_bytes'] / row['activation_bytes']:.2f}",
            f"{forecast / 1e6:.1f} | {forecast / row['peak_bytes'] - 1:+.1%}" if forecast else "|",
            f"{row['seconds']:.3f} | {row['seconds'] / plain['seconds']:.3f}",
        ]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def page(results: Iterable[dict[str, Any]]) -> str:
    head = [
        "# Emitted steps beside plain PyTorch",
        "",
        '`bench/model_steps.py`. Columns with "plain\'s" say how many times lower than plain. '
        "Peaks and times are measured; saved bytes of emitted steps are the compiler's prediction, "
        "those of plain are what autograd held.",
        "",
    ]
    return "\n".join([*head, *map(table, results)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", choices=[*TWINS, []])
    parser.add_argument("--batch", type=int, help="samples (100; 4 to 16 for large maps)")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "results")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    path = arguments.output / "model_steps.json"
    results: dict = json.loads(path.read_text()) if path.exists() else {"models": {}}
    for name in arguments.models or TWINS:
        batch = arguments.batch or BATCHES.get(name, 100)
        ways = measure(name, batch, arguments.repeat)
        # Results of several calls stand in one file: each names the machine that it is from.
        result = {"name": name, "batch": batch, "machine": machine(), "ways": ways}
        print(table(result), flush=True)
        results["models"][f"{name} {batch}"] = result
        arguments.output.mkdir(exist_ok=True, parents=True)
        path.write_text(json.dumps(results, indent=1) + "\n")
    path.with_suffix(".md").write_text(page(results["models"].values()))


if __name__ == "__main__":
    main()
