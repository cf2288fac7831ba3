"""What compress_activations costs in Python: time of a save, and of a step with `off`.

    .venv/bin/python bench/save_overhead.py [--rounds 12] [--output OUTPUT]

A tiny Llama, whose steps are nothing but calls, gives microseconds a save: the time of a step more
than plain, over the number of saves; unpacking and everything else that the step has to do are in
it. A Llama of 8 layers of 256 features, batch 4 x 128, gives the time of a step as times plain's.
Times are of the thread, the least of all rounds; ways take turns, so that a busy machine disturbs
all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import time
from typing import Any

import torch
from compiled_training import Llama, loss_of
from paired_runs import command, described, machine, write

import tensorpress
from tensorpress.torch import compress_activations

WAYS: dict[str, Any] = {
    "plain": None,
    "off": "off",
    "lossless": "lossless",
    # All that is large enough in a real network; here nothing is.
    "balanced": {"level": "balanced", "min_bytes": 64, "exact_2d_bytes": 0},
}
SIZES = {"tiny": (64, 4, 32, 1, 32), "8 x 256": (512, 8, 256, 4, 128)}


def measure(size: str, rounds: int, ways: dict[str, Any]) -> list[dict[str, Any]]:
    torch.manual_seed(0)
    tokens, layers, features, batch, length = SIZES[size]
    model = Llama(tokens, layers, features)
    x, y = torch.randint(tokens, (batch, length)), torch.randint(tokens, (batch * length,))

    def step() -> float:
        model.zero_grad(set_to_none=True)
        began = time.thread_time()
        loss_of(model(x), y).backward()
        return time.thread_time() - began

    least = dict.fromkeys(ways, float("inf"))
    saves: dict[str, int] = {}
    for _ in range(rounds):
        for way, policy in ways.items():
            plain = policy is None
            entered: Any = (
                contextlib.nullcontext() if plain else compress_activations(model, policy)
            )
            with entered as run:
                step()
                least[way] = min(least[way], *(step() for _ in range(5 if size == "tiny" else 1)))
                if not plain:
                    saves[way] = sum(each.saves for each in run.report().activations)
    return [
        {
            "size": size,
            "way": way,
            "milliseconds": 1e3 * least[way],
            "times_plain": least[way] / least["plain"],
            "saves": saves.get(way, 0),
            "microseconds_a_save": 1e6 * (least[way] - least["plain"]) / saves[way]
            if way in saves
            else 0.0,
        }
        for way in ways
    ]


def table(result: dict[str, Any]) -> str:
    lines = [
        "# What a save costs",
        "",
        f"`{result['command']}`; tensorpress {result['version']}; "
        f"{described(result['machine'])}. Least of {result['rounds']} rounds, time of the thread.",
        "",
        "| Llama | way | step ms | times plain | saves | microseconds a save |",
        "|---|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['size']} | {row['way']} | {row['milliseconds']:.2f} | {row['times_plain']:.3f} "
        f"| {row['saves']} | {row['microseconds_a_save']:.1f} |"
        for row in result["rows"]
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    large = {way: WAYS[way] for way in ("plain", "off")}
    result = {
        "command": command(options),
        "version": tensorpress.__version__,
        "machine": machine(),
        "rounds": options.rounds,
        "rows": [
            *measure("tiny", options.rounds, WAYS),
            *measure("8 x 256", options.rounds, large),
        ],
    }
    write(options.output, result, table(result))


if __name__ == "__main__":
    main()
