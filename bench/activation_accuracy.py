"""What compressed activations do to accuracy: every level, two networks, five seeds, in pairs.

    .venv/bin/python bench/activation_accuracy.py DATA --runs RUNS --output OUTPUT

DATA holds cifar10/train_10000.bin and cifar10/test_batch.bin. A run trains one small network on
10,000 images for 4 epochs (400 steps of 100, SGD with Nesterov momentum, a learning rate that rises
and falls, flips) and classifies the whole test set. Runs of one seed share initialization, order,
flips and dropout, so that levels are compared with `off` in pairs; rounding at random has numbers
of its own. Such short runs are noisy: a point between single runs means nothing, and the 95 %
interval of the mean difference (Student's t over the seeds) says what the five can tell.

Each run leaves RUNS/<network>-<level>-<seed>.json; what is there is not run again, and --only runs
one network and seed, for several processes with the same RUNS. Writes OUTPUT.json and OUTPUT.md.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import tensorpress
import tensorpress.torch
from tensorpress.eval.comparison import interval
from tensorpress.eval.networks import alexnet_small, resnet_small
from tensorpress.eval.sources import cifar10

LEVELS = ("off", "safe", "balanced", "max")
# The network and the highest learning rate.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], float]] = {
    "alexnet": (alexnet_small, 0.05),
    "resnet": (resnet_small, 0.2),
}
BATCH = 100
LAST_STEPS = 50  # whose mean training loss is reported: the same batches for every level


def normalized(pixels: torch.Tensor) -> torch.Tensor:
    return (pixels.float() / 255 - 0.4734) / 0.2516


def train(network: str, level: str, seed: int, epochs: int, data: Any) -> dict[str, Any]:
    make, peak = NETWORKS[network]
    torch.manual_seed(seed)
    model = make()
    order = torch.Generator().manual_seed(1000 + seed)
    steps = epochs * len(data.train_inputs) // BATCH
    optimizer = torch.optim.SGD(
        model.parameters(), lr=peak, momentum=0.9, nesterov=True, weight_decay=5e-4
    )
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (0.3 * steps), (steps - step) / (0.7 * steps))
    )
    losses = []
    began = time.perf_counter()
    with tensorpress.torch.compress_activations(model, level, seed=seed) as run:
        for _ in range(epochs):
            for chosen in torch.randperm(len(data.train_inputs), generator=order).split(BATCH):
                x = normalized(data.train_inputs[chosen])
                flip = torch.rand(len(x), generator=order) < 0.5
                x[flip] = x[flip].flip(-1)
                loss = nn.functional.cross_entropy(model(x), data.train_targets[chosen])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                rate.step()
                losses.append(loss.item())
    seconds = time.perf_counter() - began
    report = run.report()
    return {
        "network": network,
        "level": level,
        "seed": seed,
        "epochs": epochs,
        "accuracy": accuracy(model, data),
        "train_loss": statistics.fmean(losses[-LAST_STEPS:]),
        "saved_bytes": report.saved_bytes,
        "stored_bytes": report.stored_bytes,
        "seconds": seconds,
    }


def accuracy(model: nn.Module, data: Any) -> float:
    model.eval()
    with torch.inference_mode():
        found = [model(normalized(part)).argmax(1) for part in data.test_inputs.split(500)]
    return 100 * (torch.cat(found) == data.test_targets).double().mean().item()


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for network in NETWORKS:
        found = {(run["level"], run["seed"]): run for run in runs if run["network"] == network}
        for level in LEVELS:
            of_level = {seed: run for (each, seed), run in found.items() if each == level}
            if not of_level:
                continue
            row: dict[str, Any] = {
                "network": network,
                "level": level,
                "seeds": sorted(of_level),
                "ratio": statistics.fmean(
                    run["saved_bytes"] / run["stored_bytes"] for run in of_level.values()
                ),
            }
            for key in ("accuracy", "train_loss"):
                row[key] = statistics.fmean(run[key] for run in of_level.values())
                pairs = [
                    run[key] - found["off", seed][key]
                    for seed, run in of_level.items()
                    if level != "off" and ("off", seed) in found
                ]
                if pairs:
                    row[f"{key}_difference"] = interval(pairs)
            rows.append(row)
    return rows


def table(result: dict[str, Any]) -> str:
    lines = [
        "# Accuracy with compressed activations, paired by seed",
        "",
        f"`{result['command']}`; {result['data']}, {result['epochs']} epochs; tensorpress "
        f"{result['version']}, torch {result['torch']}, one thread. Measured here. Differences are "
        "level minus off of the same seed, mean and 95 % interval; loss is that of the last "
        f"{LAST_STEPS} training steps.",
        "",
        "| network | level | seeds | saved bytes, times fewer | accuracy % | difference, points "
        "| loss | difference |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['network']} | {row['level']} | {len(row['seeds'])} | {row['ratio']:.2f} "
            f"| {row['accuracy']:.2f} | {difference(row, 'accuracy', 2)} "
            f"| {row['train_loss']:.4f} | {difference(row, 'train_loss', 4)} |"
        )
    return "\n".join(lines) + "\n"


def difference(row: dict[str, Any], key: str, digits: int) -> str:
    found = row.get(f"{key}_difference")
    if found is None:
        return ""
    half = "" if found["half_width"] is None else f" ± {found['half_width']:.{digits}f}"
    return f"{found['mean']:+.{digits}f}{half}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--runs", type=pathlib.Path, required=True, help="folder of finished runs")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--collect", action="store_true", help="run nothing, summarize RUNS")
    parser.add_argument("--only", help="such as resnet-3: run this seed and write no output")
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.runs.mkdir(parents=True, exist_ok=True)
    data = cifar10.load(options.data)
    runs = []
    # Seed by seed, so that what is there after an interruption is paired.
    for seed in range(options.seeds):
        for network in NETWORKS:
            for level in LEVELS:
                if options.only not in (None, f"{network}-{seed}"):
                    continue
                path = options.runs / f"{network}-{level}-{seed}.json"
                if options.collect and not path.exists():
                    continue
                if not path.exists():
                    found = train(network, level, seed, options.epochs, data)
                    partial = path.with_suffix(".partial")
                    partial.write_text(json.dumps(found))
                    os.replace(partial, path)
                    print(found, flush=True)
                runs.append(json.loads(path.read_text()))
                if runs[-1]["epochs"] != options.epochs:
                    raise SystemExit(f"{path} is of other epochs; give another folder")
    runs.sort(key=lambda run: (run["network"], run["seed"], LEVELS.index(run["level"])))
    if options.only is not None:
        return
    result = {
        "command": f"bench/activation_accuracy.py DATA --runs RUNS --epochs {options.epochs}",
        "data": data.source,
        "epochs": options.epochs,
        "version": tensorpress.__version__,
        "torch": torch.__version__,
        "rows": summary(runs),
        "runs": runs,
    }
    print(table(result))
    if options.output:
        options.output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
        options.output.with_suffix(".md").write_text(table(result))


if __name__ == "__main__":
    main()
