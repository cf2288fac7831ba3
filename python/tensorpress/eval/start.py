"""Weights that a run goes on with, of a file that torch.save wrote."""

from __future__ import annotations

import hashlib
import pathlib
import pickle
from dataclasses import dataclass

import torch

from .benchmark import DataError


@dataclass(frozen=True)
class Start:
    """`digest` tells runs with other weights apart."""

    weights: dict[str, torch.Tensor]
    digest: str

    @classmethod
    def read(cls, path: pathlib.Path) -> Start:
        """A state_dict, or a training's checkpoint that has one; names of DataParallel lose their
        `module.`."""
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError):
            content = None
        if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
            content = content["state_dict"]
        if not isinstance(content, dict) or not all(
            isinstance(value, torch.Tensor) for value in content.values()
        ):
            raise DataError(f"{path} holds no weights: a state_dict that torch.save wrote")
        weights = {name.removeprefix("module."): value for name, value in content.items()}
        return cls(weights, hashlib.sha256(path.read_bytes()).hexdigest())
