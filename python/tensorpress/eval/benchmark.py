"""What a benchmark is: data, a network for each scale, a loss, and the number it is judged by.

The list of benchmarks is in benchmarks/__init__.py, one file each.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

SCALES = {
    "full": "the paper's configuration",
    "quick": "a smaller network on part of the data, some minutes a run",
    "small": "smaller still, less than a minute a run: for many seeds",
    "smoke": "seconds, to see that everything works; the numbers mean nothing",
}


class DataError(ValueError):
    """Data that a benchmark cannot use; the message says what is missing."""


@dataclass(frozen=True)
class Data:
    """Inputs are float32, uint8 (which stands for x / 255) or int64 (tokens), samples first."""

    train_inputs: torch.Tensor
    train_targets: torch.Tensor
    test_inputs: torch.Tensor
    test_targets: torch.Tensor
    source: str

    def first(self, train: int, test: int) -> Data:
        return Data(
            self.train_inputs[:train],
            self.train_targets[:train],
            self.test_inputs[:test],
            self.test_targets[:test],
            self.source,
        )


@dataclass(frozen=True)
class Scale:
    """How much of a benchmark is run. `adam` instead of the published SGD and a learning rate that
    rises and falls (one_cycle) let the smaller scales learn something in their few steps. An epoch
    sees one of `parts` equal parts of the data, so that a curve may have points within one pass.

    channels_last is faster, and safe only where 1 x 1 convolutions with a stride have 16 channels
    or more: with fewer, oneDNN writes behind its buffers (uxlfoundation/oneDNN issue 6035)."""

    network: Callable[..., torch.nn.Module]
    arguments: Mapping[str, Any]
    train: int
    test: int
    extent: int
    batch: int
    epochs: int
    learning_rate: float
    adam: bool = False
    one_cycle: bool = False
    channels_last: bool = False
    parts: int = 1

    @property
    def memory_format(self) -> torch.memory_format:
        return torch.channels_last if self.channels_last else torch.contiguous_format

    def make_network(self) -> torch.nn.Module:
        return self.network(**self.arguments).to(memory_format=self.memory_format)

    def describe(self) -> dict[str, Any]:
        arguments = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return {
            "network": f"{self.network.__name__}({arguments})",
            "extent": self.extent,
            "batch": self.batch,
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "optimizer": "Adam" if self.adam else "SGD, momentum 0.9, weight decay 1e-4",
            "memory_format": "channels_last" if self.channels_last else "contiguous",
            "schedule": "rises and falls linearly" if self.one_cycle else "constant",
            **({} if self.parts == 1 else {"parts": self.parts}),
        }


@dataclass(frozen=True)
class Benchmark:
    """serialize:      the s of partial serialization that the compressor uses
    tokens:         inputs are numbers of tokens, which no codec with an error may change
    begin:          what becomes of the network and the weights of --start before training
    keeps_weights:  leaves what a run has learned beside its result, for another one's --start
    """

    name: str
    summary: str
    scales: Mapping[str, Scale]
    load: Callable[[pathlib.Path | None, Scale], Data]
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    accuracy: bool = False
    serialize: int = 1
    tokens: bool = False
    begin: Callable[[torch.nn.Module, dict[str, torch.Tensor]], torch.nn.Module] | None = None
    keeps_weights: bool = False
    prepare: Callable[[torch.Tensor], torch.Tensor] = field(default=lambda inputs: inputs)

    @property
    def metric(self) -> str:
        """What the paper reports of the test data: accuracy of classify, the loss of the others."""
        return "test_accuracy" if self.accuracy else "test_loss"
