"""Compressed activations in the Trainer of Lightning, as a callback."""

from __future__ import annotations

from typing import Any

from ..activations import ActivationReport
from . import missing
from .training_steps import TrainingSteps

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError as error:
    raise missing("lightning", error) from error


class CompressActivations(Callback):
    """Trainer(..., callbacks=[CompressActivations("balanced")])

    The arguments are those of tensorpress.torch.compress_activations. What `training_step` saves
    for backward is compressed, also with manual optimization. `report()` tells what the last step
    saved; validation in between does not change it.
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

    def report(self) -> ActivationReport:
        return self._steps.report()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if pl_module._compiler_ctx is not None:
            raise ValueError(
                "the module is compiled: give fit(tensorpress.torch.compile(module, policy)) and "
                "no callback, and ask tensorpress.torch.compiled_report() for the report"
            )
        self._steps.begin(pl_module, trainer.strategy, "training_step")

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._steps.end()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        self._steps.end()
