"""VGG-11 (Simonyan and Zisserman 2015, configuration A) for 32 x 32 images: eight convolutions,
five max-pools, one linear layer, no normalization."""

from __future__ import annotations

import torch
from torch import nn


class Vgg11(nn.Module):
    def __init__(self, classes: int = 10, channels: int = 3) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for stage in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
            for width in stage:
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).flatten(1))
