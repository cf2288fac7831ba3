"""Runs a module through torch.export for model text, and says what export would lose in silence.

torch.export follows the forward pass alone. A backward of the user's own (autograd.Function) and
hooks that change gradients leave no trace in its graph, so both are watched while it runs.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import logging
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .outputs import NoSingleOutput

# Of torch.compiler.
QUESTIONS = ("is_compiling", "is_exporting", "is_dynamo_compiling")
HOOKS = ("register_hook", "register_post_accumulate_grad_hook")
# Who writes stacks of hundreds of lines to the log about an error that is then raised.
LOGS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes", "torch.export")


def exported(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    by_name: dict[str, torch.Tensor],
    name: str,
    one_batch: bool = False,
) -> tuple[Any, list[str]]:
    """The exported program, and why it is not all of the module. `one_batch`: all inputs with the
    first extent that most of them have share it."""
    complaints = _cannot_be_followed(module)
    if complaints:
        return None, complaints
    shapes = _open_first(module, inputs, by_name, one_batch)
    problem: Exception | None = None
    with _watched_backward(complaints):
        for opened, eager in ((shapes, True), (shapes, False), (None, True), (None, False)):
            complaints.clear()
            try:
                program = _export(module, inputs, by_name, opened, eager)
                return program, list(dict.fromkeys(complaints))
            except NoSingleOutput:
                raise
            except Exception as error:  # whatever the module's own arithmetic on sizes raises
                problem = error
    reason = next((line for line in str(problem).splitlines() if line.strip()), "")
    raise ValueError(
        f"{name} cannot be written as model text: torch.export cannot follow it: "
        f"{type(problem).__name__}: {reason.strip()}"
    ) from problem


def _export(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    by_name: dict[str, torch.Tensor],
    shapes: Any,
    eager: bool,
) -> Any:
    """What torch.export prints before it fails is dropped: the exception says it. `eager`: modules
    that ask whether they are compiled or exported hear that they run as usual, since the text is to
    compute what they compute then. Transformers, for one, leaves out masks that mask nothing."""
    printed = io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stderr(printed))
        for name in LOGS:
            stack.enter_context(_replaced(logging.getLogger(name), "disabled", True))
        for question in QUESTIONS if eager else ():
            stack.enter_context(_replaced(torch.compiler, question, lambda: False))
        program = torch.export.export(module, inputs, by_name, dynamic_shapes=shapes, strict=False)
    print(printed.getvalue(), end="", file=sys.stderr)
    return program


def _open_first(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    by_name: dict[str, torch.Tensor],
    one_batch: bool,
) -> Any:
    """The first dimension of each input, by the parameters of `forward`: those of `*args` are a
    tuple of their own."""

    extents = [each.shape[0] for each in (*inputs, *by_name.values()) if each.dim() > 0]
    shared = max(extents, key=extents.count, default=0)
    batch = torch.export.Dim("batch", min=2)

    def opened_first(each: torch.Tensor) -> Any:
        if each.dim() == 0 or each.shape[0] <= 1:
            return None
        return {0: batch if one_batch and each.shape[0] == shared else torch.export.Dim.AUTO}

    if by_name:
        return {key: opened_first(each) for key, each in by_name.items()}
    opened = tuple(map(opened_first, inputs))
    kinds = [each.kind for each in inspect.signature(module.forward).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return opened
    before = kinds.index(inspect.Parameter.VAR_POSITIONAL)
    return (*opened[:before], opened[before:]) if len(opened) > before else opened


def _cannot_be_followed(module: torch.nn.Module) -> list[str]:
    """What is seen before the module runs."""
    complaints = []
    for path, each in module.named_modules():
        cumulative = isinstance(each, torch.nn.modules.batchnorm._BatchNorm) and (
            each.momentum is None and each.track_running_stats and each.training
        )
        if cumulative:
            complaints.append(f"'{path}' has momentum=None, a cumulative average of its statistics")
    for path, each in module.named_parameters():
        if each._backward_hooks or getattr(each, "_post_accumulate_grad_hooks", None):
            complaints.append(
                f"the parameter '{path}' has a hook on its gradient, which a step does not run"
            )
    return complaints


@contextlib.contextmanager
def _watched_backward(complaints: list[str]) -> Iterator[None]:
    """Adds a complaint for every autograd.Function of the user's and every hook on a gradient."""
    base = torch.autograd.Function
    apply = base.__dict__["apply"]

    def watched_apply(cls: type, *args: Any, **kwargs: Any) -> Any:
        if cls in _users_functions(base):
            complaints.append(_own_backward(cls))
        return apply.__get__(None, cls)(*args, **kwargs)

    with contextlib.ExitStack() as stack:
        # `apply` itself is often taken from the class before, and classes may be made in forward.
        for each in _users_functions(base):
            forward = _watched(each.forward, complaints, lambda each=each: _own_backward(each))
            stack.enter_context(_replaced(each, "forward", staticmethod(forward)))
        stack.enter_context(_replaced(base, "apply", classmethod(watched_apply)))
        for name in HOOKS:
            register = getattr(torch.Tensor, name)
            watched = _watched(register, complaints, lambda name=name: _hook(name))
            stack.enter_context(_replaced(torch.Tensor, name, watched))
        yield


def _watched(
    function: Callable[..., Any], complaints: list[str], complaint: Callable[[], str]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        complaints.append(complaint())
        return function(*args, **kwargs)

    return call


def _own_backward(function: type) -> str:
    return f"the autograd.Function {function.__name__} has a backward of its own {_caller()}"


def _hook(name: str) -> str:
    return f"{name} puts a hook on a gradient, which a step does not run {_caller()}"


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    own = owner.__dict__.get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


def _users_functions(base: Any) -> list[Any]:
    """All of them that exist and are not PyTorch's."""
    mine = [] if base.__module__.split(".")[0] == "torch" else [base]
    return mine + [each for child in base.__subclasses__() for each in _users_functions(child)]


def _caller() -> str:
    """The innermost line that is neither PyTorch's nor this folder's."""
    frame: types.FrameType | None = sys._getframe(1)
    theirs = tuple(os.path.dirname(each) + os.sep for each in (torch.__file__, __file__))
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(theirs):
            return f"({file}, line {frame.f_lineno})"
        frame = frame.f_back
    return ""
