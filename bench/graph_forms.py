"""Graph networks in three forms: time and memory of a step against the number of vertices.

    .venv/bin/python bench/graph_forms.py DATA --runs RUNS [--output OUTPUT] [--limit 4]

GCN and GraphSAGE (mean of the neighbours) as model texts, with the adjacency matrix A as

linear      A the weight of a linear layer, features transposed: F.linear(x.T, A).T
matmul      A a dense matrix that is multiplied with the features: A @ x
csr         A in compressed rows: spmm(A, x)

All three compute the same. Each runs with the plans off and balanced on Cora, CiteSeer
(DATA/graphs) and synthetic graphs of the same mean degree, until the step does not fit: a step is
run only if the predicted peak is below --limit GiB, and the first size that is not says so. The
peak is everything: A and features, weights, activations, scratch, as PyTorch's profiler counted it.
Then GCN in compressed rows trains on Cora with 20 labels a class, five seeds, plan by plan.

Each row and run leaves a file in RUNS; what is there is not run again.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import tempfile
import time
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from compiled_steps import bytes_of, emitted, gradients, profile
from graph_networks import (
    CLASSES,
    DEGREE,
    FEATURES,
    HIDDEN,
    LAYER,
    NEAR,
    Graph,
    in_form,
    labels_of,
    model_text,
    published,
    twenty_of_each_class,
)
from paired_runs import Run, command, difference, finished, machines, means, write
from torch import nn

import tensorpress
from tensorpress.torch.peak_memory import measured_peak

PLANS = ("off", "balanced")
TRAINED_PLANS = ("lossless", "balanced", "max")
SIZES = (1024, 4096, 8192, 16384, 32768, 65536, 262144, 524288, 1 << 20, 1 << 21)
GIB = 1 << 30


# --- Steps ----------------------------------------------------------------------------------------


def step_of(text: pathlib.Path, vertices: int, plan: str) -> nn.Module:
    made: nn.Module = emitted(text, "--size", f"V={vertices}", "--plan", plan).Step()
    return made


def one_step(step: nn.Module, batch: Sequence[torch.Tensor]) -> None:
    step.zero_grad()
    step(*batch)
    step.backward()


def measured(
    text: pathlib.Path, batch: Sequence[torch.Tensor], plan: str, repeat: int
) -> dict[str, float]:
    vertices = batch[1].shape[0]
    torch.manual_seed(0)
    step = step_of(text, vertices, plan)
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        one_step(step, batch)
        seconds.append(time.perf_counter() - began)
    step.zero_grad()
    with measured_peak(step) as peaks:
        one_step(step, batch)
    given = bytes_of(batch)
    peak = peaks[0].allocated + given
    return {"seconds": min(seconds), "peak_bytes": peak, "given_bytes": given}


def row_of(
    folder: pathlib.Path,
    network: str,
    form: str,
    graph: tuple[str, int, Any],
    limit: float,
    repeat: int,
) -> dict[str, Any]:
    """One network, form and graph with all plans; what is predicted not to fit is not run."""
    name, vertices, make = graph
    row: dict[str, Any] = {"network": network, "form": form, "graph": name, "vertices": vertices}
    made = None
    for plan in PLANS:
        text = folder / f"{network}_{form}.tpm"
        text.write_text(model_text(network, form, *make.sizes))
        size = ["--size", f"V={vertices}", "--state", "0"]
        if form == "csr":  # and every vertex itself
            size += ["--size", f"E={round((DEGREE + 1) * vertices)}"]
        forecast = profile(text, "--plan", plan, *size)["peak_bytes"]
        row[plan] = {"predicted_bytes": forecast}
        if forecast > limit * GIB:
            continue
        made = made or in_form(make(network), form)
        row[plan] |= measured(text, made, plan, repeat)
    return row


def measure_forms(data: pathlib.Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    graphs: list[tuple[str, int, Graph]] = []
    for name, vertices, sizes in (
        ("cora", 2708, (1433, HIDDEN, 7)),
        ("citeseer", 3312, (3703, HIDDEN, 6)),
    ):
        graphs.append((name, vertices, Graph(data / "graphs" / f"{name}.npz", sizes)))
    graphs += [
        ("synthetic", count, Graph(count, (FEATURES, HIDDEN, CLASSES)))
        for count in SIZES
        if count <= options.most
    ]
    same = {"limit_gib": options.limit, "repeat": options.repeat}
    with tempfile.TemporaryDirectory() as folder:
        for network in LAYER:
            for form in NEAR:
                for graph in graphs:
                    path = options.runs / f"{network}-{form}-{graph[0]}-{graph[1]}.json"
                    make = functools.partial(
                        row_of,
                        pathlib.Path(folder),
                        network,
                        form,
                        graph,
                        options.limit,
                        options.repeat,
                    )
                    rows.append(finished(path, make, same))
                    if not any("seconds" in rows[-1][plan] for plan in PLANS):
                        break
    return rows


def agreement(data: pathlib.Path) -> dict[str, float]:
    """The largest relative difference of a gradient on Cora between the forms and csr."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for network in LAYER:
            exact: dict[str, torch.Tensor] = {}
            graph = published(data / "graphs" / "cora.npz", network)
            for form in ("csr", "matmul", "linear"):
                text = pathlib.Path(name) / f"{network}_{form}.tpm"
                text.write_text(model_text(network, form, 1433, HIDDEN, 7))
                torch.manual_seed(1)
                each = gradients(step_of(text, 2708, "off"), in_form(graph, form), seed=0)
                exact = exact or each
                found[f"{network} {form}"] = max(
                    float((each[key] - exact[key]).norm() / exact[key].norm()) for key in exact
                )
    return found


