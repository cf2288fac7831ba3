"""The deep encoder-decoder of em_denoise (SciML-Bench): levels of two convolutions, each followed
by ReLU and batch normalization; max-pools down, bilinear interpolation and concatenation up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import nn


def _level(inputs: int, outputs: int, normalize: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for size in (inputs, outputs):
        layers += [nn.Conv2d(size, outputs, 3, padding=1), nn.ReLU()]
        if normalize:
            layers.append(nn.BatchNorm2d(outputs))
    return nn.Sequential(*layers)


class EncoderDecoder(nn.Module):
    """widths: channels from the top level to the bottom; the planes must be a multiple of
    2 ** (len(widths) - 1). Published: (8, 16, 32, 64), and a ReLU at the very end, which is left
    out here because it stops learning when it starts below zero."""

    def __init__(
        self,
        channels: int = 1,
        outputs: int = 1,
        widths: Sequence[int] = (8, 16, 32, 64),
        normalize: bool = True,
        last_kernel: int = 3,
    ) -> None:
        super().__init__()
        sizes = [channels, *widths]
        pairs = itertools.pairwise(sizes)
        self.down = nn.ModuleList(_level(above, here, normalize) for above, here in pairs)
        self.up = nn.ModuleList(
            _level(below + here, here, normalize)
            for here, below in zip(widths[-2::-1], widths[:0:-1], strict=True)
        )
        self.pool = nn.MaxPool2d(2)
        self.enlarge = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.last = nn.Conv2d(widths[0], outputs, last_kernel, padding=last_kernel // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for level, down in enumerate(self.down):
            x = down(self.pool(x) if level else x)
            kept.append(x)
        kept.pop()
        for up in self.up:
            x = up(torch.cat((self.enlarge(x), kept.pop()), dim=1))
        return self.last(x)
