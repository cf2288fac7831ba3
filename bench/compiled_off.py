"""Every shipped network compiled with level `off`, beside plain torch.compile: the same bits?

    ./dev build && .venv/bin/python bench/compiled_off.py [NETWORK...] [--backend inductor]

One step of training each, one thread, evaluation mode (so that running statistics stay); compares
the loss and every gradient bit for bit, and measures the first and the best later step of the CPU.
Writes bench/results/compiled_off.{json,md} when all networks were asked for.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import torch
from paired_runs import described, machine

import tensorpress.torch
from tensorpress.eval.networks.shipped import TWINS

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
SAMPLES = {"gcn": 500, "graphsage": 500, "gpt2": 2}


def stepped(name: str, make: Callable[..., Any], repeat: int) -> dict[str, Any]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    twin = TWINS[name]
    model = twin.make().eval()
    batch = twin.batch(SAMPLES.get(name, 4))
    run = make(model)
    seconds, gradients, loss = [], {}, torch.zeros(())
    for _ in range(1 + repeat):
        model.zero_grad(set_to_none=True)
        began = time.process_time()
        loss = twin.loss(run, *batch)
        loss.backward()
        seconds.append(time.process_time() - began)
        gradients = {n: w.grad.clone() for n, w in model.named_parameters() if w.grad is not None}
    return {"loss": loss.detach(), "gradients": gradients, "seconds": seconds}


def compare(name: str, backend: str, repeat: int) -> dict[str, Any]:
    plain = stepped(name, lambda model: torch.compile(model, backend=backend), repeat)
    off = stepped(
        name, lambda model: tensorpress.torch.compile(model, "off", backend=backend), repeat
    )
    same = torch.equal(plain["loss"], off["loss"]) and all(
        torch.equal(plain["gradients"][key], off["gradients"][key]) for key in plain["gradients"]
    )
    row = {
        "network": name,
        "same": same and plain["gradients"].keys() == off["gradients"].keys(),
        "first_step": off["seconds"][0] / plain["seconds"][0],
        "step": min(off["seconds"][1:]) / min(plain["seconds"][1:]),
    }
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("networks", nargs="*", help=f"of {', '.join(TWINS)}; all if none")
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [compare(n, options.backend, options.repeat) for n in options.networks or TWINS]
    if options.networks:
        return
    found = {"machine": machine(), "backend": options.backend, "rows": rows}
    (RESULTS / "compiled_off.json").write_text(json.dumps(found, indent=1) + "\n")
    lines = [
        "# Level off under torch.compile",
        "",
        f"`bench/compiled_off.py --backend {options.backend}`, {described(found['machine'])}. Each "
        "shipped network: whether loss and gradients are plain `torch.compile`'s bit for bit, and "
        "CPU time of the first step, compiling included, and of later ones as ratios to it.",
        "",
        "| network | same bits | first step | step |",
        "|---|---|---|---|",
        *(
            f"| {row['network']} | {'yes' if row['same'] else '**no**'} "
            f"| {row['first_step']:.2f} | {row['step']:.2f} |"
            for row in rows
        ),
    ]
    (RESULTS / "compiled_off.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
