"""Gradients of batch norms by the bits of what they save, in networks that have many of them.

    .venv/bin/python bench/batch_norm_bits.py [--output OUTPUT]

MobileNetV3 and EfficientNet-B0 of timm (requirements/clients.txt) with random weights and one
batch: `balanced`, and the same with 5, 6 and 8 bits for what batch norms save. Ratio: saved bytes
of autograd over stored ones. Cosines are those of compare_gradients: of all gradients together, and
the lowest of one parameter.
"""

from __future__ import annotations

import argparse
import pathlib
import warnings
from typing import Any

import torch
from client_cases import WithoutTorchvision
from paired_runs import command, described, machine, write

import tensorpress
from tensorpress.torch import compare_gradients, compress_activations

with WithoutTorchvision():
    import timm

NETWORKS = {"MobileNetV3": ("mobilenetv3_large_100", 8), "EfficientNet-B0": ("efficientnet_b0", 4)}
BITS = (None, 5, 6, 8)
NORMS = ("BatchNorm2d", "BatchNormAct2d")


def measured(network: str, bits: int | None) -> dict[str, Any]:
    kind, count = NETWORKS[network]
    torch.manual_seed(0)
    model = timm.create_model(kind, num_classes=10).train()
    images, labels = torch.randn(count, 3, 128, 128), torch.randint(0, 10, (count,))

    def loss() -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model(images), labels)

    types = {type(module).__name__ for module in model.modules()} & {*NORMS}
    rules = {name: {"codec": "quantize", "bits": bits} for name in sorted(types)}
    plan: Any = {"level": "balanced", "by_type": rules if bits else {}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = compare_gradients(model, loss, plan)
    with compress_activations(model, plan) as run:
        loss().backward()
    return {
        "network": network,
        "bits": bits,
        "ratio": run.report().ratio,
        "cosine": found.cosine,
        "lowest": found.parameters[0].cosine,
        "lowest_name": found.parameters[0].name,
        "suffering": len(found.suffering),
        "warned": any("batch norms are far" in str(each.message) for each in caught),
    }


def table(result: dict[str, Any]) -> str:
    lines = [
        "# Bits for what batch norms save",
        "",
        f"`{result['command']}`; timm {timm.__version__}, tensorpress {result['version']}; "
        f"{described(result['machine'])}. Random weights, one batch, the rest as `balanced`.",
        "",
        "| network | bits for batch norms | ratio | cosine of all | lowest | of | below 0.9 "
        "| warned |",
        "|---|---|---:|---:|---:|---|---:|---|",
    ]
    lines += [
        f"| {row['network']} | {row['bits'] or 'as `balanced`'} | {row['ratio']:.2f} "
        f"| {row['cosine']:.4f} | {row['lowest']:.3f} | {row['lowest_name']} "
        f"| {row['suffering']} | {'yes' if row['warned'] else 'no'} |"
        for row in result["rows"]
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    result = {
        "command": command(options),
        "version": tensorpress.__version__,
        "machine": machine(),
        "rows": [measured(network, bits) for network in NETWORKS for bits in BITS],
    }
    write(options.output, result, table(result))


if __name__ == "__main__":
    main()
