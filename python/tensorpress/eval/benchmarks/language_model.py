"""language_model: a small GPT-2 learns text byte by byte, from the beginning.

The published benchmarks have no text; this one is for compressed activations (--activations).
The loss is that of the next byte, in nats: divided by log 2 it is bits a byte.
"""

from __future__ import annotations

import pathlib

import torch
from torch.nn.functional import cross_entropy

from ..benchmark import Benchmark, Data, Scale
from ..networks import Gpt2
from ..sources import text


def load(folder: pathlib.Path | None, scale: Scale) -> Data:
    return text.load(folder, "pretrain", scale.extent, scale.train, scale.test)


def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return cross_entropy(logits, targets.flatten())


def network(length: int, layers: int, features: int) -> dict[str, int]:
    return {"tokens": 256, "length": length, "layers": layers, "features": features}


SCALES = {
    "full": Scale(
        *(Gpt2, network(256, 6, 384), 64_000, 1_000, 256, 16, 20, 1e-3, True, True), parts=20
    ),
    "quick": Scale(
        *(Gpt2, network(128, 4, 192), 16_000, 256, 128, 16, 10, 2e-3, True, True), parts=10
    ),
    "small": Scale(
        *(Gpt2, network(128, 4, 96), 8_000, 192, 128, 16, 10, 3e-3, True, True), parts=10
    ),
    "smoke": Scale(Gpt2, network(32, 2, 48), 64, 16, 32, 8, 2, 4e-3, True, parts=2),
}

LANGUAGE_MODEL = Benchmark(
    name="language_model",
    summary="learn text byte by byte with a small GPT-2, from the beginning",
    load=load,
    loss=loss,
    tokens=True,
    keeps_weights=True,
    scales=SCALES,
)
