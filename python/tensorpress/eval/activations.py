"""Series that train on the data as they are and compress what autograd saves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..torch import compress_activations
from ..torch.packing.codecs import Quantize
from ..torch.policy.levels import LEVELS, Level
from ..torch.policy.policy import Policy, codec_of
from .series import Series, parameters_of

# As in every level: one bit less here is a factor in the gradients.
EXPONENTIAL = Quantize(bits=8)


@dataclass(frozen=True)
class ActivationSeries(Series):
    """`policy` is used in training only; tests save nothing."""

    policy: Policy | None = None

    @property
    def activations(self) -> dict[str, Any] | None:
        """What distinguishes this run from others, for its configuration."""
        assert self.policy is not None
        level = self.policy.level
        codecs = {kind: getattr(level, kind).describe() for kind in KINDS}
        return {"policy": level.name, **codecs}

    @contextlib.contextmanager
    def training(self, model: torch.nn.Module, seed: int) -> Iterator[dict[str, Any]]:
        measured: dict[str, Any] = {}
        with compress_activations(model, self.policy, seed=seed) as run:
            yield measured
        report = run.report()
        measured["saved_bytes"] = report.saved_bytes
        measured["stored_bytes"] = report.stored_bytes
        measured["ratio"] = report.ratio
        measured["notes"] = report.notes


KINDS = ("linear", "smooth", "exponential")


def activation_series(texts: Sequence[str]) -> list[Series]:
    """Levels by their names, and codecs with parameters, such as quantize:bits=4 or cast:to=e4m3.

    A codec is for values that gradients are linear in or a smooth function of; those whose
    exponential matters have 8 bits, as in every level, and masks and signs are exact.
    """
    return [_series(text) for text in texts]


def _series(text: str) -> Series:
    if text in LEVELS:
        policy = Policy(LEVELS[text])
        return ActivationSeries(f"level-{text}", f"level {text}", policy=policy)
    name, _, rest = text.partition(":")
    if not rest:
        _ = Policy.read(name)  # says which levels there are
    codec = codec_of({"codec": name, **parameters_of(text, rest)}, f"--activations {text}")
    label = codec.describe()
    file_name = label.replace(" ", "-").replace("=", "-")
    policy = Policy(Level(label, codec, codec, EXPONENTIAL))
    return ActivationSeries(f"activations-{file_name}", label, policy=policy)
