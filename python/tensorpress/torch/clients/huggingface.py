"""Compressed activations in the Trainer of transformers, as a callback.

Trainer tells its callbacks when training begins and ends, but a callback cannot be around the
forward pass, and is not told of exceptions. So the callback finds the trainer that calls it, and
while training compresses what the trainer's `compute_loss` saves for backward.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from ..activations import ActivationReport
from . import missing
from .training_steps import TrainingSteps

try:
    from transformers import Trainer, TrainerCallback
except ImportError as error:
    raise missing("huggingface", error) from error

from .accelerate import compile_with, compiles  # which transformers' Trainer needs too


class CompressActivations(TrainerCallback):
    """Trainer(..., callbacks=[CompressActivations("balanced")])

    The arguments are those of tensorpress.torch.compress_activations. With
    TrainingArguments(torch_compile=True), the compiled graphs pack what they save. `report()` tells
    what the last training step saved; evaluation in between does not change it.
    """

    def __init__(
        self,
        policy: Any = "balanced",
        *,
        budget: int | str | None = None,
        seed: int = 0,
        portable: bool = False,
    ) -> None:
        self._steps = TrainingSteps(policy, budget=budget, seed=seed, portable=portable)
        self._compiles = False

    def report(self) -> ActivationReport:
        return self._steps.report()

    def on_init_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        accelerator = _calling_trainer().accelerator
        if compiles(accelerator):
            options = self._steps.compile_options(others["model"])
            compile_with(accelerator, options, self._steps.begin_compiled)
            self._compiles = True

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        trainer = _calling_trainer()
        self.check(trainer)
        if not compiles(trainer.accelerator):
            self._steps.begin(trainer.model, trainer, "compute_loss")
        elif not self._compiles:
            raise ValueError(
                "torch_compile=True, and this callback was added after the Trainer had been made: "
                "give it to Trainer(callbacks=[...]), which compiles with it"
            )

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        self._steps.end()

    def check(self, trainer: Trainer) -> None:
        """Raises if a setting of the trainer contradicts compression."""


def _calling_trainer() -> Trainer:
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        found = frame.f_locals.get("self")
        if isinstance(found, Trainer):
            return found
        frame = frame.f_back
    raise RuntimeError(
        "CompressActivations was not called by a transformers.Trainer, for which it is; in a loop "
        "of your own use tensorpress.torch.compress_activations"
    )
