"""How much less each architecture stores, and how near its gradients stay.

    .venv/bin/python bench/architectures.py [NAME ...] [--output OUTPUT]

Networks of bench/architecture_networks.py, random weights, one batch, float32 and bfloat16. For
`balanced` and `max`: saved bytes of plain autograd over those that are stored at most, the cosine
between all gradients together and the exact ones of the same weights, batch and dropout, and the
lowest cosine of one parameter. A parameter whose gradient is less than 1e-4 of the largest (by
norm) is not counted: a bias before a norm has only rounding errors. `off` and `lossless` are
compared bit by bit. Backward runs outside of autocast, as PyTorch asks: inside, its own gradients
of attention with dropout differ from those outside.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import pathlib
from typing import Any

import torch
from architecture_networks import NETWORKS, Case
from paired_runs import command, described, machine, write

import tensorpress
from tensorpress.torch import compress_activations

LEVELS = ("balanced", "max")
EXACT = ("off", "lossless")
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
PACKAGES = ("torch", "transformers", "timm", "diffusers", "torch_geometric")

Gradients = dict[str, torch.Tensor]


def gradients(case: Case, dtype: torch.dtype, level: str | None) -> tuple[Gradients, Any]:
    buffers = {name: each.clone() for name, each in case.model.named_buffers()}
    case.model.zero_grad()
    torch.manual_seed(1)
    autocast = torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32)
    report = None
    if level is None:
        with autocast:
            loss = case.loss()
        loss.backward()
    else:
        with compress_activations(case.model, level) as run, autocast:
            loss = case.loss()
        loss.backward()
        report = run.report()
    for name, each in case.model.named_buffers():
        each.copy_(buffers[name])
    found = {
        name: each.grad.detach().clone()
        for name, each in case.model.named_parameters()
        if each.grad is not None
    }
    return found, report


def cosines(exact: Gradients, lossy: Gradients) -> tuple[float, float, str]:
    """Of all together, and the lowest of one parameter, with its name."""
    norms = {name: float(each.double().norm()) for name, each in exact.items()}
    most = max(norms.values())
    counted = [name for name, norm in norms.items() if norm > 1e-4 * most]
    dots = {
        name: float(exact[name].double().flatten() @ lossy[name].double().flatten())
        for name in exact
    }
    squares = {name: float(lossy[name].double().square().sum()) for name in exact}
    all_of_them = (
        sum(dots.values())
        / (sum(norm**2 for norm in norms.values()) * sum(squares.values())) ** 0.5
    )
    each = {name: dots[name] / (norms[name] * squares[name] ** 0.5 or 1.0) for name in counted}
    worst = min(each, key=lambda name: each[name])
    return all_of_them, each[worst], worst


def row_of(name: str, type_name: str) -> dict[str, Any]:
    torch.manual_seed(0)
    case = NETWORKS[name]()
    case.model.train()
    dtype = TYPES[type_name]
    exact, _ = gradients(case, dtype, None)
    row: dict[str, Any] = {"network": name, "type": type_name}
    row["parameters"] = sum(each.numel() for each in case.model.parameters())
    for level in EXACT:
        found, report = gradients(case, dtype, level)
        row[level] = {
            "same_bits": all(torch.equal(exact[each], found[each]) for each in exact),
            "ratio": report.ratio,
            "saved_bytes": report.saved_bytes,
        }
    for level in LEVELS:
        found, report = gradients(case, dtype, level)
        together, lowest, worst = cosines(exact, found)
        row[level] = {
            "ratio": report.ratio,
            "cosine": together,
            "lowest_cosine": lowest,
            "lowest_at": worst,
            "kept_bytes": sum(a.bytes_after for a in report.activations if a.codec == "keep"),
            "stored_bytes": report.stored_bytes,
            "notes": report.notes,
        }
    return row


def table(result: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in result["packages"].items())
    lines = [
        "# Ratios and gradients by architecture",
        "",
        f"`{result['command']}`; {packages}; tensorpress {result['version']}; "
        f"{described(result['machine'])}. Random weights, one batch. Ratio: saved bytes of "
        "autograd over stored ones. Cosines are those of the gradients: of all together, and the "
        "lowest of one parameter.",
        "",
        "| network | type | saved | lossless | balanced: ratio | cosine | lowest | max: ratio "
        "| cosine | lowest | `off` and `lossless` |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for row in result["rows"]:
        same = all(row[level]["same_bits"] for level in EXACT)
        cells = [row["network"], row["type"], f"{row['off']['saved_bytes'] / 1e6:.1f} MB"]
        cells.append(f"{row['lossless']['ratio']:.2f}")
        for level in LEVELS:
            found = row[level]
            cells += [
                f"{found['ratio']:.2f}",
                f"{found['cosine']:.4f}",
                f"{found['lowest_cosine']:.3f}",
            ]
        cells.append("same bits" if same else "DIFFERENT")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NETWORKS)}")
    parser.add_argument("--types", nargs="+", choices=list(TYPES), default=list(TYPES))
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    result = {
        "command": command(options),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "version": tensorpress.__version__,
        "machine": machine(),
        "rows": rows,
    }
    for type_name in options.types:
        for name in options.names or NETWORKS:
            rows.append(row_of(name, type_name))
            print(json.dumps(rows[-1]), flush=True)
            write(options.output, result, table(result))  # what there is, if it is interrupted


if __name__ == "__main__":
    main()
