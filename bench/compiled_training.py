"""Compressed activations under torch.compile: bytes, peaks, times and gradients, in one run.

    ./dev build && .venv/bin/python bench/compiled_training.py [NETWORK...] [--repeat 15]

Small networks train one step with Inductor's code: plain torch.compile, and the levels of
tensorpress.torch.compile; eager PyTorch and compress_activations stand beside them. Saved bytes are
what the compiled forward holds for backward, besides parameters and the batch; peaks are what
PyTorch's profiler counted in one step, gradients included; times are the best of the repetitions,
of the CPU, which other programs disturb less; cosine and error compare all gradients of a step with
those of eager PyTorch. Writes bench/results/compiled_training.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from paired_runs import described, machine
from torch import nn

import tensorpress.torch
from tensorpress.eval.networks import Gpt2, UNet, VitTiny, resnet18
from tensorpress.torch.peak_memory import measured_peak

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
LEVELS = ("balanced", "max")
WAYS = ("eager", "eager balanced", "compiled", *LEVELS)


class LlamaLayer(nn.Module):
    """RMSNorm, rotary positions, SwiGLU (Touvron et al. 2023)."""

    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(features), nn.RMSNorm(features)
        self.qkv = nn.Linear(features, 3 * features, bias=False)
        self.out = nn.Linear(features, features, bias=False)
        self.gate, self.up = (nn.Linear(features, 3 * features, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * features, features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        normed = self.norm2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


def rotated(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    speed = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
    angle = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * speed
    first, second = x.chunk(2, -1)
    turned = first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()
    return torch.cat(turned, -1)


class Llama(nn.Module):
    def __init__(self, tokens: int = 512, layers: int = 8, features: int = 256) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, features)
        self.layers = nn.Sequential(*(LlamaLayer(features, 8) for _ in range(layers)))
        self.norm = nn.RMSNorm(features)
        self.head = nn.Linear(features, tokens, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.layers(self.embedding(tokens)))).flatten(0, 1)


def _tokens(most: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, most, shape)


# The network, its batch and its labels; of an image the classes, of a UNet a value a pixel.
NETWORKS: dict[str, Callable[[], tuple[nn.Module, torch.Tensor, torch.Tensor]]] = {
    "Llama, 8 x 256": lambda: (Llama(), _tokens(512, 4, 128), _tokens(512, 4 * 128)),
    "GPT-2, 6 x 192": lambda: (
        Gpt2(512, 128, 6, 192),
        _tokens(512, 8, 128),
        _tokens(512, 8 * 128),
    ),
    "ViT, 6 x 96": lambda: (VitTiny(10, 6, 96), torch.randn(16, 3, 32, 32), _tokens(10, 16)),
    "ResNet-18, width 16": lambda: (
        resnet18(width=16),
        torch.randn(32, 3, 32, 32),
        _tokens(10, 32),
    ),
    "UNet, 8 to 64": lambda: (
        UNet(3, 1, (8, 16, 32, 64)),
        torch.randn(4, 3, 64, 64),
        torch.rand(4, 1, 64, 64),
    ),
}


def loss_of(result: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    if labels.is_floating_point():
        return F.binary_cross_entropy_with_logits(result, labels)
    return F.cross_entropy(result, labels)


def held(result: torch.Tensor, model: nn.Module, batch: torch.Tensor) -> int | None:
    """Bytes that compiled forward passes hold; None in eager mode."""
    outside = (*model.parameters(), *model.buffers(), batch, result)
    alive = {tensor.untyped_storage()._cdata for tensor in outside}
    found: dict[int, int] = {}
    compiled = False
    waiting, seen = [result.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [following for following, _ in node.next_functions]
        if "CompiledFunction" in type(node).__name__:
            compiled = True
            unchecked = getattr(node, "_tensors_no_vc_check", None) or ()
            for tensor in (*node.saved_tensors, *unchecked):
                storage = tensor.untyped_storage()
                if storage._cdata not in alive:
                    found[storage._cdata] = storage.nbytes()
    return sum(found.values()) if compiled else None


exact_gradients: dict[str, torch.Tensor] = {}  # by network, of the first way, which is eager


def measure(name: str, way: str, repeat: int) -> dict[str, Any]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, batch, labels = NETWORKS[name]()
    run: Any = model
    hooks = None
    if way == "compiled":
        run = torch.compile(model)
    elif way in LEVELS:
        run = tensorpress.torch.compile(model, way)
    elif way != "eager":
        hooks = tensorpress.torch.compress_activations(model, way.removeprefix("eager "))
        hooks.__enter__()

    def step() -> None:
        model.zero_grad(set_to_none=True)
        loss_of(run(batch), labels).backward()

    began = time.perf_counter()
    step()
    first = time.perf_counter() - began
    gradients = torch.cat([weight.grad.flatten() for weight in model.parameters()])
    saved = held(run(batch), model, batch)
    seconds = []
    for _ in range(repeat):
        began = time.process_time()
        step()
        seconds.append(time.process_time() - began)
    with measured_peak(model) as peaks:
        step()
    if hooks is not None:
        saved = hooks.report().stored_bytes
        hooks.__exit__(None, None, None)
    elif way == "eager":
        with tensorpress.torch.compress_activations(model, "off") as off:
            step()
        saved = off.report().saved_bytes
    exact, found = exact_gradients.setdefault(name, gradients).double(), gradients.double()
    row = {
        "network": name,
        "way": way,
        "saved_bytes": saved,
        "peak_bytes": peaks[0].activations_and_gradients,
        "step_cpu_seconds": min(seconds),
        "first_step_seconds": first,
        "cosine": float(F.cosine_similarity(found, exact, dim=0)),
        "error": float((found - exact).norm() / exact.norm()),
    }
    print(row, flush=True)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| network | way | saved MB | to compiled | peak MB | to compiled | CPU time to compiled "
        "| cosine | relative error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    bases = {row["network"]: row for row in rows if row["way"] == "compiled"}
    for row in rows:
        base = bases[row["network"]]
        ratios = {
            key: row[key] / base[key] for key in ("saved_bytes", "peak_bytes", "step_cpu_seconds")
        }
        lines.append(
            f"| {row['network']} | {row['way']} | {row['saved_bytes'] / 1e6:.2f} "
            f"| {ratios['saved_bytes']:.2f} | {row['peak_bytes'] / 1e6:.1f} "
            f"| {ratios['peak_bytes']:.2f} | {ratios['step_cpu_seconds']:.2f} "
            f"| {row['cosine']:.5f} | {row['error']:.4f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("networks", nargs="*", help=f"of {', '.join(NETWORKS)}; all if none")
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    names = [
        name
        for name in NETWORKS
        if not options.networks or any(given in name for given in options.networks)
    ]
    rows = [measure(name, way, options.repeat) for name in names for way in WAYS]
    found = {"machine": machine(), "rows": rows}
    (RESULTS / "compiled_training.json").write_text(json.dumps(found, indent=1) + "\n")
    text = (
        "# Compressed activations under torch.compile\n\n"
        f"`bench/compiled_training.py`, {described(found['machine'])}. `balanced` and `max` are "
        "levels of `tensorpress.torch.compile`; ratios are to plain `torch.compile` of the same "
        "run. Gradients are compared with eager PyTorch's.\n\n"
    )
    (RESULTS / "compiled_training.md").write_text(text + table(rows) + "\n")


if __name__ == "__main__":
    main()
