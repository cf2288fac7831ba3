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

import functools
import statistics
from collections.abc import Callable
from typing import Any

import torch
from cifar_training import LAST_STEPS, accuracy, train
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

import tensorpress.torch
from tensorpress.eval.networks import alexnet_small, resnet_small
from tensorpress.eval.sources import cifar10

LEVELS = ("off", "safe", "balanced", "max")
# The network and the highest learning rate.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], float]] = {
    "alexnet": (alexnet_small, 0.05),
    "resnet": (resnet_small, 0.2),
}


def one_run(network: str, level: str, seed: int, epochs: int, data: Any) -> Run:
    make, peak = NETWORKS[network]
    torch.manual_seed(seed)
    model = make()

    def gradients(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        return loss

    with tensorpress.torch.compress_activations(model, level, seed=seed) as compressed:
        found = train(model, gradients, data, seed=seed, epochs=epochs, peak=peak)
    report = compressed.report()
    return {
        "network": network,
        "level": level,
        "seed": seed,
        "accuracy": accuracy(model, data),
        "train_loss": statistics.fmean(found["losses"][-LAST_STEPS:]),
        "saved_bytes": report.saved_bytes,
        "stored_bytes": report.stored_bytes,
        "seconds": found["seconds"],
    }


def summary(runs: list[Run]) -> list[dict[str, Any]]:
    rows = []
    for network in NETWORKS:
        by_level = by_seed((run for run in runs if run["network"] == network), "level")
        for level, of_level in by_level.items():
            compared = means(of_level, by_level.get("off", {}), ("accuracy", "train_loss"))
            ratio = statistics.fmean(
                run["saved_bytes"] / run["stored_bytes"] for run in of_level.values()
            )
            rows.append({"network": network, "level": level, "ratio": ratio, **compared})
    return rows


def table(result: dict[str, Any]) -> str:
    lines = [
        "# Accuracy with compressed activations, paired by seed",
        "",
        f"`{result['command']}`; {result['data']}, {result['epochs']} epochs; tensorpress "
        f"{result['version']}; {machines(result['runs'])}. Differences are level minus off "
        "of the same seed, mean and 95 % interval; loss is that of the last "
        f"{LAST_STEPS} training steps.",
        "",
        "| network | level | seeds | saved bytes, times fewer | accuracy % | difference, points "
        "| loss | difference |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['network']} | {row['level']} | {len(row['seeds'])} | {row['ratio']:.2f} "
            f"| {row['accuracy']:.2f} | {difference(row.get('accuracy_difference'), 2)} "
            f"| {row['train_loss']:.4f} | {difference(row.get('train_loss_difference'), 4)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", help="such as resnet-3: run this seed and write no output")
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
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
                make = functools.partial(one_run, network, level, seed, options.epochs, data)
                runs.append(finished(path, make, {"epochs": options.epochs}))
    runs.sort(key=lambda run: (run["network"], run["seed"], LEVELS.index(run["level"])))
    if options.only is not None:
        return
    result = {
        "command": command(options),
        "data": data.source,
        "epochs": options.epochs,
        "version": tensorpress.__version__,
        "rows": summary(runs),
        "runs": runs,
    }
    write(options.output, result, table(result))


if __name__ == "__main__":
    main()
