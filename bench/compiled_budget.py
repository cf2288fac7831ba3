"""Budgets under torch.compile: peaks asked, predicted and measured, beside PyTorch's own budget.

    ./dev build && .venv/bin/python bench/compiled_budget.py [NETWORK...] [--repeat 9]

Each network of compiled_training.py trains a step with plain torch.compile, with PyTorch's own
activation_memory_budget (a part of the saved bytes), and with tensorpress.torch.compile(model,
budget=part of the peak). Peaks are what PyTorch's profiler counted in one step, gradients included;
times are the best of the repetitions, of the CPU; errors are of all gradients, against eager
PyTorch. A budget that cannot be kept is in the table with the least
possible peak that the error names. Rows of networks that are not asked for stay as they are in
bench/results/compiled_budget.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import time
from collections.abc import Callable
from typing import Any

import torch
from compiled_training import NETWORKS, loss_of
from paired_runs import described, machine

import tensorpress.torch
from tensorpress.torch.compiled.report import plan_fields
from tensorpress.torch.peak_memory import measured_peak

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
PYTORCH = (0.5, 0.2)
OURS = (0.8, 0.5, 0.35)


def measure(name: str, way: str, share: float, repeat: int) -> dict[str, Any]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, batch, labels = NETWORKS[name]()
    run: Callable[..., Any] = model
    row: dict[str, Any] = {"network": name, "way": way, "budget": share}
    torch._functorch.config.activation_memory_budget = share if way == "pytorch" else 1.0
    if way == "ours":
        run = tensorpress.torch.compile(model, budget=share)
    elif way != "eager":
        run = torch.compile(model)

    def step() -> None:
        model.zero_grad(set_to_none=True)
        loss_of(run(batch), labels).backward()

    began = time.perf_counter()
    try:
        step()
    except Exception as error:
        if "cannot be kept" not in str(error):
            raise
        sentence = next(line for line in str(error).splitlines() if "cannot be kept" in line)
        return {**row, "impossible": sentence}
    row["first_step_seconds"] = time.perf_counter() - began
    gradients = torch.cat([weight.grad.flatten() for weight in model.parameters()]).double()
    seconds = []
    for _ in range(repeat if way != "eager" else 1):
        began = time.process_time()
        step()
        seconds.append(time.process_time() - began)
    with measured_peak(model) as peaks:
        step()
    exact = exact_gradients.setdefault(name, gradients)
    row["peak_bytes"] = peaks[0].activations_and_gradients
    row["step_cpu_seconds"] = min(seconds)
    row["error"] = float((gradients - exact).norm() / exact.norm())
    if way == "ours":
        fields = plan_fields(run)[0]
        row["predicted_bytes"] = fields["predicted_peak"]
        row["division"] = fields["division"]
        row["plain_predicted_bytes"] = fields["plain_peak"]
    print(row, flush=True)
    return row


exact_gradients: dict[str, torch.Tensor] = {}  # by network, of eager PyTorch


def tables(rows: list[dict[str, Any]]) -> str:
    plain = {row["network"]: row for row in rows if row["way"] == "plain"}
    lines = [
        "| network | budget | predicted / plain | measured / plain | predicted / measured "
        "| CPU time / plain | error | divided |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        base = plain.get(row["network"])
        if base is None or row["way"] in ("plain", "eager"):
            continue
        what = f"{row['budget']:g}" if row["way"] == "ours" else f"PyTorch's {row['budget']:g}"
        if "impossible" in row:
            lines.append(f"| {row['network']} | {what} | {_least(row)} | | | | | |")
            continue
        peak = row["peak_bytes"]
        predicted = row.get("predicted_bytes")
        whole = base["peak_bytes"]
        first = f"{predicted / whole:.3f}" if predicted else ""
        second = f"{predicted / peak:.3f}" if predicted else ""
        lines.append(
            f"| {row['network']} | {what} | {first} | {peak / whole:.3f} | {second} "
            f"| {row['step_cpu_seconds'] / base['step_cpu_seconds']:.2f} | {row['error']:.4f} "
            f"| {row.get('division', '')} |"
        )
    return "\n".join(lines)


def _least(row: dict[str, Any]) -> str:
    found = re.search(r"([0-9.]+) of plain torch.compile", row["impossible"])
    return f"refused: at least {found[1]}" if found else "refused"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("networks", nargs="*", help=f"of {', '.join(NETWORKS)}; all if none")
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = [
        name
        for name in NETWORKS
        if not options.networks or any(given in name for given in options.networks)
    ]
    file = RESULTS / "compiled_budget.json"
    known = json.loads(file.read_text())["rows"] if file.exists() else []
    rows = [row for row in known if row["network"] not in names]
    for name in names:
        rows.append(measure(name, "eager", 1.0, options.repeat))
        rows.append(measure(name, "plain", 1.0, options.repeat))
        rows += [measure(name, "pytorch", share, options.repeat) for share in PYTORCH]
        rows += [measure(name, "ours", share, options.repeat) for share in OURS]
    rows.sort(key=lambda row: list(NETWORKS).index(row["network"]))
    found = {"machine": machine(), "rows": rows}
    file.write_text(json.dumps(found, indent=1) + "\n")
    text = (
        "# Budgets under torch.compile\n\n"
        f"`bench/compiled_budget.py`, {described(found['machine'])}. A budget of ours is a part of "
        "the peak of plain `torch.compile`; PyTorch's own is a part of the saved bytes. All ratios "
        "are to plain `torch.compile` of the same run; errors are of all gradients against eager "
        "PyTorch.\n\n"
    )
    (RESULTS / "compiled_budget.md").write_text(text + tables(rows) + "\n")


if __name__ == "__main__":
    main()
