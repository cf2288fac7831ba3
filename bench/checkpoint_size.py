"""How small a trained network's checkpoint becomes, and what that does to its accuracy.

    .venv/bin/python bench/checkpoint_size.py DATA --output bench/results/checkpoint-size

DATA holds networks/resnet20-12fca82f.th (akamaster/pytorch_resnet_cifar10) and
cifar10/test_batch.bin. Every setting saves the same weights, loads them and classifies the whole
test set with what came back. `file` counts everything; PyTorch's own file and that file deflated
stand beside it. Writes OUTPUT.json and OUTPUT.md.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pathlib
import tempfile
import time
import zlib
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import tensorpress
import tensorpress.torch

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("exact", {"codec": "exact"}),
    *((f"dense relative {e:g}", {"relative": e}) for e in (1e-4, 1e-3, 1e-2, 3e-2, 1e-1)),
    *(
        (f"dense relative {e:g}, effort normal", {"relative": e, "effort": "normal"})
        for e in (1e-3, 1e-2)
    ),
    ("ceresz relative 0.01", {"codec": "ceresz", "relative": 1e-2}),
    ("quantize 4 bits", {"codec": "quantize", "bits": 4}),
    (
        "dense 0.01, layer3 0.03",
        {"relative": 1e-2, "bounds": {"layer3.*conv*": {"relative": 3e-2}}},
    ),
]


def images(path: pathlib.Path) -> tuple[torch.Tensor, torch.Tensor]:
    """CIFAR's binary format, normalized as the network was trained."""
    rows = np.fromfile(path, np.uint8).reshape(-1, 3073)
    pixels = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).astype("float32") / 255)
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    pixels = (pixels - mean[:, None, None]) / deviation[:, None, None]
    return pixels, torch.from_numpy(rows[:, 0].astype("int64"))


def resnet20(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """He et al. 2016, section 4.2: three stages of three blocks, shortcuts without parameters."""

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        names = ("running_mean", "running_var", "weight", "bias")
        return F.batch_norm(x, *(w[f"{name}.{each}"] for each in names))

    x = F.relu(norm(F.conv2d(x, w["conv1.weight"], padding=1), "bn1"))
    for stage in (1, 2, 3):
        for block in range(3):
            at = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = F.conv2d(x, w[f"{at}.conv1.weight"], stride=stride, padding=1)
            y = F.conv2d(F.relu(norm(y, f"{at}.bn1")), w[f"{at}.conv2.weight"], padding=1)
            if stride == 2:  # every second pixel, and zeros for the new channels
                more = y.shape[1] // 4
                x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, more, more))
            x = F.relu(x + norm(y, f"{at}.bn2"))
    return F.linear(x.mean((2, 3)), w["linear.weight"], w["linear.bias"])


def accuracy(weights: dict[str, torch.Tensor], x: torch.Tensor, labels: torch.Tensor) -> float:
    with torch.inference_mode():
        parts = [resnet20(weights, part).argmax(1) for part in x.split(200)]
    return 100 * (torch.cat(parts) == labels).double().mean().item()


def measure(name: str, settings: dict[str, Any], weights: Any, test: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "network.tpck")
        began = time.perf_counter()
        report = tensorpress.torch.save(weights, path, **settings)
        saved = time.perf_counter()
        copy = tensorpress.torch.load(path)
        loaded = time.perf_counter()
    errors = [each.max_rel_error for each in report.tensors]
    return {
        "setting": name,
        "bytes_in": report.bytes_in,
        "bytes_out": report.bytes_out,
        "ratio": report.ratio,
        "max_rel_error": max(errors),
        "accuracy": accuracy(copy, *test),
        "save_seconds": saved - began,
        "load_seconds": loaded - saved,
    }


def table(result: dict[str, Any]) -> str:
    lines = [
        f"# {result['network']}: {result['command']}",
        "",
        f"tensorpress {result['version']}, torch {result['torch']}, one thread. Measured here.",
        f"torch.save: {result['torch_save_bytes']} bytes, deflated {result['deflated_bytes']}.",
        "",
        "| setting | file bytes | ratio | largest error, of a tensor's range | test accuracy % |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['setting']} | {row['bytes_out']} | {row['ratio']:.2f} "
            f"| {row['max_rel_error']:.2g} | {row['accuracy']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=10000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    checkpoint = torch.load(
        options.data / "networks" / "resnet20-12fca82f.th", map_location="cpu", weights_only=True
    )
    weights = {
        name.removeprefix("module."): each for name, each in checkpoint["state_dict"].items()
    }
    x, labels = images(options.data / "cifar10" / "test_batch.bin")
    test = x[: options.images], labels[: options.images]
    plain = io.BytesIO()
    torch.save(weights, plain)
    result: dict[str, Any] = {
        "command": "bench/checkpoint_size.py DATA",
        "network": "ResNet-20 trained on CIFAR-10, weights and norms",
        "version": tensorpress.__version__,
        "torch": torch.__version__,
        "torch_save_bytes": len(plain.getvalue()),
        "deflated_bytes": len(zlib.compress(plain.getvalue(), 9)),
        "accuracy_before": accuracy(weights, *test),
        "rows": [],
    }
    for name, settings in SETTINGS:
        result["rows"].append(measure(name, settings, weights, test))
        print(result["rows"][-1], flush=True)
    print(table(result))
    if options.output:
        options.output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
        options.output.with_suffix(".md").write_text(table(result))


if __name__ == "__main__":
    main()
