"""Compressed activations on ResNet-18: bytes, peaks and times, all in one run, in turn.

    ./dev build && .venv/bin/python bench/activation_memory.py [--batches 32 100] [--repeat 5]

Plain PyTorch, torch.utils.checkpoint around every block, and the levels of compress_activations
train the same network (CIFAR form, width 64) with SGD and momentum. Saved bytes are what autograd
holds between forward and backward; peaks are what PyTorch's profiler counted in one step, with and
without weights and optimizer; times are the best of the repetitions, of the wall clock and of the
CPU, which other programs disturb less. The largest batch that fits a limit is found by measuring
peaks: they grow linearly, so two batches give the line and a third checks it. Writes
bench/results/activation_memory.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from paired_runs import described, machine
from torch.utils.checkpoint import checkpoint

from tensorpress.eval.networks import ResNet, resnet18
from tensorpress.torch import CompressedActivations, compress_activations
from tensorpress.torch.peak_memory import measured_peak

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
LEVELS = ("safe", "balanced", "max")
WAYS = ("plain", "checkpoint", *LEVELS)


def checkpointed(model: ResNet, images: torch.Tensor) -> torch.Tensor:
    hidden = model.stem(images)
    for stage in model.stages:
        for block in stage:
            hidden = checkpoint(block, hidden, use_reentrant=False)
    return model.head(model.pool(hidden).flatten(1))


class Trainer:
    """Steps in each of the ways, of one network with one optimizer."""

    def __init__(self, width: int, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.model = resnet18(width=width)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9)
        self.runs: dict[str, CompressedActivations] = {
            level: compress_activations(self.model, level) for level in ("off", *LEVELS)
        }

    def batch(self, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(size, 3, 32, 32), torch.randint(0, 10, (size,))

    def step(self, way: str, images: torch.Tensor, labels: torch.Tensor) -> None:
        forward: Callable[[torch.Tensor], torch.Tensor] = self.model
        self.optimizer.zero_grad()
        if way == "checkpoint":
            loss = F.cross_entropy(checkpointed(self.model, images), labels)
        elif way in self.runs:
            with self.runs[way]:
                loss = F.cross_entropy(forward(images), labels)
        else:
            loss = F.cross_entropy(forward(images), labels)
        loss.backward()
        self.optimizer.step()

    def peak(self, way: str, size: int) -> dict[str, int]:
        images, labels = self.batch(size)
        self.optimizer.zero_grad()
        with measured_peak(self.model) as peaks:
            self.step(way, images, labels)
        step, total = peaks[0].activations_and_gradients, peaks[0].allocated
        return {"peak_step_bytes": step, "peak_bytes": total, "resident": peaks[0].resident or 0}


def measure(trainer: Trainer, size: int, repeat: int) -> dict[str, dict[str, float]]:
    images, labels = trainer.batch(size)
    rows: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    trainer.step("off", images, labels)
    saved = trainer.runs["off"].report().saved_bytes
    for way in WAYS:
        trainer.step(way, images, labels)
        rows[way].update(trainer.peak(way, size))
        stored = trainer.runs[way].report().stored_bytes if way in trainer.runs else None
        if way == "plain":
            stored = saved
        if stored:
            rows[way].update(saved_bytes=saved, stored_bytes=stored, ratio=saved / stored)
    for _ in range(repeat):
        for way in WAYS:
            wall, cpu = time.perf_counter(), time.process_time()
            trainer.step(way, images, labels)
            for name, seconds in (
                ("seconds", time.perf_counter() - wall),
                ("cpu_seconds", time.process_time() - cpu),
            ):
                rows[way][name] = min(rows[way].get(name, seconds), seconds)
    for way in WAYS:
        for name in ("seconds", "cpu_seconds"):
            rows[way][name + "_ratio"] = rows[way][name] / rows["plain"][name]
        for name in ("peak_step_bytes", "peak_bytes"):
            rows[way][name + "_ratio"] = rows["plain"][name] / rows[way][name]
    return rows


def largest_batch(trainer: Trainer, limit: int, sizes: tuple[int, int]) -> dict[str, dict]:
    """Of each way, by the line through two measured peaks; the batch found is then measured."""
    found = {}
    for way in ("plain", "checkpoint", "balanced", "max"):
        small, large = (trainer.peak(way, size)["peak_bytes"] for size in sizes)
        slope = (large - small) / (sizes[1] - sizes[0])
        size = int(sizes[0] + (limit - small) / slope)
        while (peak := trainer.peak(way, size)["peak_bytes"]) > limit:
            size -= max(1, size // 100)
        found[way] = {"batch": size, "peak_bytes": peak}
    return found


def table(results: dict) -> str:
    lines = [
        "# Activations of ResNet-18 between forward and backward",
        "",
        f"`bench/activation_memory.py`; {described(results['machine'])}. "
        "Ratios are against plain PyTorch in the same run.",
    ]
    for size, rows in results["batches"].items():
        lines += [
            "",
            f"Batch {size}, width {results['width']}:",
            "",
            "| | saved MB | times fewer | peak of the step MB | times lower | peak with weights "
            "and optimizer MB | times lower | step s | times plain | CPU time, times plain |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        for way, row in rows.items():
            stored = row.get("stored_bytes")
            saved = f"{stored / 1e6:.1f} | {row['ratio']:.2f}" if stored else "- | -"
            lines.append(
                f"| {way} | {saved} | {row['peak_step_bytes'] / 1e6:.1f} | "
                f"{row['peak_step_bytes_ratio']:.2f} | {row['peak_bytes'] / 1e6:.1f} | "
                f"{row['peak_bytes_ratio']:.2f} | {row['seconds']:.3f} | "
                f"{row['seconds_ratio']:.3f} | {row['cpu_seconds_ratio']:.3f} |"
            )
    if results.get("largest_batch"):
        lines += [
            "",
            f"Largest batch whose peak (weights and optimizer included) is at most "
            f"{results['limit'] / 1e6:.0f} MB:",
            "",
            "| " + " | ".join(results["largest_batch"]) + " |",
            "|" + "---|" * len(results["largest_batch"]),
            "| "
            + " | ".join(str(row["batch"]) for row in results["largest_batch"].values())
            + " |",
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 100])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--limit", type=float, default=400, help="MB for the largest batch; 0: not")
    parser.add_argument("--output", type=pathlib.Path, default=RESULTS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    trainer = Trainer(arguments.width)
    results: dict = {
        "machine": machine(),
        "width": arguments.width,
        "batches": {},
    }
    for size in arguments.batches:
        results["batches"][size] = measure(trainer, size, arguments.repeat)
        print(table({**results, "batches": {size: results["batches"][size]}}))
    if arguments.limit:
        results["limit"] = int(arguments.limit * 1e6)
        results["largest_batch"] = largest_batch(trainer, results["limit"], (16, 48))
    arguments.output.mkdir(exist_ok=True)
    (arguments.output / "activation_memory.json").write_text(json.dumps(results, indent=1) + "\n")
    (arguments.output / "activation_memory.md").write_text(table(results))
    print(table(results))


if __name__ == "__main__":
    main()
