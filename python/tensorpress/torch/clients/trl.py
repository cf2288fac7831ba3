"""Compressed activations in the trainers of TRL, which are Trainers of transformers with their own
losses and settings."""

from __future__ import annotations

from . import missing

try:
    import trl  # noqa: F401
except ImportError as error:
    raise missing("trl", error) from error

from . import huggingface


class CompressActivations(huggingface.CompressActivations):
    """SFTTrainer(..., callbacks=[CompressActivations("balanced")])

    As the callback for transformers. TRL checkpoints the layers of a model unless its config says
    gradient_checkpointing=False; then only inputs of layers are saved, and compressed.
    """

    def check(self, trainer: huggingface.Trainer) -> None:
        if getattr(trainer.args, "activation_offloading", False):
            raise ValueError(
                "activation_offloading=True and CompressActivations both store what autograd "
                "saves, and PyTorch would ask only one of them: use one"
            )
