"""What the plan behind the figures of model_steps.py does to a short training, in pairs by seed.

    .venv/bin/python bench/model_quality.py DATA --runs RUNS [MODEL...] [--output OUTPUT]

The networks of models/, in their full width, train for 60 to 200 steps: plain PyTorch, and the
emitted step with one plan. Runs of a seed share initialization and batches; dropout and rounding
draw numbers of their own. Then the network with the weights of either is tested without dropout:
its loss, and how many images, pixels, tokens or vertices it gets right. That few steps are a
beginning of a training and no more (docs/adr/0030); bench/model_accuracy.py goes further with one
small network.

Beside each stand the saved bytes and the peak of the same plan in bench/results/model_steps.json.
Each run leaves RUNS/<model>-<plan>-<seed>.json; what is there is not run again.
"""

from __future__ import annotations

import functools
import json
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from cifar_training import normalized as normalized_image
from compiled_steps import ROOT, begin_as_he_did, emitted
from graph_networks import labels_of, published, twenty_of_each_class
from model_steps import BATCHES, sizes
from paired_runs import (
    Run,
    arguments,
    by_seed,
    command,
    difference,
    finished,
    machines,
    means,
    write,
)
from torch import nn

import tensorpress
from tensorpress.eval.networks.shipped import TWINS, Batch
from tensorpress.eval.sources import cifar10, satellite

PLANS = ("plain", "max")
CLOUDS = 64  # pixels each way that UNet is trained with; its text says 256
KEYS = ("correct", "test_loss")
Optimizer = functools.partial[torch.optim.Optimizer]


@dataclass(frozen=True)
class Task:
    """Batches of a seed for training, and those that every run is tested with."""

    source: str
    train: Callable[[int], Iterator[Batch]]
    test: Sequence[Batch]
    steps: int
    optimizer: Optimizer
    batch: int

    @property
    def settings(self) -> dict[str, Any]:
        """What runs of a row must have in common."""
        chosen = {"optimizer": self.optimizer.func.__name__, **self.optimizer.keywords}
        return {"steps": self.steps, "batch": self.batch, **chosen}


