"""Low-rank adaptation (Hu et al. 2021): linear layers keep their weights, and two narrow layers
beside each learn what is added."""

from __future__ import annotations

import torch
from torch import nn


class LoraLinear(nn.Module):
    """y = W x + b + (alpha / rank) B A x. W and b are frozen; B begins as zero, so that the first
    step sees the network as it was."""

    def __init__(self, linear: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.down = nn.Linear(linear.in_features, rank, bias=False)
        self.up = nn.Linear(rank, linear.out_features, bias=False)
        nn.init.zeros_(self.up.weight)
        self.scale = alpha / rank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + self.scale * self.up(self.down(x))


def with_lora(model: nn.Module, rank: int = 8, alpha: float = 16.0) -> nn.Module:
    """The same module, in which every linear layer inside a part of it (not those that it owns
    itself, such as a head) has an adapter, and nothing else is trained."""
    model.requires_grad_(False)
    for parent in list(model.modules()):
        if parent is model:
            continue
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear:
                setattr(parent, name, LoraLinear(child, rank, alpha))
    return model
