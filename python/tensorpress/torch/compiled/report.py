"""What compiled forward passes saved, as the report of compress_activations has it.

The partitioner writes a plan into each graph: the values that it saves, and how. The graph tells
its plan whenever it runs (stash.saved_values), so a graph from a cache, for which no partitioner
ran, is in the report too.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import threading
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import torch

from ..activations.report import Activation, ActivationReport, megabytes
from ..packing.codecs import TensorCodec
from ..policy.policy import Policy, codec_of

SYMBOLIC = -1  # in the shape of a planned value: a size that only a run knows


@dataclasses.dataclass
class PlannedValue:
    """One value that crosses from a compiled forward pass to its backward pass."""

    name: str
    shape: list[int]
    dtype: str
    codec: TensorCodec | None = None  # None: as it is
    bits: int = 0  # masks that are saved beside it or instead of it, one bit a value each
    crosses: bool = True  # otherwise backward is content with the masks, or rebuilds it
    shared: bool = False  # its memory is counted elsewhere, or there anyway
    reason: str = ""  # why it is kept
    saved_by: list[str] = dataclasses.field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**fields, "codec": None if self.codec is None else self.codec.as_dict()}

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> PlannedValue:
        codec = fields["codec"]
        made = None if codec is None else codec_of(codec, fields["name"])
        return cls(**{**fields, "codec": made})

    def activation(self, sizes: Iterator[int]) -> Activation:
        """Takes its unknown sizes from the iterator."""
        shape = tuple(next(sizes) if size == SYMBOLIC else size for size in self.shape)
        dtype = getattr(torch, self.dtype)
        plain = 0 if self.shared else math.prod(shape) * dtype.itemsize
        made = Activation(self.name, shape, self.dtype, plain, saves=1, saved_by=self.saved_by)
        masks = self.bits * ((math.prod(shape) + 7) // 8)
        forms = ["mask"] * min(self.bits, 1)
        if self.codec is not None:
            stored = self.codec.stored_bytes(shape, dtype)
            assert stored is not None
            made.bytes_lossy = stored + 1
            made.bytes_after = made.bytes_lossy + masks
            made.lossy = True
            forms.append(self.codec.describe())
        elif self.crosses:
            made.bytes_after = plain + masks
            forms.append("keep")
        else:
            made.bytes_after = masks
        made.codec = " + ".join(forms) or "rebuilt"
        made.reason = self.reason
        return made


def write_plan(policy: str, values: list[PlannedValue], told: dict[str, Any]) -> str:
    return json.dumps({"policy": policy, **told, "values": [value.as_dict() for value in values]})


class CompiledLedger:
    """What the graphs of one compiled model saved in its last call. `per_graph`: without a model
    there are no calls, and the last run of each graph counts."""

    def __init__(self, per_graph: bool = False) -> None:
        self.steps = 0
        self.runs = 0  # of graphs
        self._per_graph = per_graph
        self.graphs: list[tuple[str, tuple[int, ...]]] = []
        self._raw: dict[str, int] = {}
        self._raw_so_far: dict[str, int] = {}  # of the graph that is running
        self._begins = True

    def call_begins(self) -> None:
        """A call that saves nothing, such as one without gradients, leaves the report as it is."""
        self._begins = True
        self._raw_so_far = {}

    def note_graph(self, plan: str, sizes: tuple[int, ...]) -> None:
        self.runs += 1
        if self._begins:
            self._begins = False
            self.steps += 1
            self.graphs = []
            self._raw = {}
        for name, times in self._raw_so_far.items():
            self._raw[name] = self._raw.get(name, 0) + times
        self._raw_so_far = {}
        if self._per_graph:
            self.graphs = [graph for graph in self.graphs if graph[0] != plan]
        self.graphs.append((plan, sizes))

    def note_raw(self, name: str) -> None:
        self._raw_so_far[name] = self._raw_so_far.get(name, 0) + 1

    def rules(self) -> set[str]:
        """Of the plan, that fit some value."""
        return {rule for plan, _ in self.graphs for rule in json.loads(plan).get("rules", ())}

    def report(self) -> ActivationReport:
        policy = ""
        activations: list[Activation] = []
        budgets, notes = [], []
        for plan, sizes in self.graphs:
            fields = json.loads(plan)
            policy = fields["policy"]
            if "budget" in fields:
                budgets.append(fields["budget"])
                notes.append(_of_budget(fields))
            numbers = iter(sizes)
            values = map(PlannedValue.of_fields, fields["values"])
            activations += [value.activation(numbers) for value in values]
        for activation in activations:
            activation.nonfinite = self._raw.get(activation.name, 0)
            if activation.nonfinite:
                activation.bytes_after += activation.bytes_before
        saved = sum(activation.bytes_before for activation in activations)
        stored = sum(activation.bytes_after for activation in activations)
        if len(budgets) > 1:
            notes.append("the budget is one of each graph: the model is compiled as several")
        return ActivationReport(
            *(policy, self.steps, saved, stored, 0, 0.0, activations),
            budget=max(budgets, default=None),
            notes=notes,
        )


def _of_budget(fields: dict[str, Any]) -> str:
    return (
        f"within the budget of {megabytes(fields['budget'])}: a peak of "
        f"{megabytes(fields['predicted_peak'])} is predicted, of plain torch.compile "
        f"{megabytes(fields['plain_peak'])}; step divided {fields['division']}"
    )


# ---- Whose graph is running ---------------------------------------------------------------------

# Of graphs that run outside of a model of tensorpress.torch.compile.
_outside = CompiledLedger(per_graph=True)
_of_model: weakref.WeakKeyDictionary[torch.nn.Module, CompiledLedger] = weakref.WeakKeyDictionary()
_running = threading.local()


def ledger_now() -> CompiledLedger:
    stack = getattr(_running, "stack", None)
    return stack[-1] if stack else _outside


def watch(compiled: torch.nn.Module, policy: Policy) -> None:
    """The hooks are on the wrapper that torch.compile makes, which Dynamo does not trace."""
    ledger = _of_model[compiled] = CompiledLedger()
    waiting = {*policy.by_name, *policy.by_type}

    def enter(*_: Any) -> None:
        if not hasattr(_running, "stack"):
            _running.stack = []
        ledger.call_begins()
        _running.stack.append(ledger)

    def leave(*_: Any) -> None:
        with contextlib.suppress(IndexError):
            _running.stack.pop()
        if waiting and ledger.steps:
            _warn_of_rules(waiting - ledger.rules())
            waiting.clear()

    compiled.register_forward_pre_hook(enter)
    compiled.register_forward_hook(leave, always_call=True)


def plan_fields(compiled: torch.nn.Module) -> list[dict[str, Any]]:
    """What the partitioner wrote about each graph of the last call."""
    return [json.loads(plan) for plan, _ in _of_model[compiled].graphs]


def _warn_of_rules(unused: set[str]) -> None:
    if unused:
        names = ", ".join(map(repr, sorted(unused)))
        warnings.warn(
            f"the plan has rules for {names}, but the compiled model "
            "saves nothing for them: torch.compile has put these modules into others, or computes "
            "their values again; compiled_report names what is saved",
            RuntimeWarning,
            stacklevel=3,
        )


def compiled_report(compiled: torch.nn.Module | None = None) -> ActivationReport:
    """What the last call of a model of `tensorpress.torch.compile` saved for backward, as a table
    and as a dict. Without a model: the graphs that were compiled with `compile_options` and have
    run so far.

    >>> from torch import nn
    >>> from tensorpress.torch import compile
    >>> model = compile(nn.Sequential(nn.Linear(64, 64), nn.Tanh()), "safe", backend="aot_eager")
    >>> _ = model(torch.randn(4096, 64))
    >>> compiled_report(model).ratio > 3
    True
    """
    if compiled is None:
        return _outside.report()
    if compiled not in _of_model:
        kind = type(compiled).__name__
        raise ValueError(f"this {kind} is not what tensorpress.torch.compile returned")
    return _of_model[compiled].report()
