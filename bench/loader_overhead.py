"""What compressed training data adds to an epoch of the quick classify benchmark.

    .venv/bin/python bench/loader_overhead.py [--data DATA] [--cf 4] [--epochs 1] [--output FILE]

Three loaders bring the same batches to the same network on one thread, in turn, batch by batch, so
that whatever else the machine does hits all of them: `plain` indexes tensors in memory (the least
that any loader can do), `worker` decompresses in the training process with the library's kernel,
`device` with the two matrix products. An epoch is the sum over its batches of fetching and step, in
CPU time of the process, which other programs disturb least. Nothing is hidden behind the steps
here: with num_workers the same work moves to another process.
"""

import argparse
import json
import pathlib
import time

import torch
from torch.utils.data import TensorDataset

import tensorpress
from tensorpress.eval.benchmarks.classify import CLASSIFY
from tensorpress.eval.series import PlainBatches
from tensorpress.torch import CompressedDataset, CompressedLoader


class Trainer:
    """One step of the quick scale."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.scale = CLASSIFY.scales["quick"]
        self.model = self.scale.make_network()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def step(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        inputs = CLASSIFY.prepare(inputs).contiguous(memory_format=self.scale.memory_format)
        loss = CLASSIFY.loss(self.model(inputs), targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def measure(arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    trainer = Trainer()
    scale = trainer.scale
    data = CLASSIFY.load(arguments.data, scale)
    inputs, targets = data.train_inputs, data.train_targets
    samples = CompressedDataset(TensorDataset(inputs, targets), "dct-chop", cf=arguments.cf)
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))
    times = {name: {"fetch": 0.0, "step": 0.0} for name in ("plain", "worker", "device")}
    for _ in range(arguments.epochs):
        loaders = {"plain": PlainBatches(inputs, targets, scale.batch).epoch(order)}
        for where in ("worker", "device"):
            sampler = order.tolist()
            loader = CompressedLoader(samples, scale.batch, sampler=sampler, where=where)
            loaders[where] = iter(loader)
        names = list(loaders)
        for number in range(-(-len(order) // scale.batch)):
            for name in names[number % 3 :] + names[: number % 3]:
                began = time.process_time()
                batch = next(loaders[name])
                fetched = time.process_time()
                trainer.step(*batch)
                times[name]["fetch"] += fetched - began
                times[name]["step"] += time.process_time() - fetched
    for name in times:
        times[name]["epoch"] = (times[name]["fetch"] + times[name]["step"]) / arguments.epochs
    return times


def report(times: dict[str, dict[str, float]], cf: int, epochs: int) -> str:
    """The step is the same work for all, so its mean is what fetching is compared with: the
    difference of two sums of steps is the noise of the machine, printed beside it."""
    step = sum(each["step"] for each in times.values()) / len(times) / epochs
    plain = times["plain"]
    lines = [
        f"dct-chop cf {cf}, one epoch of quick classify, one thread, CPU seconds; steps {step:.2f}",
        f"{'loader':8} {'fetching':>9} {'epoch':>8} {'added by fetching':>18} {'whole epoch':>12}",
    ]
    for name, each in times.items():
        added = (each["fetch"] - plain["fetch"]) / epochs / (step + plain["fetch"] / epochs)
        whole = each["epoch"] / plain["epoch"] - 1
        lines.append(
            f"{name:8} {each['fetch'] / epochs:9.3f} {each['epoch']:8.2f} "
            f"{100 * added:+17.2f}% {100 * whole:+11.2f}%"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, help="CIFAR-10; generated pictures without it")
    parser.add_argument("--cf", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    times = measure(arguments)
    print(report(times, arguments.cf, arguments.epochs))
    if arguments.output:
        result = {
            "cf": arguments.cf,
            "epochs": arguments.epochs,
            "cpu_seconds": times,
            "torch": torch.__version__,
            "isa": tensorpress.show_config()["isa"],
        }
        arguments.output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
