"""Bits for each activation so that all of them together fit a number of bytes.

The first step shows the sizes; it runs with as few bits as allowed, so that it fits if anything
does. Then everything begins as it is and goes down, the largest first: all to 8 bits before one of
them goes to 6. What a codec may not go below is what level max says for the functions that save it.
A later step that holds more than that predicts sends values further down, until it fits or nothing
is left to send.
"""

from __future__ import annotations

import dataclasses
import math
import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from ..packing.codecs import Quantize, TensorCodec
from ..policy.levels import ALL_STEPS, KEEP, LEVELS
from ..policy.policy import Policy
from ..policy.saved_by import Need
from .ledger import Ledger
from .report import megabytes
from .requirements import Requirement
from .stored_value import StoredValue

UNITS = {"": 1, "b": 1}
UNITS.update({unit + "b": 1000**power for power, unit in enumerate("kmgt", 1)})
UNITS.update({unit + "ib": 1024**power for power, unit in enumerate("kmgt", 1)})


def parse_bytes(budget: Any) -> int:
    """
    >>> parse_bytes("2GiB"), parse_bytes("1.5 MB"), parse_bytes(4096)
    (2147483648, 1500000, 4096)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", str(budget).lower())
    if isinstance(budget, bool) or not found or found[2] not in UNITS:
        raise ValueError(f"budget {budget!r} is not a number of bytes; write 2GiB, 500MB or 4096")
    size = int(float(found[1]) * UNITS[found[2]])
    if size < 1:
        raise ValueError(f"budget {budget!r} is less than one byte")
    return size


class Observed(NamedTuple):
    """A value that may be stored with less: its size, and the codec that it may not go below."""

    elements: int
    dtype: torch.dtype
    floor: TensorCodec

    def bytes_with(self, codec: TensorCodec) -> int:
        size = codec.stored_bytes((self.elements,), self.dtype)
        assert size is not None  # these codecs know
        return size


class Choice(NamedTuple):
    codecs: dict[str, TensorCodec]
    bytes: int

    def describe(self) -> str:
        counts: dict[str, int] = {}
        for codec in self.codecs.values():
            counts[codec.describe()] = counts.get(codec.describe(), 0) + 1
        return ", ".join(f"{count} with {name}" for name, count in sorted(counts.items()))


def choose(
    values: Mapping[str, Observed],
    fixed: int,
    budget: int,
    best: float = math.inf,
    most: Mapping[str, TensorCodec] | None = None,
) -> Choice:
    """Codecs by name. `fixed` are bytes that nothing can be done about; `best` is the fidelity to
    begin with, and none begins above its codec in `most`. If the budget cannot be reached the
    result is the least that can."""
    steps = [codec for codec in ALL_STEPS if codec.fidelity <= best] or [ALL_STEPS[-1]]
    codecs = {
        name: min((most or {}).get(name, steps[0]), steps[0], key=_fidelity) for name in values
    }
    total = fixed + sum(value.bytes_with(codecs[name]) for name, value in values.items())
    by_size = sorted(values, key=lambda name: -values[name].bytes_with(KEEP))
    for step in steps[1:]:
        for name in by_size:
            if total <= budget:
                return Choice(codecs, total)
            value = values[name]
            if value.floor.fidelity <= step.fidelity < codecs[name].fidelity:
                total += value.bytes_with(step) - value.bytes_with(codecs[name])
                codecs[name] = step
    return Choice(codecs, total)


class Budget:
    """Keeps a run below `limit` bytes between forward and backward. `best` is the fidelity that
    values may have at most. `notes` are the run's, and get a remark if the limit cannot be kept."""

    def __init__(self, limit: int, best: float, notes: dict[str, str]) -> None:
        self.limit = limit
        self.choice: Choice | None = None
        self._best = best
        self._notes = notes
        self._all_fits = False  # with what is computed again now
        self._observed: dict[str, Observed] = {}

    @staticmethod
    def policy_of_first_step(policy: Policy) -> Policy:
        """The same rules on level max. What that level quantizes is what a budget may choose for,
        and the first step takes as few bytes as any."""
        return dataclasses.replace(policy, level=LEVELS["max"])

    @property
    def is_roomy(self) -> bool:
        """Whether everything fits as it is, and nothing need be computed again in backward."""
        chosen = None if self.choice is None or not self._all_fits else self.choice.codecs.values()
        return bool(chosen) and all(codec == KEEP for codec in chosen or ())

    def requirement_within(self, value: StoredValue, requirement: Requirement) -> Requirement:
        """Values that the level would quantize are stored as the budget allows."""
        codec = requirement.codec
        values = requirement.need is Need.VALUES and not requirement.mask
        if not values or not isinstance(codec, Quantize):
            return requirement
        seen = self._observed.get(value.name, Observed(0, value.dtype, codec))
        new = seen.elements == 0 or (value.stored is None and value.kept is None)
        elements = seen.elements + (value.elements if new else 0)
        floor = max(seen.floor, codec, key=_fidelity)
        self._observed[value.name] = Observed(elements, value.dtype, floor)
        if self.choice is None or value.name not in self.choice.codecs:
            return requirement._replace(codec=KEEP) if self.is_roomy else requirement
        return requirement._replace(codec=self.choice.codecs[value.name])

    def has_stored(self, value: StoredValue) -> None:
        """A value that is kept although it was to be packed leaves no choice: another function
        needs it exactly."""
        seen = self._observed.get(value.name)
        if seen is not None and value.kept is not None and self._codec(value.name, seen) != KEEP:
            del self._observed[value.name]

    def end_step(self, ledger: Ledger) -> None:
        """Chooses from the sizes of the step that is over; again if a later one holds more."""
        observed, self._observed = self._observed, {}
        if not ledger.records or (self.choice and ledger.most_held <= self.limit):
            return
        packed = sum(value.bytes_with(self._codec(name, value)) for name, value in observed.items())
        before = None if self.choice is None else self.choice.codecs
        self._all_fits = ledger.saved <= self.limit
        fixed = ledger.most_held - packed
        self.choice = choose(observed, fixed, self.limit, self._best, before)
        if self.choice.bytes > self.limit:
            self._remark(
                f"the budget of {megabytes(self.limit)} cannot be reached: the least that this "
                f"model and batch take is {megabytes(self.choice.bytes)}; use a smaller batch"
            )

    def _codec(self, name: str, value: Observed) -> TensorCodec:
        """What the step that is running stores a value with."""
        if self.choice is None:
            return value.floor
        return self.choice.codecs.get(name, KEEP if self.is_roomy else value.floor)

    def remark_on(self, held: int) -> list[str]:
        """For the report of a step that held more than the limit."""
        if held <= self.limit:
            return []
        return [
            f"the last step held {megabytes(held)}, more than the budget of "
            f"{megabytes(self.limit)}: the next takes fewer bits where it may; if this stays, use "
            "a smaller batch or a larger budget"
        ]

    def _remark(self, message: str) -> None:
        if message not in self._notes:
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        self._notes[message] = ""


def _fidelity(codec: TensorCodec) -> float:
    return codec.fidelity
