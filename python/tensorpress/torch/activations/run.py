"""Training with compressed activations: one line around the forward pass, or around the loop.

    with tensorpress.torch.compress_activations(model, "balanced") as run:
        for images, labels in loader:
            loss = criterion(model(images), labels)
            loss.backward()
            ...
    print(run.report())

Built on torch.autograd.graph.saved_tensors_hooks. What autograd saves is stored as its backward
needs it (saved_by.py), once for each value (stored_value.py), with the codec that the policy says
(plan.py). docs/guide/activations.md tells users what to expect.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from ..module_names import ModuleNames
from ..packing.codecs import Quantize, TensorCodec
from ..peak_memory import Peak, measured_peak
from ..policy import saved_by
from ..policy.levels import LEVELS
from ..policy.plan import Plan
from ..policy.saved_by import Need
from .budget import Choice, Observed, choose, parse_bytes
from .report import Activation, ActivationReport, megabytes
from .requirements import EXACTLY, Requirement, Requirements
from .stored_value import Span, StoredValue, ValueTable, VersionCounter
from .value_coder import ValueCoder


def compress_activations(
    model: torch.nn.Module,
    policy: Any = None,
    *,
    budget: int | str | None = None,
    seed: int = 0,
    portable: bool = False,
) -> CompressedActivations:
    """Stores what autograd saves in fewer bytes, from entering `with` to leaving it.

    policy:    off, lossless, safe (8 bits), balanced (4 bits, the default) or max (2 bits), or a
               plan: a dict, JSON or the path of a JSON file (docs/plan.md)
    budget:    bytes that may be held between forward and backward, such as "2GiB": the first step
               shows the sizes, then every activation gets as many bits as fit. With a policy, no
               more than it says.
    seed:      of stochastic rounding
    portable:  pack with PyTorch's own operations, as on devices other than the CPU

    Only forward has to run inside; backward may run inside or after. The run that `with` gives has
    report() and measure().

    >>> from torch import nn
    >>> model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 3))
    >>> with compress_activations(model, "balanced") as run:
    ...     model(torch.randn(8, 3, 32, 32)).sum().backward()
    >>> run.report().ratio > 3
    True
    """
    limit = None if budget is None else parse_bytes(budget)
    return CompressedActivations(model, policy, limit, seed=seed, portable=portable)


class Handle:
    """What autograd holds instead of a tensor. A weight, and what has no plain memory, is held
    itself."""

    __slots__ = ("requirement", "shape", "start", "strides", "value", "version", "weight")

    def __init__(
        self,
        tensor: torch.Tensor,
        requirement: Requirement,
        value: StoredValue | None,
        weight: bool = False,
    ) -> None:
        self.requirement = requirement
        self.value = value
        self.weight = tensor.detach() if weight else None
        self.version = VersionCounter(tensor)
        if not weight:
            self.shape = tensor.shape
            self.strides = tensor.stride()
            self.start = tensor.storage_offset()


class CompressedActivations:
    """A run of compress_activations: entered by `with`, asked for reports."""

    def __init__(
        self, model: torch.nn.Module, policy: Any, budget: int | None, *, seed: int, portable: bool
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"model is a {type(model).__name__}, not a torch.nn.Module")
        self.plan = Plan.read("balanced" if policy is None else policy)
        self._budget = budget
        self._best = math.inf if policy is None else self.plan.level.linear.fidelity
        if budget is not None:
            self.plan = dataclasses.replace(self.plan, level=LEVELS["max"])
        self._observed: dict[str, Observed] = {}
        self._choice: Choice | None = None
        self.plan.check(model)
        self._requirements = Requirements(self.plan)
        self._coder = ValueCoder(int(seed), portable)
        self._modules = ModuleNames(model, self._forward_begins)
        self._functions = saved_by.WatchedFunctions()
        self._table = ValueTable()
        self._weights: set[int] = set()
        self._stack: contextlib.ExitStack | None = None
        self._measuring = False
        self._peak: Peak | None = None
        self._quality: dict[str, tuple[float | None, float | None, float | None]] = {}
        self._held = 0
        self._steps = 0
        self._begin_step()

    # ---- Entering and leaving ---------------------------------------------------------------

    def __enter__(self) -> CompressedActivations:
        if self._stack is not None:
            raise RuntimeError("this run has been entered already; make another for a second one")
        with contextlib.ExitStack() as stack:
            stack.callback(self._modules.detach)
            self._modules.attach()
            self._note_weights()
            stack.enter_context(self._functions)
            stack.enter_context(saved_tensors_hooks(self._pack, self._unpack))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()

    def _forward_begins(self, args: Any, kwargs: Any) -> None:
        if self._held == 0:
            self._begin_step()
        self._note_weights()
        self._requirements.inputs_are(args, kwargs)

    def _begin_step(self) -> None:
        if getattr(self, "_records", None):
            self._steps += 1
            self._choose_for_budget()
        self._observed = {}
        self._records: dict[str, Activation] = {}
        self._saved = self._most_held = 0
        self._coder.scratch = 0

    def _choose_for_budget(self) -> None:
        """From the sizes of the step that is over; again if a later one holds more."""
        if self._budget is None or (self._choice and self._most_held <= self._budget):
            return
        lossy = sum(
            record.bytes_lossy for name, record in self._records.items() if name in self._observed
        )
        fixed = self._most_held - lossy
        self._choice = choose(self._observed, fixed, self._budget, self._best)
        if self._choice.bytes > self._budget:
            message = (
                f"the budget of {megabytes(self._budget)} cannot be reached: the least that this "
                f"model and batch take is {megabytes(self._choice.bytes)}; use a smaller batch"
            )
            if message not in self._requirements.notes:
                warnings.warn(message, RuntimeWarning, stacklevel=2)
            self._requirements.notes[message] = ""

    def _note_weights(self) -> None:
        model = self._modules.model
        tensors = (*model.parameters(), *model.buffers())
        self._weights = {
            tensor.untyped_storage()._cdata for tensor in tensors if tensor.layout is torch.strided
        }

    # ---- Saving -----------------------------------------------------------------------------

    def _pack(self, tensor: torch.Tensor) -> Handle | torch.Tensor:
        if torch.compiler.is_compiling():  # and traced into: see docs/guide/activations.md
            return tensor
        if _is_unusual(tensor) or self._is_weight(tensor):
            return Handle(tensor, EXACTLY, None, weight=True)
        call, running = self._functions.call, self._modules.running
        name = self._modules.name_for(call.name or "value")
        span = Span.of(tensor)
        value = self._table.find(tensor, span)
        if value is None:
            value = self._new_value(tensor, span, name)
        record = self._record_of(value, name)
        record.saves += 1
        rule = self.plan.rule_for(name, running)
        requirement = self._requirements.requirement_of(tensor, value.plain_bytes, call, name, rule)
        if self._budget is not None and rule is None:
            requirement = self._within_budget(value, requirement)
        began, before = time.perf_counter(), value.held
        requirement = self._coder.store(value, tensor, requirement, record)
        record.encode_seconds += time.perf_counter() - began
        value.held = value.bytes_now()
        record.bytes_after += value.held - before
        self._held += value.held - before
        self._most_held = max(self._most_held, self._held)
        if value.codec is not None and (record.error is None or self._measuring):
            self._coder.measure(value, tensor, record, self._measuring)
            self._quality[record.name] = (record.error, record.max_error, record.sparsity)
        return Handle(tensor, requirement, value)

    def _is_weight(self, tensor: torch.Tensor) -> bool:
        """A parameter or buffer, or one in another shape or type."""
        if isinstance(tensor, torch.nn.Parameter) or (tensor.is_leaf and tensor.requires_grad):
            return True
        if tensor.untyped_storage()._cdata in self._weights:
            return True
        return any(
            node.name() == "torch::autograd::AccumulateGrad"
            and isinstance(node.variable, torch.nn.Parameter)
            for node in saved_by.origins(tensor)
        )

    def _new_value(self, tensor: torch.Tensor, span: Span, name: str) -> StoredValue:
        value = StoredValue(tensor, span, self._freed)
        value.name = name
        known = self._table.of_storage(tensor)
        value.counted = value.plain_bytes
        if any(_overlap(value, other) for other in known):  # no more than the storage has
            rest = tensor.untyped_storage().nbytes() - sum(other.counted for other in known)
            value.counted = max(0, min(rest, value.counted))
        self._saved += value.counted
        self._record_of(value, name).bytes_before += value.counted
        self._table.add(tensor, value)
        return value

    def _record_of(self, value: StoredValue, name: str) -> Activation:
        record = self._records.get(value.name)
        if record is None:
            dtype = str(value.dtype).removeprefix("torch.")
            record = Activation(value.name, value.shape, dtype)
            quality = self._quality.get(value.name, (None, None, None))
            record.error, record.max_error, record.sparsity = quality
            self._records[value.name] = record
        if name not in record.saved_by:
            record.saved_by.append(name)
        return record

    def _within_budget(self, value: StoredValue, requirement: Requirement) -> Requirement:
        """Values that the level would quantize are stored as the budget allows."""
        if (
            requirement.need is not Need.VALUES
            or requirement.mask
            or not isinstance(requirement.codec, Quantize)
        ):
            return requirement
        seen = self._observed.get(value.name)
        if seen is None or (value.codec is None and value.kept is None):
            elements = value.elements + (seen.elements if seen else 0)
            floor = (
                requirement.codec
                if seen is None
                else max(seen.floor, requirement.codec, key=_fidelity)
            )
            self._observed[value.name] = Observed(elements, value.dtype, floor)
        if self._choice is None or value.name not in self._choice.codecs:
            return requirement
        return requirement._replace(codec=self._choice.codecs[value.name])

    def _freed(self, held: int) -> None:
        self._held -= held

    # ---- Bringing back ----------------------------------------------------------------------

    def _unpack(self, handle: Handle | torch.Tensor) -> torch.Tensor:
        if isinstance(handle, torch.Tensor):
            return handle
        version = handle.version
        if version.now != version.saved:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: {_text_of(handle)} is at version {version.now}; expected "
                f"version {version.saved} instead. Hint: enable anomaly detection to find the "
                "operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True)."
            )
        if handle.weight is not None:
            return handle.weight
        value = handle.value
        assert value is not None
        if value.kept is not None:
            return value.view_of_kept(handle.shape, handle.strides, handle.start)
        if handle.requirement.need is Need.SHAPE:
            one = torch.zeros((), dtype=value.dtype, device=value.device)
            return one.expand(handle.shape)
        began = time.perf_counter()
        copy = self._coder.copy_of(value, handle.requirement)
        record = self._records.get(value.name)
        if record is not None:
            record.decode_seconds += time.perf_counter() - began
        return value.view_of_copy(copy, handle.shape, handle.strides, handle.start)

    @property
    def held_bytes(self) -> int:
        """What is stored for backward at this moment."""
        return self._held

    # ---- Reporting --------------------------------------------------------------------------

    @contextlib.contextmanager
    def measure(self, quality: bool = False) -> Iterator[None]:
        """Around one whole step: PyTorch's profiler counts what it allocates, for the report.

        With quality=True errors and sparsities are taken of all values of the step instead of
        some; decoding them then takes memory and time that other steps do not.
        """
        self._measuring = quality
        try:
            with measured_peak(self._modules.model) as peaks:
                yield
        finally:
            self._measuring = False
        self._peak = peaks[0]

    def report(self) -> ActivationReport:
        """Of the last step: the forward passes since nothing was held any more."""
        records = list(self._records.values())
        return ActivationReport(
            policy=self.plan.level.name if self._budget is None else "budget",
            steps=self._steps + 1,
            saved_bytes=self._saved,
            stored_bytes=self._most_held,
            scratch_bytes=self._coder.scratch,
            seconds=sum(record.seconds for record in records),
            activations=records,
            peak=self._peak,
            budget=self._budget,
            notes=self._all_notes(),
        )

    def _all_notes(self) -> list[str]:
        notes = [
            f"{note} (first: {name})" if name else note
            for note, name in self._requirements.notes.items()
        ]
        return [*notes, f"the budget chose {self._choice.describe()}"] if self._choice else notes


def _fidelity(codec: TensorCodec) -> float:
    return codec.fidelity


def _is_unusual(tensor: torch.Tensor) -> bool:
    """Whether memory alone does not say the values: sparse and nested tensors, those without any,
    and those that are to be read as conjugates or with the other sign."""
    strided = tensor.layout is torch.strided and not tensor.is_nested
    return not strided or tensor.is_meta or tensor.is_conj() or tensor.is_neg()


def _overlap(one: StoredValue, other: StoredValue) -> bool:
    return one.span.start < other.span.stop and other.span.start < one.span.stop


def _text_of(handle: Handle) -> str:
    if handle.weight is not None:
        return f"[{handle.weight.type()} {list(handle.weight.shape)}]"
    return f"[{handle.value.dtype} {list(handle.shape)}]"
