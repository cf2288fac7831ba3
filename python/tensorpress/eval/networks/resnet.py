"""Residual networks for 32 x 32 images (He et al. 2016), as CIFAR-10 is used with:
a 3 x 3 stem without pooling, and global average pooling before the one linear layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


def _normalized(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """A convolution without bias, and the batch normalization that has one."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    """relu(x + f(x)), f two 3 x 3 convolutions; x is projected where its shape would not fit."""

    expansion = 1

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.first = _normalized(inputs, outputs, 3, stride)
        self.second = _normalized(outputs, outputs, 3)
        self.relu = nn.ReLU()
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else _normalized(inputs, outputs, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.shortcut(x) + self.second(self.relu(self.first(x))))


class Bottleneck(nn.Module):
    """relu(x + f(x)), f convolutions of 1 x 1, 3 x 3 and 1 x 1, the last to four times the
    width."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int = 1) -> None:
        super().__init__()
        outputs = self.expansion * width
        self.first = _normalized(inputs, width, 1)
        self.second = _normalized(width, width, 3, stride)
        self.third = _normalized(width, outputs, 1)
        self.relu = nn.ReLU()
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else _normalized(inputs, outputs, 1, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.relu(self.second(self.relu(self.first(x))))
        return self.relu(self.shortcut(x) + self.third(hidden))


class ResNet(nn.Module):
    """Stages of blocks; every stage but the first halves the planes.

    blocks:      how many blocks each stage has
    widths:      how many channels each stage has
    stem_stride: 2 quarters the work of everything that follows
    """

    def __init__(
        self,
        blocks: Sequence[int],
        widths: Sequence[int],
        classes: int = 10,
        channels: int = 3,
        stem_stride: int = 1,
        block: type[BasicBlock] | type[Bottleneck] = BasicBlock,
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(_normalized(channels, widths[0], 3, stem_stride), nn.ReLU())
        stages = []
        inputs = widths[0]
        for stage, (depth, width) in enumerate(zip(blocks, widths, strict=True)):
            strides = [1 if stage == 0 else 2] + [1] * (depth - 1)
            outputs = block.expansion * width
            sizes = [inputs] + [outputs] * (depth - 1)
            pairs = zip(sizes, strides, strict=True)
            stages.append(nn.Sequential(*(block(size, width, step) for size, step in pairs)))
            inputs = outputs
        self.stages = nn.Sequential(*stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(self.stages(self.stem(x))).flatten(1))


def resnet18(classes: int = 10, channels: int = 3, width: int = 64) -> ResNet:
    """Width 64 is the published network: 11.2 million parameters."""
    return ResNet((2, 2, 2, 2), [width << stage for stage in range(4)], classes, channels)


def resnet34(classes: int = 10, channels: int = 3, width: int = 64, stem_stride: int = 1) -> ResNet:
    """The network of the paper's classify benchmark: 21.3 million parameters at width 64."""
    widths = [width << stage for stage in range(4)]
    return ResNet((3, 4, 6, 3), widths, classes, channels, stem_stride)


def resnet50(classes: int = 10, channels: int = 3, width: int = 64) -> ResNet:
    """Bottlenecks: 23.5 million parameters at width 64."""
    widths = [width << stage for stage in range(4)]
    return ResNet((3, 4, 6, 3), widths, classes, channels, block=Bottleneck)


def resnet_small(
    classes: int = 10, channels: int = 3, width: int = 16, stem_stride: int = 2
) -> ResNet:
    """Three stages of one block: an epoch of 10,000 images takes seconds on one core."""
    widths = [width << stage for stage in range(3)]
    return ResNet((1, 1, 1), widths, classes, channels, stem_stride)
