"""The autoencoder of optical_damage (SciML-Bench): three convolutions and two max-pools down to a
vector, and two transposed convolutions up again. It learns undamaged optics; damage then shows as
a large reconstruction error."""

from __future__ import annotations

import torch
from torch import nn


class Autoencoder(nn.Module):
    """extent: height and width, a multiple of 4
    widths: channels at full, half and quarter size; published (64, 32, 16)
    latent: the length of the vector in the middle; published 512"""

    def __init__(
        self,
        channels: int = 1,
        extent: tuple[int, int] = (200, 200),
        widths: tuple[int, int, int] = (64, 32, 16),
        latent: int = 512,
    ) -> None:
        super().__init__()
        top, middle, bottom = widths
        height, width = (side // 4 for side in extent)
        self.encoder = nn.Sequential(
            *_normalized(nn.Conv2d(channels, top, 3, padding=1), top),
            nn.MaxPool2d(2),
            *_normalized(nn.Conv2d(top, middle, 3, padding=1), middle),
            nn.MaxPool2d(2),
            *_normalized(nn.Conv2d(middle, bottom, 3, padding=1), bottom),
            nn.Flatten(),
            nn.Linear(bottom * height * width, latent),
        )
        self.decoder = nn.Sequential(
            nn.Linear(latent, bottom * height * width),
            nn.Unflatten(1, (bottom, height, width)),
            nn.BatchNorm2d(bottom),
            nn.Conv2d(bottom, bottom, 3, padding=1),
            nn.ReLU(),
            *_normalized(_doubled(bottom, middle), middle),
            nn.Conv2d(middle, middle, 3, padding=1),
            nn.ReLU(),
            *_normalized(_doubled(middle, top), top),
            nn.Conv2d(top, top, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(top, channels, 1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(x))


def _normalized(convolution: nn.Module, width: int) -> tuple[nn.Module, ...]:
    return convolution, nn.ReLU(), nn.BatchNorm2d(width)


def _doubled(inputs: int, outputs: int) -> nn.ConvTranspose2d:
    return nn.ConvTranspose2d(inputs, outputs, 3, stride=2, padding=1, output_padding=1)
