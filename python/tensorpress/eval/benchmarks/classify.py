"""classify: CIFAR-10 with ResNet34, 3 x 32 x 32, batches of 100, learning rate 0.001 (Table 3)."""

from __future__ import annotations

import pathlib

import torch
from torch.nn.functional import cross_entropy

from ..benchmark import Benchmark, Data, Scale
from ..networks import resnet34, resnet_small
from ..sources import cifar10, generated

# Of CIFAR-10's pixels from 0 to 1; every series gets the same, after decompression.
MEAN, STD = 0.4734, 0.2516


def load(folder: pathlib.Path | None, scale: Scale) -> Data:
    if folder is None:
        return generated.pictures(scale.train, scale.test, scale.extent)
    return cifar10.load(folder).first(scale.train, scale.test)


def prepare(inputs: torch.Tensor) -> torch.Tensor:
    return (inputs - MEAN) / STD


CLASSIFY = Benchmark(
    name="classify",
    summary="classify pictures of CIFAR-10 into 10 classes with ResNet34, 3 x 32 x 32",
    load=load,
    loss=cross_entropy,
    accuracy=True,
    prepare=prepare,
    scales={
        "full": Scale(resnet34, {}, 50_000, 10_000, 32, 100, 30, 1e-3),
        "quick": Scale(
            *(resnet34, {"width": 16, "stem_stride": 2}, 10_000, 2_000, 32, 100, 4, 0.1),
            one_cycle=True,
            channels_last=True,
        ),
        "small": Scale(
            *(resnet_small, {}, 6_000, 4_000, 32, 100, 4, 0.1),
            one_cycle=True,
            channels_last=True,
        ),
        "smoke": Scale(resnet_small, {"width": 4}, 200, 100, 32, 50, 2, 0.1),
    },
)