# --- Training -------------------------------------------------------------------------------------


def train_cora(data: pathlib.Path, plan: str, seed: int, steps: int) -> Run:
    """Accuracy on 1,000 vertices after training with 20 of each class; Adam, dropout, decay."""
    matrix, features, labels = published(data / "graphs" / "cora.npz", "gcn")
    chosen, rest = twenty_of_each_class(labels, torch.Generator().manual_seed(seed))
    known = labels_of(chosen, labels)
    with tempfile.TemporaryDirectory() as name:
        text = pathlib.Path(name) / "gcn.tpm"
        text.write_text(model_text("gcn", "csr", 1433, 32, 7, dropout=True))
        torch.manual_seed(seed)
        step = step_of(text, len(labels), plan)
        torch.manual_seed(1000 + seed)
        optimizer = torch.optim.Adam(step.parameters(), lr=0.01, weight_decay=5e-4)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = step(matrix, features, known)
            step.backward()
            optimizer.step()
    with torch.no_grad():
        weights = [step.get_parameter(f"conv{place}.lin.weight") for place in (1, 2, 3)]
        h = matrix @ (features @ weights[0].T)
        h = matrix @ (torch.relu(h) @ weights[1].T)
        h = matrix @ (torch.relu(h) @ weights[2].T)
    right = (h.argmax(1) == labels)[rest[:1000]]
    return {
        "plan": plan,
        "seed": seed,
        "accuracy": 100 * right.double().mean().item(),
        "train_loss": loss.item(),
    }


def trainings(data: pathlib.Path, folder: pathlib.Path, steps: int) -> dict[str, Any]:
    runs: dict[str, dict[int, Run]] = {plan: {} for plan in TRAINED_PLANS}
    for seed in range(5):
        for plan in TRAINED_PLANS:
            path = folder / f"cora-{plan}-{seed}-{steps}.json"
            make = functools.partial(train_cora, data, plan, seed, steps)
            runs[plan][seed] = finished(path, make, {"steps": steps})
    keys = ("accuracy", "train_loss")
    base = runs["lossless"]
    rows = [{"plan": plan, **means(of_plan, base, keys)} for plan, of_plan in runs.items()]
    every = [run for of_plan in runs.values() for run in of_plan.values()]
    return {"training": rows, "trained_on": machines(every)}


# --- The table ------------------------------------------------------------------------------------


def cells(row: dict[str, Any], plan: str) -> str:
    found = row[plan]
    if "seconds" not in found:
        return f"- | - | {found['predicted_bytes'] / 2**20:.0f}, not run"
    return (
        f"{1e3 * found['seconds']:.0f} | {found['peak_bytes'] / 2**20:.1f} "
        f"| {found['predicted_bytes'] / 2**20:.1f}"
    )


def table(result: dict[str, Any]) -> str:
    lines = [
        "# Graph networks in three forms",
        "",
        f"`{result['command']}`; tensorpress {result['version']}. Steps: "
        f"{machines(result['rows'])}; beside other load, best of {result['repeat']}: times say the "
        "order of magnitude and no more, memory is exact. A step runs if its predicted peak is "
        f"below {result['limit_gib']:g} GiB. Peaks count everything, A and features too. Three "
        f"layers of {HIDDEN}; synthetic graphs have degree {DEGREE:g}, {FEATURES} features and "
        f"{CLASSES} classes.",
        "",
        "| network | form | graph | vertices | off: ms | peak MiB | predicted | balanced: ms "
        "| peak MiB | predicted |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['network']} | {row['form']} | {row['graph']} | {row['vertices']} "
            f"| {cells(row, 'off')} | {cells(row, 'balanced')} |"
        )
    lines += ["", "Gradients on Cora, largest relative difference from the csr form: "]
    lines[-1] += ", ".join(f"{name} {apart:.1e}" for name, apart in result["agreement"].items())
    lines += [
        "",
        f"GCN on Cora, csr, {result['steps']} steps of Adam, 20 labels a class, differences from "
        f"lossless of the same seed; {result['trained_on']}:",
        "",
        "| plan | seeds | accuracy % | difference, points | loss | difference |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row['plan']} | {len(row['seeds'])} | {row['accuracy']:.2f} "
        f"| {difference(row.get('accuracy_difference'), 2)} | {row['train_loss']:.3f} "
        f"| {difference(row.get('train_loss_difference'), 3)} |"
        for row in result["training"]
    ]
    fitting = "; ".join(largest(result["rows"]))
    lines += ["", f"Vertices of the largest synthetic graph below the limit: {fitting}."]
    return "\n".join(lines) + "\n"


def largest(rows: list[dict[str, Any]]) -> list[str]:
    found = []
    for network in LAYER:
        for form in NEAR:
            ran = [
                row["vertices"]
                for row in rows
                if (row["network"], row["form"], row["graph"]) == (network, form, "synthetic")
                and any("seconds" in row[plan] for plan in PLANS)
            ]
            if ran:
                found.append(f"{network} {form} {max(ran)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=4, help="GiB of a step")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="vertices")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60, help="of the training on Cora")
    parser.add_argument("--runs", type=pathlib.Path, required=True, help="folder of finished rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="Sparse")
    result = {
        "command": command(options),
        "limit_gib": options.limit,
        "steps": options.steps,
        "repeat": options.repeat,
        "version": tensorpress.__version__,
        "agreement": agreement(options.data),
        **trainings(options.data, options.runs, options.steps),
        "rows": measure_forms(options.data, options),
    }
    write(options.output, result, table(result))


if __name__ == "__main__":
    main()
