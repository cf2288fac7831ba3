"""What users see of training with compressed activations: entered by `with`, asked for reports.

Built on torch.autograd.graph.saved_tensors_hooks: hooks.py decides and stores, ledger.py counts,
budget.py keeps the sum below a number of bytes.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from ..module_names import ModuleNames
from ..packing.backend import NATIVE, PORTABLE
from ..peak_memory import Peak, measured_peak
from ..policy.policy import Policy
from .budget import Budget, parse_bytes
from .hooks import SavedTensorHooks
from .ledger import Ledger
from .report import ActivationReport
from .requirements import Requirements
from .value_coder import ValueCoder
from .without_memory import NOTE, AttentionAsOnTheCpu, is_without_memory


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
    report() and measure(). A model on the device meta takes no memory, and its report says what
    training on the CPU would save and store.

    >>> from torch import nn
    >>> model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 3))
    >>> with compress_activations(model, "balanced") as run:
    ...     model(torch.randn(8, 3, 32, 32)).sum().backward()
    >>> run.report().ratio > 3
    True
    """
    limit = None if budget is None else parse_bytes(budget)
    return CompressedActivations(model, policy, limit, seed=seed, portable=portable)


class CompressedActivations:
    """A run of compress_activations: entered by `with`, asked for reports."""

    def __init__(
        self, model: torch.nn.Module, policy: Any, budget: int | None, *, seed: int, portable: bool
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"model is a {type(model).__name__}, not a torch.nn.Module")
        self.policy = Policy.read("balanced" if policy is None else policy)
        best = math.inf if policy is None else self.policy.level.linear.fidelity
        if budget is not None:
            self.policy = Budget.policy_of_first_step(self.policy)
        self.policy.check(model)
        backend = PORTABLE if portable else NATIVE
        self._requirements = Requirements(self.policy, backend)
        notes = self._requirements.notes
        self._budget = None if budget is None else Budget(budget, best, notes)
        self._coder = ValueCoder(int(seed), backend)
        self._modules = ModuleNames(model, self._forward_begins)
        self._ledger = Ledger()
        self._hooks = SavedTensorHooks(
            self._modules, self._requirements, self._coder, self._ledger, self._budget
        )
        self._stack: contextlib.ExitStack | None = None
        self._peak: Peak | None = None

    def __enter__(self) -> CompressedActivations:
        if self._stack is not None:
            raise RuntimeError("this run has been entered already; make another for a second one")
        with contextlib.ExitStack() as stack:
            stack.callback(self._modules.detach)
            self._modules.attach()
            self._hooks.note_weights()
            if is_without_memory(self.model):
                self._requirements.notes.setdefault(NOTE, "")
                stack.enter_context(AttentionAsOnTheCpu())
            stack.enter_context(self._hooks.functions)
            hooks = saved_tensors_hooks(self._hooks.pack, self._hooks.unpack)
            try:
                stack.enter_context(hooks)
            except RuntimeError as error:
                _explain_refused_hooks(error)
                raise
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()
        _explain_refused_hooks(error)

    def _forward_begins(self, args: Any, kwargs: Any) -> None:
        if torch._C._current_graph_task_id() != -1:
            return  # a part that backward runs again
        self._ledger.step_may_begin = True
        self._hooks.note_weights()
        self._requirements.inputs_are(args, kwargs)

    @property
    def model(self) -> torch.nn.Module:
        """What was given, without DistributedDataParallel and the like around it."""
        return self._modules.model

    @property
    def held_bytes(self) -> int:
        """What is stored for backward at this moment."""
        return self._ledger.held

    @contextlib.contextmanager
    def measure(self, quality: bool = False) -> Iterator[None]:
        """Around one whole step: PyTorch's profiler counts what it allocates, for the report.

        With quality=True errors and sparsities are taken of all values of the step instead of
        some; decoding them then takes memory and time that other steps do not.
        """
        self._hooks.measuring = quality
        try:
            with measured_peak(self._modules.model) as peaks:
                yield
        finally:
            self._hooks.measuring = False
        self._peak = peaks[0]

    def report(self) -> ActivationReport:
        """Of the last step: the forward passes since nothing was held any more."""
        records = list(self._ledger.records.values())
        return ActivationReport(
            policy=self.policy.level.name if self._budget is None else "budget",
            steps=self._ledger.steps + 1,
            saved_bytes=self._ledger.saved,
            stored_bytes=self._ledger.most_held,
            scratch_bytes=self._coder.scratch,
            seconds=sum(record.seconds for record in records),
            activations=records,
            peak=self._peak,
            budget=None if self._budget is None else self._budget.limit,
            notes=self._notes(),
        )

    def _notes(self) -> list[str]:
        notes = [
            f"{note} (first: {name})" if name else note
            for note, name in self._requirements.notes.items()
        ]
        if self._budget is None:
            return notes
        notes += self._budget.remark_on(self._ledger.most_held)
        choice = self._budget.choice
        return [*notes, f"the budget chose {choice.describe()}"] if choice else notes


def _explain_refused_hooks(error: BaseException | None) -> None:
    if isinstance(error, RuntimeError) and "support saved tensor hooks" in str(error):
        error.add_note(
            "tensorpress: compress_activations stores tensors by such hooks. Call torch.func.grad, "
            "vjp, jacrev and hessian outside of `with`, or torch.autograd.grad inside of it."
        )
