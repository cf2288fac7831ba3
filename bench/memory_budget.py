"""PyTorch's own memory budget beside compressed activations: ResNet-18, peaks and times in one run,
in turn.

    ./dev build && .venv/bin/python bench/memory_budget.py [--width 64] [--batch 32] [--repeat 3]

torch._functorch.config.activation_memory_budget lets the partitioner of torch.compile recompute
instead of saving, from 1 (what it finds fastest) to 0 (everything is recomputed). It runs here with
the backend aot_eager_decomp_partition, so that partitioning is all that differs: every operation is
PyTorch's own. Peaks are what PyTorch's profiler counted in a step, beyond weights and optimizer;
times are the least of the repetitions. Writes memory_budget.{json,md}.
"""

from __future__ import annotations

import argparse
import copy
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import torch
import torch._functorch.config as partitioner
import torch.nn.functional as F
from activation_memory import RESULTS, Trainer

from tensorpress.torch.peak_memory import measured_peak

BUDGETS = (1.0, 0.5, 0.0)
OURS = ("safe", "balanced", "max")


class Compiled:
    """A copy of the network whose forward and backward are partitioned for a budget: the whole
    network as one graph, or every residual block as one of its own."""

    def __init__(self, trainer: Trainer, budget: float, blocks: bool, images: torch.Tensor) -> None:
        torch._dynamo.reset()
        self.model = copy.deepcopy(trainer.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9)
        parts = (
            [block for stage in self.model.stages for block in stage] if blocks else [self.model]
        )
        for part in parts:
            part.compile(backend="aot_eager_decomp_partition")
        with partitioner.patch(activation_memory_budget=budget):
            self.model(images).sum().backward()  # what is compiled here is used again

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        F.cross_entropy(self.model(images), labels).backward()
        self.optimizer.step()


def measure(width: int, batch: int, repeat: int) -> list[dict[str, Any]]:
    trainer = Trainer(width)
    images, labels = trainer.batch(batch)
    rows: list[dict[str, Any]] = []

    def add(way: str, step: Callable[[], None], owner: Trainer | Compiled) -> None:
        ways = {
            "plain": (lambda: trainer.step("plain", images, labels), trainer),
            "way": (step, owner),
        }
        rows.append({"way": way, **_in_turn(ways, repeat)})
        print(rows[-1], flush=True)

    for name in ("checkpoint", *OURS):
        add(name, lambda name=name: trainer.step(name, images, labels), trainer)
    # A reset forgets what was compiled before, so each budget has its turn beside a plain step.
    for blocks, what in ((False, "the network"), (True, "each block")):
        for budget in BUDGETS:
            run = Compiled(trainer, budget, blocks, images)
            add(
                f"torch.compile of {what}, budget {budget:g}",
                lambda run=run: run.step(images, labels),
                run,
            )
    return rows


def _in_turn(
    ways: dict[str, tuple[Callable[[], None], Trainer | Compiled]], repeat: int
) -> dict[str, float]:
    """Of "way", beside "plain"."""
    peaks, seconds = {}, {}
    for name, (step, owner) in ways.items():
        step()
        owner.optimizer.zero_grad()  # so that the step's own gradients count
        with measured_peak(owner.model) as found:
            step()
        peaks[name] = found[0].activations_and_gradients
    for _ in range(repeat):
        for name, (step, _owner) in ways.items():
            began = time.process_time()
            step()
            taken = time.process_time() - began
            seconds[name] = min(seconds.get(name, taken), taken)
    return {
        "peak_step_bytes": peaks["way"],
        "times_lower": peaks["plain"] / peaks["way"],
        "cpu_seconds": seconds["way"],
        "times_plain": seconds["way"] / seconds["plain"],
    }


def table(width: int, batch: int, rows: list[dict[str, Any]]) -> str:
    lines = [
        "# PyTorch's memory budget beside compressed activations",
        "",
        f"`bench/memory_budget.py --width {width} --batch {batch}`, ResNet-18 (CIFAR form), "
        f"torch {torch.__version__}, "
        f"{torch.get_num_threads()} thread. Against a plain step in turn with each; CPU time.",
        "",
        "| | peak of a step MB | times lower | time of a step, times plain |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {row['way']} | {row['peak_step_bytes'] / 1e6:.1f} | {row['times_lower']:.2f} | "
        f"{row['times_plain']:.2f} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=64, help="channels of the first stage")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path, default=RESULTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = measure(options.width, options.batch, options.repeat)
    found = {
        "width": options.width,
        "batch": options.batch,
        "torch": torch.__version__,
        "threads": 1,
        "rows": rows,
    }
    (options.output / "memory_budget.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.output / "memory_budget.md").write_text(table(options.width, options.batch, rows))
    print(table(options.width, options.batch, rows))


if __name__ == "__main__":
    main()
