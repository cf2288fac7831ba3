"""Networks like AlexNet (Krizhevsky et al. 2012) for 32 x 32 images: convolutions with three
max-pools between them, then three linear layers with dropout, and no normalization."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


class AlexNet(nn.Module):
    """widths:  channels of the convolutions; the first, the second and the last are pooled
    hidden:  the sizes of the two hidden linear layers
    extent:  height and width of the images, a multiple of 8"""

    def __init__(
        self,
        widths: Sequence[int],
        hidden: tuple[int, int],
        classes: int = 10,
        channels: int = 3,
        extent: int = 32,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = channels
        for place, width in enumerate(widths):
            layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU()]
            if place < 2 or place == len(widths) - 1:
                layers.append(nn.MaxPool2d(2))
            inputs = width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(inputs * (extent // 8) ** 2, hidden[0]),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden[0], hidden[1]),
            nn.ReLU(),
            nn.Linear(hidden[1], classes),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).flatten(1))


def alexnet(classes: int = 10, channels: int = 3) -> AlexNet:
    """The widths of the published network, its first two kernels made smaller: 35.9 million."""
    return AlexNet((64, 192, 384, 256, 256), (4096, 4096), classes, channels)


def alexnet_small(classes: int = 10, channels: int = 3, dropout: float = 0.2) -> AlexNet:
    """0.15 million parameters."""
    return AlexNet((16, 32, 48, 48), (128, 64), classes, channels, dropout=dropout)
