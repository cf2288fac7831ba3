"""One short training on CIFAR-10, the same for every way to run its steps.

SGD with Nesterov momentum, a learning rate that rises and falls, flips. Runs of one
seed see the same images in the same order with the same flips.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

BATCH = 100
LAST_STEPS = 50  # whose mean training loss is reported: the same batches for every run of a seed
# Leaves the batch's gradients in .grad of the parameters.
Gradients = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def normalized(pixels: torch.Tensor) -> torch.Tensor:
    return (pixels.float() / 255 - 0.4734) / 0.2516


def train(
    model: nn.Module,
    gradients: Gradients,
    data: Any,
    *,
    seed: int,
    epochs: int,
    peak: float,
    batch: int = BATCH,
) -> dict[str, Any]:
    """The losses of all steps and the seconds they took; `peak` is the highest learning rate."""
    order = torch.Generator().manual_seed(1000 + seed)
    steps = epochs * len(data.train_inputs) // batch
    optimizer = torch.optim.SGD(
        model.parameters(), lr=peak, momentum=0.9, nesterov=True, weight_decay=5e-4
    )
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (0.3 * steps), (steps - step) / (0.7 * steps))
    )
    losses = []
    began = time.perf_counter()
    for _ in range(epochs):
        for chosen in torch.randperm(len(data.train_inputs), generator=order).split(batch):
            x = normalized(data.train_inputs[chosen])
            flip = torch.rand(len(x), generator=order) < 0.5
            x[flip] = x[flip].flip(-1)
            optimizer.zero_grad()
            loss = gradients(x, data.train_targets[chosen])
            optimizer.step()
            rate.step()
            losses.append(loss.item())
    return {"losses": losses, "seconds": time.perf_counter() - began}


def accuracy(model: nn.Module, data: Any) -> float:
    """Percent of the test images."""
    model.eval()
    with torch.inference_mode():
        found = [model(normalized(part)).argmax(1) for part in data.test_inputs.split(500)]
    return 100 * (torch.cat(found) == data.test_targets).double().mean().item()
