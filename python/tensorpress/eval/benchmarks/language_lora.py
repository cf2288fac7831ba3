"""language_lora: the network of language_model goes on with another text, through adapters of
rank 8 beside its linear layers; its own weights are frozen."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import torch

from ..benchmark import Benchmark, Data, Scale
from ..networks import with_lora
from ..sources import text
from .language_model import LANGUAGE_MODEL


def load(folder: pathlib.Path | None, scale: Scale) -> Data:
    return text.load(folder, "finetune", scale.extent, scale.train, scale.test)


def begin(model: torch.nn.Module, weights: dict[str, torch.Tensor]) -> torch.nn.Module:
    model.load_state_dict(weights)
    return with_lora(model)


LANGUAGE_LORA = Benchmark(
    name="language_lora",
    summary="continue a model of language_model on another text through adapters (LoRA, rank 8)",
    load=load,
    loss=LANGUAGE_MODEL.loss,
    tokens=True,
    begin=begin,
    scales={
        name: replace(scale, train=scale.train // 2, epochs=parts, parts=parts)
        for name, scale in LANGUAGE_MODEL.scales.items()
        for parts in [max(scale.parts // 2, 1)]
    },
)
