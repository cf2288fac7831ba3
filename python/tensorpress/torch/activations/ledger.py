"""What a run holds between forward and backward, and what it did with each value of a step."""

from __future__ import annotations

import torch

from .report import Activation
from .stored_value import StoredValue, ValueTable, VersionCounter


class Ledger:
    """The accounts of a run, which a step opens anew except for what is still held.

    records         of the step's values, by name
    saved           the most bytes that plain autograd would have held in it, storages once
    held            bytes that are held now
    most_held       the most that were held in this step
    steps           that are over
    step_may_begin  with the next value: a forward pass has begun, or a backward pass has run
    """

    def __init__(self) -> None:
        self.held = 0
        self.steps = 0
        self.step_may_begin = False
        self.records: dict[str, Activation] = {}
        self.saved = self.most_held = 0
        self._plain = 0  # bytes that plain autograd would hold now
        self.values = ValueTable()
        self._quality: dict[str, tuple[float | None, float | None, float | None]] = {}

    def step_begins(self) -> bool:
        """Whether the value that is saved now is the first of a step. A forward pass that saves
        nothing, such as one without gradients, is no step, and neither is one that backward
        runs again."""
        in_backward = torch._C._current_graph_task_id() != -1
        return self.step_may_begin and self.held == 0 and not in_backward

    def begin_step(self) -> None:
        self.step_may_begin = False
        if self.records:
            self.steps += 1
        self.records = {}
        self.saved = self.most_held = 0

    def value_of(self, tensor: torch.Tensor, name: str, whole: torch.Tensor) -> StoredValue:
        """The value that a tensor is a view of: one that is known already, or a new one. `whole` is
        the tensor, or what wraps it."""
        value = self.values.find(tensor, whole)
        return self._new_value(tensor, name, whole) if value is None else value

    def _new_value(self, tensor: torch.Tensor, name: str, whole: torch.Tensor) -> StoredValue:
        value = StoredValue(tensor, self._freed)
        value.name = name
        if whole is not tensor:
            value.wrapper = VersionCounter(whole, wrapper=True)
        known = self.values.of_storage(tensor)
        value.counted = value.plain_bytes
        if any(_overlap(value, other) for other in known):  # no more than the storage has
            rest = tensor.untyped_storage().nbytes() - sum(other.counted for other in known)
            value.counted = max(0, min(rest, value.counted))
        self._plain += value.counted
        self.saved = max(self.saved, self._plain)
        self.record_of(value, name).bytes_before += value.counted
        self.values.add(tensor, value)
        return value

    def record_of(self, value: StoredValue, name: str) -> Activation:
        """The value's record, with `name` among those that saved it."""
        record = self.records.get(value.name)
        if record is None:
            dtype = str(value.dtype).removeprefix("torch.")
            record = Activation(value.name, value.shape, dtype)
            quality = self._quality.get(value.name, (None, None, None))
            record.error, record.max_error, record.sparsity = quality
            self.records[value.name] = record
        if name not in record.saved_by:
            record.saved_by.append(name)
        return record

    def update(self, value: StoredValue, record: Activation) -> None:
        """After something was added to what is held of a value."""
        before, value.held = value.held, value.bytes_now()
        record.bytes_after += value.held - before
        self.held += value.held - before
        self.most_held = max(self.most_held, self.held)

    def remember_quality(self, record: Activation) -> None:
        """For the records of later steps, which do not measure it again."""
        self._quality[record.name] = (record.error, record.max_error, record.sparsity)

    def _freed(self, value: StoredValue) -> None:
        self.held -= value.held
        self._plain -= value.counted


def _overlap(one: StoredValue, other: StoredValue) -> bool:
    return one.span.start < other.span.stop and other.span.start < one.span.stop
