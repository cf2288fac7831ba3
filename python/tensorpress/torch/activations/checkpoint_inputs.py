"""Inputs of parts of a network that torch.utils.checkpoint computes again in backward.

They are compressed only if nothing in the part chooses by values: a mixture of experts that is
computed from nearly the same input may send a token to another expert, and PyTorch then finds
tensors of other sizes and stops. That is known when the part has run. So each input is first kept,
and stored by its codec when the next tensor is saved or one is asked for.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import NamedTuple

import torch

from ..policy.saved_by import WatchedFunctions
from .report import Activation
from .requirements import Requirement
from .stored_value import StoredValue

Store = Callable[[StoredValue, torch.Tensor, Requirement, Activation], Requirement]


class Waiting(NamedTuple):
    value: weakref.ref[StoredValue]
    requirement: Requirement
    record: Activation


class CheckpointInputs:
    """Those of the last part wait, and are then stored by `store`. `notes` are the run's, and get a
    remark if inputs stay as they are."""

    def __init__(self, functions: WatchedFunctions, store: Store, notes: dict[str, str]) -> None:
        self._functions = functions
        self._store = store
        self._notes = notes
        self._waiting: list[Waiting] = []
        self._waiting_since = 0  # as functions count

    def wait(self, value: StoredValue, requirement: Requirement, record: Activation) -> None:
        """For a value that is kept, until its part of the network has run."""
        self._waiting.append(Waiting(weakref.ref(value), requirement, record))
        self._waiting_since = self._functions.count

    def settle(self) -> None:
        """Stores inputs whose part has run, or leaves them as they are."""
        if not self._waiting or self._functions.count == self._waiting_since:
            return
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            self._settle(each)

    def _settle(self, waiting: Waiting) -> None:
        value = waiting.value()
        if value is None or value.kept is None:
            return
        if self._functions.choosing:
            self._notes.setdefault(
                "inputs of checkpointed parts are kept as they are, because "
                f"{self._functions.choosing} chooses by values inside of one",
                value.name,
            )
        elif value.kept._version == value.version:
            kept, value.kept = value.kept, None
            try:
                self._store(value, kept, waiting.requirement, waiting.record)
            except BaseException:
                value.keep(kept)
                raise
