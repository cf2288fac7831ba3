"""What the adapters share: a policy, and a run of it around each training step.

A trainer may leave its loop by an exception without telling its callbacks, and hooks that stay
behind would compress whatever is computed next on this thread. So the run is entered for one step
at a time, by a `with` around the function that computes the loss.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from ..activations import ActivationReport, CompressedActivations, compress_activations
from ..compiled import compile_options, compiled_report
from ..compiled.report import watch
from ..policy.policy import Policy


class TrainingSteps:
    """A policy for the steps of one model after the other. The arguments are those of
    compress_activations."""

    def __init__(self, policy: Any, **options: Any) -> None:
        Policy.read("balanced" if policy is None else policy)  # says now what is wrong with it
        self._policy = policy
        self._options = options
        self._run: CompressedActivations | None = None
        self._compiled: torch.nn.Module | None = None
        self._undo: Callable[[], None] | None = None

    def compile_options(self, model: torch.nn.Module) -> dict[str, Any]:
        """For torch.compile: what compiled graphs save is packed in the graphs."""
        if self._options.get("budget") is not None:
            raise ValueError(
                f"budget={self._options['budget']!r} needs a model that is not compiled: the sizes "
                "in a graph are chosen before it runs; give a policy, or do not compile"
            )
        return compile_options("balanced" if self._policy is None else self._policy, model)

    def begin(self, model: torch.nn.Module, owner: Any, step: str) -> None:
        """From now on `owner.step(...)`, which runs the model and computes the loss, is compressed.
        Again with the same model, the run goes on."""
        self.end()
        if self._run is None or self._run.model is not model:
            self._run = compress_activations(model, self._policy, **self._options)
        self._compiled = None
        function, there_before = getattr(owner, step), step in vars(owner)
        setattr(owner, step, self._around(function))

        def undo() -> None:
            if there_before:
                setattr(owner, step, function)
            else:
                delattr(owner, step)

        self._undo = undo

    def begin_compiled(self, compiled: torch.nn.Module) -> None:
        """For a model that was compiled with `compile_options`."""
        self.end()
        if self._compiled is not compiled:
            watch(compiled)
        self._compiled = compiled

    def end(self) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def report(self) -> ActivationReport:
        if self._compiled is not None:
            return compiled_report(self._compiled)
        if self._run is None:
            raise RuntimeError("there is no report yet: no training has begun")
        return self._run.report()

    def _around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        run = self._run
        assert run is not None

        @functools.wraps(function)
        def step(*args: Any, **kwargs: Any) -> Any:
            if not torch.is_grad_enabled():  # evaluation, which saves nothing
                return function(*args, **kwargs)
            with run:
                return function(*args, **kwargs)

        return step
