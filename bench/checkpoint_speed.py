"""How fast a checkpoint of a language model in training is written and read, and how large it is.

    .venv/bin/python bench/checkpoint_speed.py --output bench/results/checkpoint-speed

A GPT-2 of 8.5 million parameters trains 40 steps with AdamW on Python's own help texts, so that
weights and moments are those of a training. Its state (weights, first and second moments, 102 MB)
is saved and loaded by every setting, several times; the best time counts. Seconds are those of the
processor, in all threads, beside those of the clock, which has the disk in it. torch.save stands
beside them. Writes OUTPUT.json and OUTPUT.md.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from paired_runs import described, machine
from torch import nn

import tensorpress.torch
from tensorpress.eval.networks import Gpt2
from tensorpress.eval.sources import text

BOUND = 1e-3
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("dense, fast (default)", {}),
    ("dense, fast, not read again", {"check": False}),
    ("dense, fast, 2 threads", {"threads": 2}),
    ("dense, normal", {"effort": "normal"}),
    ("ceresz", {"codec": "ceresz"}),
]


def state(steps: int) -> dict[str, Any]:
    torch.manual_seed(0)
    model = Gpt2(tokens=256, length=64, layers=3, features=480)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = text.load(None, "pretrain", 64, 8 * steps, 1)
    pairs = zip(data.train_inputs.split(8), data.train_targets.split(8), strict=True)
    for inputs, targets in pairs:
        loss = nn.functional.cross_entropy(model(inputs), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": steps}


def best(repeat: int, work: Callable[[], Any]) -> tuple[float, float]:
    """The least seconds of the processor, and of the clock."""
    seconds = []
    for _ in range(repeat):
        began = time.process_time(), time.perf_counter()
        work()
        seconds.append((time.process_time() - began[0], time.perf_counter() - began[1]))
    cpu, wall = zip(*seconds, strict=True)
    return min(cpu), min(wall)


def row(
    name: str,
    size: int,
    path: pathlib.Path,
    save: Callable[[], Any],
    load: Callable[[], Any],
    n: int,
) -> dict[str, Any]:
    saving = best(n, save)
    stored = path.stat().st_size
    loading = best(n, load)
    rates = [size / seconds / 1e9 for seconds in (*saving, *loading)]
    keys = ("save_cpu", "save_wall", "load_cpu", "load_wall")
    found = {"setting": name, "bytes": stored, "ratio": size / stored}
    return {**found, **dict(zip(keys, rates, strict=True))}


def by_kind(obj: Any, folder: pathlib.Path, repeat: int) -> list[dict[str, Any]]:
    """Weights, first and second moments by themselves, under the default."""
    moments = obj["optimizer"]["state"].values()
    kinds = {
        "weights": obj["model"],
        "exp_avg": [{"exp_avg": each["exp_avg"]} for each in moments],
        "exp_avg_sq": [{"exp_avg_sq": each["exp_avg_sq"]} for each in moments],
    }
    rows = []
    for name, part in kinds.items():
        path = folder / "part.tpck"
        report = tensorpress.torch.save(part, path, relative=BOUND)
        rows.append(
            row(
                name,
                report.bytes_in,
                path,
                lambda part=part, path=path: tensorpress.torch.save(part, path, relative=BOUND),
                lambda path=path: tensorpress.torch.load(path),
                repeat,
            )
        )
    return rows


def table(rows: list[dict[str, Any]], first: str) -> list[str]:
    lines = [
        f"| {first} | ratio | saved, GB/s of a core | of the clock | loaded, GB/s of a core "
        "| of the clock |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for each in rows:
        rates = [f"{each[key]:.2f}" for key in ("save_cpu", "save_wall", "load_cpu", "load_wall")]
        lines.append(f"| {each['setting']} | {each['ratio']:.2f} | {' | '.join(rates)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(1)
    obj = state(options.steps)
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home)
        path = folder / "run.tpck"
        size = tensorpress.torch.save(obj, path, "exact").bytes_in
        rows = [
            row(
                name,
                size,
                path,
                lambda k=settings: tensorpress.torch.save(obj, path, relative=BOUND, **k),
                lambda k=settings: tensorpress.torch.load(path, threads=k.get("threads", 1)),
                options.repeat,
            )
            for name, settings in SETTINGS
        ]
        plain = folder / "run.pt"
        save, load = (lambda: torch.save(obj, plain)), (lambda: torch.load(plain))
        rows.append(row("torch.save", size, plain, save, load, options.repeat))
        kinds = by_kind(obj, folder, options.repeat)
    where = described(machine())
    result = {"bound": BOUND, "bytes": size, "machine": machine(), "rows": rows, "kinds": kinds}
    lines = [
        "# A GPT-2 of 8.5 million parameters with AdamW: bench/checkpoint_speed.py",
        "",
        f"{size / 1e6:.0f} MB after {options.steps} steps, relative {BOUND:g}, best of "
        f"{options.repeat}; {where}. Measured here. Rates are uncompressed bytes; those of a core "
        "divide by the processor's time in all threads.",
        "",
        *table(rows, "setting"),
        "",
        "The default by kind of tensor:",
        "",
        *table(kinds, "tensors"),
    ]
    print("\n".join(lines))
    if options.output:
        options.output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
        options.output.with_suffix(".md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
