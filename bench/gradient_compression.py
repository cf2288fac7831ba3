"""Bytes and loss with compressed gradients beside plain DDP, two processes on this machine.

    .venv/bin/python bench/gradient_compression.py [--data DATA] [--output OUTPUT]

Both ranks train tensorpress.eval's small ResNet on different halves of every batch, for --steps
steps; DATA holds cifar10/train_10000.bin (without it, pictures are generated). Every setting
starts from the same weights and sees the same batches. Loss is the mean of the last 20 steps of
both ranks; with several --seeds the difference from plain is a mean over pairs with its interval.
`bytes sent` counts what a rank hands to the network in a step, tables and padding included, against
the gradients as they are. Seconds of two processes on two cores say little about a network.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import statistics
import tempfile
import time
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from cifar_training import normalized
from paired_runs import command, described, difference, machine, write
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import tensorpress
from tensorpress.eval.comparison import interval
from tensorpress.eval.networks import resnet_small
from tensorpress.eval.sources import cifar10, generated
from tensorpress.torch import GradientCompression, compress_gradients

RANKS = 2
LAST_STEPS = 20
SETTINGS: list[tuple[str, dict[str, Any] | None]] = [
    ("plain", None),
    ("cast bf16", {"codec": "cast", "to": "bf16"}),
    ("quantize 4 bits", {"codec": "quantize", "bits": 4}),
    ("quantize 4 bits, random", {"codec": "quantize", "bits": 4, "rounding": "stochastic"}),
    ("quantize 2 bits", {"codec": "quantize", "bits": 2}),
    ("quantize 1 bit", {"codec": "quantize", "bits": 1}),
    ("quantize 1 bit, no feedback", {"codec": "quantize", "bits": 1, "error_feedback": False}),
    ("dense relative 0.02", {"codec": "dense", "relative": 0.02}),
    ("dense relative 0.1", {"codec": "dense", "relative": 0.1}),
]


def train(rank: int, settings: dict[str, Any] | None, seed: int, options: Any, data: Any) -> Any:
    torch.manual_seed(seed)
    model = DistributedDataParallel(resnet_small())
    state = None
    if settings is not None:
        state = GradientCompression(**settings)
        model.register_comm_hook(state, compress_gradients)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    order = torch.Generator().manual_seed(seed)
    losses = []
    began = time.perf_counter()
    for step in range(options.steps):
        chosen = torch.randint(len(data.train_inputs), (RANKS * options.batch,), generator=order)
        chosen = chosen[rank::RANKS]
        x = normalized(data.train_inputs[chosen])
        for group in optimizer.param_groups:
            group["lr"] = 0.1 * min(1, (step + 1) / 20, (options.steps - step) / options.steps * 2)
        loss = nn.functional.cross_entropy(model(x), data.train_targets[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    mean = torch.tensor([statistics.fmean(losses[-LAST_STEPS:])], dtype=torch.float64)
    dist.all_reduce(mean)
    return {
        "seed": seed,
        "loss": mean.item() / RANKS,
        "seconds": time.perf_counter() - began,
        "gradients": None if state is None else state.report().to_dict(),
    }


def serve(rank: int, rendezvous: str, options: Any, results: Any) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{rendezvous}",
        rank=rank,
        world_size=RANKS,
        timeout=datetime.timedelta(minutes=10),
    )
    data = cifar10.load(options.data) if options.data else generated.pictures(2000, 10, 32)
    for name, settings in SETTINGS:
        for seed in range(options.seeds):
            run = train(rank, settings, seed, options, data)
            if rank == 0:
                results.put({"setting": name, **run})
    dist.destroy_process_group()


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    plain = {run["seed"]: run["loss"] for run in runs if run["setting"] == "plain"}
    rows = []
    for name, settings in SETTINGS:
        found = [run for run in runs if run["setting"] == name]
        sent = [run["gradients"] for run in found if run["gradients"]]
        row: dict[str, Any] = {"setting": name, "seeds": len(found)}
        row["loss"] = statistics.fmean(run["loss"] for run in found)
        row["ratio"] = statistics.fmean(each["ratio"] for each in sent) if sent else 1.0
        if settings is not None:
            row["difference"] = interval([run["loss"] - plain[run["seed"]] for run in found])
            steps = sum(each["steps"] for each in sent)
            row["bytes_sent_per_step"] = sum(each["bytes_sent"] for each in sent) / steps
            row["bytes_plain_per_step"] = sum(each["bytes_plain"] for each in sent) / steps
            row["codec_ms_per_step"] = (
                1e3
                * sum(each["compress_seconds"] + each["decompress_seconds"] for each in sent)
                / steps
            )
        rows.append(row)
    return rows


def table(result: dict[str, Any]) -> str:
    lines = [
        "# Compressed gradients, two gloo processes",
        "",
        f"`{result['command']}`; {result['data']}, {result['steps']} steps of 2 x "
        f"{result['batch']}; tensorpress {result['version']}; "
        f"{described(result['machine'])}. Loss: mean of the last 20 steps; "
        "difference from plain by seed, 95 % interval.",
        "",
        "| setting | seeds | bytes sent a step | times fewer | loss | difference |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        sent = row.get("bytes_sent_per_step", result["rows"][1]["bytes_plain_per_step"])
        lines.append(
            f"| {row['setting']} | {row['seeds']} | {sent:.0f} | {row['ratio']:.2f} "
            f"| {row['loss']:.3f} | {difference(row.get('difference'), 3)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch", type=int, default=32, help="samples of a rank in a step")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            context.Process(target=serve, args=(rank, f"{folder}/gloo", options, results))
            for rank in range(RANKS)
        ]
        for process in processes:
            process.start()
        for _ in range(len(SETTINGS) * options.seeds):
            while results.empty():
                if any(process.exitcode not in (None, 0) for process in processes):
                    raise SystemExit("a rank has died")
                time.sleep(0.1)
            runs.append(results.get())
            print(
                {key: runs[-1][key] for key in ("setting", "seed", "loss", "seconds")}, flush=True
            )
        for process in processes:
            process.join()
    result = {
        "command": command(options),
        "data": "CIFAR-10" if options.data else "generated pictures",
        "steps": options.steps,
        "batch": options.batch,
        "version": tensorpress.__version__,
        "machine": {**machine(), "threads": 1},  # of a rank
        "rows": summary(runs),
        "runs": runs,
    }
    write(options.output, result, table(result))


if __name__ == "__main__":
    main()
