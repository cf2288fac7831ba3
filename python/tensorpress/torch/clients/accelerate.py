"""Compressed activations in a loop of accelerate, compiled or not.

    accelerator = Accelerator()
    with tensorpress.torch.clients.accelerate.compress_activations(accelerator, model) as run:
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for batch in loader:
            ...
    print(run.report())

Accelerate compiles a model in `prepare`, with settings that all accelerators of a process share. So
ours are there only while one prepares.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..activations import ActivationReport, CompressedActivations
from ..activations import compress_activations as compress_eager
from . import missing
from .training_steps import TrainingSteps

try:
    from accelerate import Accelerator
except ImportError as error:
    raise missing("accelerate", error) from error

NO_BACKEND, INDUCTOR = "NO", "INDUCTOR"
PREPARING = ("prepare", "prepare_model")


def compress_activations(
    accelerator: Accelerator,
    model: torch.nn.Module,
    policy: Any = "balanced",
    *,
    budget: int | str | None = None,
    seed: int = 0,
    portable: bool = False,
) -> CompressedActivations | CompiledTraining:
    """For `with`, around `accelerator.prepare` and the loop. The arguments are those of
    tensorpress.torch.compress_activations. If the accelerator compiles the model, the graphs pack
    what they save."""
    if not isinstance(accelerator, Accelerator):
        raise TypeError(f"accelerator is a {type(accelerator).__name__}, not an Accelerator")
    if not compiles(accelerator):
        return compress_eager(model, policy, budget=budget, seed=seed, portable=portable)
    steps = TrainingSteps(policy, budget=budget, seed=seed, portable=portable)
    return CompiledTraining(accelerator, model, steps)


class CompiledTraining:
    """A model that `accelerator.prepare` compiles inside of `with`."""

    def __init__(
        self, accelerator: Accelerator, model: torch.nn.Module, steps: TrainingSteps
    ) -> None:
        self._accelerator = accelerator
        self._steps = steps
        self._options = steps.compile_options(model)
        self._undo: Callable[[], None] | None = None

    def __enter__(self) -> CompiledTraining:
        self._undo = compile_with(self._accelerator, self._options, self._steps.begin_compiled)
        return self

    def __exit__(self, *error: Any) -> None:
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def report(self) -> ActivationReport:
        return self._steps.report()


def compiles(accelerator: Accelerator) -> bool:
    return _backend(accelerator) != NO_BACKEND


def compile_with(
    accelerator: Accelerator, options: dict[str, Any], on_compiled: Callable[[Any], None]
) -> Callable[[], None]:
    """What this accelerator prepares from now on is compiled with options beside its own. Gives
    what takes that back."""
    backend = _backend(accelerator)
    if backend != INDUCTOR:
        raise ValueError(
            f"dynamo backend {backend.lower()!r}: compressed graphs need 'inductor'; choose it, or "
            "do not compile"
        )
    plain = {name: getattr(accelerator, name) for name in PREPARING}

    def prepared(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def prepare(*args: Any, **kwargs: Any) -> Any:
            with _added(accelerator.state.dynamo_plugin, options):
                found = function(*args, **kwargs)
            for each in found if isinstance(found, tuple) else (found,):
                if isinstance(each, torch.nn.Module):
                    on_compiled(each)
            return found

        return prepare

    for name, function in plain.items():
        setattr(accelerator, name, prepared(function))

    def undo() -> None:
        for name in PREPARING:
            vars(accelerator).pop(name, None)

    return undo


def _backend(accelerator: Accelerator) -> str:
    return str(accelerator.state.dynamo_plugin.backend.value)


class _Options(dict[str, Any]):
    """Accelerate copies its settings deeply, and the names of a model's modules are in ours."""

    def __deepcopy__(self, memo: Any) -> _Options:
        return self


@contextlib.contextmanager
def _added(plugin: Any, options: dict[str, Any]) -> Iterator[None]:
    before = plugin.options, plugin.mode
    given = dict(plugin.options or {})
    if plugin.mode not in (None, "default"):  # torch.compile takes a mode or options, not both
        from torch._inductor import list_mode_options

        given = {**list_mode_options(plugin.mode, plugin.dynamic), **given}
    plugin.options, plugin.mode = _Options({**options, **given}), "default"
    try:
        yield
    finally:
        plugin.options, plugin.mode = before