def shuffled(
    seed: int, inputs: torch.Tensor, targets: torch.Tensor, batch: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    order = torch.Generator().manual_seed(1000 + seed)
    while True:
        for chosen in torch.randperm(len(inputs), generator=order).split(batch):
            if len(chosen) == batch:
                yield inputs[chosen], targets[chosen]


def sgd(rate: float) -> Optimizer:
    return functools.partial(torch.optim.SGD, lr=rate, momentum=0.9, nesterov=True)


def adam(rate: float) -> Optimizer:
    return functools.partial(torch.optim.Adam, lr=rate)


def images(data: pathlib.Path, steps: int, batch: int, optimizer: Optimizer) -> Task:
    found = cifar10.load(data)
    inputs = normalized_image(found.train_inputs)
    tested = zip(
        normalized_image(found.test_inputs[:2000]).split(100),
        found.test_targets[:2000].split(100),
        strict=True,
    )
    train = functools.partial(shuffled, inputs=inputs, targets=found.train_targets, batch=batch)
    return Task(found.source, train, list(tested), steps, optimizer, batch)


def clouds(data: pathlib.Path, steps: int, batch: int, rate: float) -> Task:
    found = satellite.load(data, CLOUDS)
    train = functools.partial(
        shuffled, inputs=found.train_inputs, targets=found.train_targets, batch=batch
    )
    tested = list(zip(found.test_inputs.split(1), found.test_targets.split(1), strict=True))
    return Task(found.source, train, tested, steps, adam(rate), batch)


def sentences(_: pathlib.Path, steps: int, batch: int, rate: float) -> Task:
    """The bytes of this tree's documentation; every eighth piece of 257 is for the test."""
    text = b"".join(path.read_bytes() for path in sorted(ROOT.glob("docs/**/*.md")))
    pieces = torch.frombuffer(bytearray(text), dtype=torch.uint8).long().unfold(0, 257, 257)
    tested = torch.arange(len(pieces)) % 8 == 7
    train = functools.partial(
        shuffled,
        inputs=pieces[~tested, :-1].contiguous(),
        targets=pieces[~tested, 1:].contiguous(),
        batch=batch,
    )
    test = [(each[:, :-1], each[:, 1:]) for each in pieces[tested].split(4)]
    return Task("the bytes of docs/**/*.md", train, test, steps, adam(rate), batch)


def citations(data: pathlib.Path, steps: int, rate: float) -> Task:
    """Cora with 20 labels of each class to learn from; its 1433 features are projected to 128."""
    matrix, features, labels = published(data / "graphs" / "cora.npz", "gcn")
    mixed = torch.Generator().manual_seed(0)
    features = features @ torch.randn(features.shape[1], 128, generator=mixed)
    chosen, rest = twenty_of_each_class(labels, mixed)
    known, asked = labels_of(chosen, labels), labels_of(rest, labels)

    def train(_: int) -> Iterator[Batch]:
        while True:
            yield matrix, features, known

    return Task("Cora", train, [(matrix, features, asked)], steps, adam(rate), len(labels))


# Training steps, batch and learning rate: what one core does in some minutes.
TASKS: dict[str, Callable[[pathlib.Path], Task]] = {
    "gcn": functools.partial(citations, steps=200, rate=0.01),
    "alexnet": functools.partial(images, steps=100, batch=25, optimizer=adam(3e-4)),
    "vgg11": functools.partial(images, steps=100, batch=25, optimizer=adam(3e-4)),
    "resnet18": functools.partial(images, steps=60, batch=25, optimizer=sgd(0.02)),
    "gpt2": functools.partial(sentences, steps=150, batch=2, rate=2e-3),
    "unet": functools.partial(clouds, steps=120, batch=8, rate=3e-4),
    "resnet34": functools.partial(images, steps=120, batch=16, optimizer=sgd(0.02)),
}


@torch.inference_mode()
def tested(name: str, model: nn.Module, batches: Sequence[Batch]) -> dict[str, float]:
    """Mean loss, and percent of the targets that are met."""
    model.eval()
    right = count = 0
    losses = []
    for *inputs, target in batches:
        outputs = model(*inputs)
        losses.append(TWINS[name].criterion(outputs, target).item())
        if target.is_floating_point():
            known = torch.ones_like(target, dtype=torch.bool)
            hits = (outputs > 0) == (target > 0.5)
        else:
            target = target.reshape(-1)
            known = target != -100
            hits = outputs.argmax(1) == target
        right += int(hits[known].sum())
        count += int(known.sum())
    return {"test_loss": sum(losses) / len(losses), "correct": 100 * right / count}


def network(name: str, seed: int) -> nn.Module:
    """As the twin begins, or as He did where it has no normalization layers."""
    torch.manual_seed(seed)
    model = TWINS[name].make()
    if not any(isinstance(layer, nn.BatchNorm2d | nn.LayerNorm) for layer in model.modules()):
        begin_as_he_did(model)
    return model


def step_of(name: str, plan: str, batch: Batch) -> Any:
    """For batches of this size."""
    text = (ROOT / "models" / f"{name}.tpm").read_text()
    if name == "unet":
        text = text.replace("256, 256]", f"{CLOUDS}, {CLOUDS}]")
    with tempfile.TemporaryDirectory() as directory:
        model = pathlib.Path(directory) / f"{name}.tpm"
        model.write_text(text)
        return emitted(model, "--plan", plan, *sizes(TWINS[name], batch)).Step()


def one_run(name: str, plan: str, seed: int, task: Task) -> Run:
    twin = TWINS[name]
    model = network(name, seed)
    step: Any = None
    if plan != "plain":
        step = step_of(name, plan, next(task.train(seed)))
        step.load_state_dict(model.state_dict())
    torch.manual_seed(2000 + seed)  # dropout and rounding
    optimizer = task.optimizer((step or model).parameters())
    began = time.perf_counter()
    batches = task.train(seed)
    for done in range(task.steps):
        for group in optimizer.param_groups:  # the first tenth rises, the rest falls
            rise = (done + 1) / (0.1 * task.steps)
            group["lr"] = optimizer.defaults["lr"] * min(rise, (task.steps - done) / task.steps, 1)
        optimizer.zero_grad()
        batch = next(batches)
        if step:
            step(*batch)
            step.backward()
        else:
            twin.loss(model, *batch).backward()
        optimizer.step()
    seconds = time.perf_counter() - began
    if step:
        model.load_state_dict(step.state_dict())
    return {
        "model": name,
        "plan": plan,
        "seed": seed,
        "source": task.source,
        "seconds": seconds,
        **tested(name, model, task.test),
    }


def measured_steps(name: str, plan: str) -> dict[str, float]:
    """Times fewer saved bytes and a lower peak than plain, from the results of model_steps.py."""
    results = json.loads((ROOT / "bench/results/model_steps.json").read_text())["models"]
    ways = results[f"{name} {BATCHES.get(name, 100)}"]["ways"]
    row = ways[f"{plan}+upd"]
    return {key: ways["plain"][f"{key}_bytes"] / row[f"{key}_bytes"] for key in ("saved", "peak")}


def summary(runs: Sequence[Run]) -> list[dict[str, Any]]:
    rows = []
    for name in dict.fromkeys(run["model"] for run in runs):
        by_plan = by_seed((run for run in runs if run["model"] == name), "plan")
        for plan, found in by_plan.items():
            first = next(iter(found.values()))
            row = {key: first[key] for key in ("model", "plan", "steps", "batch", "source")}
            row |= means(found, by_plan["plain"], KEYS)
            if plan != "plain":
                row |= measured_steps(name, plan)
            rows.append(row)
    return rows


def table(result: dict[str, Any]) -> str:
    lines = [
        "# What a plan does to a short training, paired by seed",
        "",
        f"`{result['command']}`; tensorpress {result['version']}; "
        f"{machines(result['runs'])}. Differences are the plan minus plain of the same "
        "seed, mean and 95 % interval. Saved bytes and peak are those of "
        "bench/results/model_steps.md, the update in the backward pass, times fewer than plain.",
        "",
        "| model | plan | saved bytes | peak | steps x batch | seeds | correct % | difference, "
        "points | test loss | difference |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        bytes_cells = f"{row['saved']:.1f} | {row['peak']:.2f}" if "saved" in row else "1 | 1"
        lines.append(
            f"| {row['model']} | {row['plan']} | {bytes_cells} | {row['steps']} x {row['batch']} "
            f"| {len(row['seeds'])} | {row['correct']:.2f} "
            f"| {difference(row.get('correct_difference'), 2)} | {row['test_loss']:.4f} "
            f"| {difference(row.get('test_loss_difference'), 4)} |"
        )
    sources = dict.fromkeys(row["source"] for row in result["rows"])
    return "\n".join([*lines, "", f"Data: {'; '.join(sources)}.", ""])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("models", nargs="*", choices=[*TASKS, []])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs = []
    for name in options.models or TASKS:
        task = TASKS[name](options.data)
        for seed in range(options.seeds):
            for plan in PLANS:
                path = options.runs / f"{name}-{plan}-{seed}.json"
                if options.collect and not path.exists():
                    continue
                make = functools.partial(one_run, name, plan, seed, task)
                runs.append(finished(path, make, task.settings))
    result = {
        "command": command(options),
        "version": tensorpress.__version__,
        "rows": summary(runs),
        "runs": runs,
    }
    write(options.output, result, table(result))


if __name__ == "__main__":
    main()
