"""ResNet-20 for CIFAR-10 as published (He et al. 2016, section 4.2): three stages of three blocks,
16, 32 and 64 channels, shortcuts without parameters. Parameters have the names of
akamaster/pytorch_resnet_cifar10, whose trained weights others use."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride, self.added = stride, outputs - inputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        short = x[:, :, :: self.stride, :: self.stride]
        half = self.added // 2  # channels of zeros on both sides
        return F.relu(out + F.pad(short, (0, 0, 0, 0, half, half)))


class ResNet20(nn.Module):
    def __init__(self, classes: int = 10, width: int = 16) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = self._stage(width, width, 1)
        self.layer2 = self._stage(width, 2 * width, 2)
        self.layer3 = self._stage(2 * width, 4 * width, 2)
        self.linear = nn.Linear(4 * width, classes)

    @staticmethod
    def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
        rest = (Block(outputs, outputs, 1) for _ in range(2))
        return nn.Sequential(Block(inputs, outputs, stride), *rest)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean((2, 3)))
