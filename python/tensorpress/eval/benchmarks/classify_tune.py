"""classify_tune: a trained ResNet-20 goes on with pictures of CIFAR-10, at a learning rate that
moves its weights. It shows whether an accuracy above 90 % is kept, not how it is reached."""

from __future__ import annotations

import pathlib

import torch
from torch.nn.functional import cross_entropy

from ..benchmark import Benchmark, Data, Scale
from ..networks import ResNet20
from ..sources import cifar10, generated

# What the published weights were trained with.
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def load(folder: pathlib.Path | None, scale: Scale) -> Data:
    if folder is None:
        return generated.pictures(scale.train, scale.test, scale.extent)
    return cifar10.load(folder).first(scale.train, scale.test)


def prepare(inputs: torch.Tensor) -> torch.Tensor:
    return (inputs - MEAN) / STD


def begin(model: torch.nn.Module, weights: dict[str, torch.Tensor]) -> torch.nn.Module:
    model.load_state_dict(weights)
    return model


CLASSIFY_TUNE = Benchmark(
    name="classify_tune",
    summary="train a trained ResNet-20 further on pictures of CIFAR-10, 3 x 32 x 32",
    load=load,
    loss=cross_entropy,
    accuracy=True,
    prepare=prepare,
    begin=begin,
    scales={
        "full": Scale(
            ResNet20, {}, 50_000, 10_000, 32, 128, 10, 0.02, one_cycle=True, channels_last=True
        ),
        "quick": Scale(
            ResNet20, {}, 10_000, 10_000, 32, 100, 4, 0.02, one_cycle=True, channels_last=True
        ),
        "small": Scale(
            ResNet20, {}, 5_000, 5_000, 32, 100, 2, 0.02, one_cycle=True, channels_last=True
        ),
        "smoke": Scale(ResNet20, {"width": 4}, 200, 100, 32, 50, 2, 0.02),
    },
)
