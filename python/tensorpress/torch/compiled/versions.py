"""What this package needs of PyTorch, found out once, and the way into the compiler that follows.

    option    torch._inductor.config.custom_partitioner_fn, from torch 2.9 on: an option of
              torch.compile, known to PyTorch's caches
    replaced  before that: the name by which Inductor's compile_fx calls PyTorch's partitioner is
              ours while it compiles. Caches of whole steps do not know about it and are off

Operators (torch.library.custom_op) came with torch 2.4, before which nothing works.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

NAME = "min_cut_rematerialization_partition"


def _found(module: str, name: str = "") -> Any:
    try:
        found = importlib.import_module(module)
    except ImportError:
        return None
    return getattr(found, name, None) if name else found


functorch_config = _found("torch._functorch.config")
divide_step = _found("torch._functorch.partitioners", NAME)
PartitionerFn = _found("torch._inductor.custom_graph_pass", "CustomPartitionerFn")
_inductor_config = _found("torch._inductor.config")
AS_OPTION = PartitionerFn is not None and hasattr(_inductor_config, "custom_partitioner_fn")
Base: Any = PartitionerFn if PartitionerFn is not None else object

_NEEDED = {
    "torch.library.custom_op": _found("torch.library", "custom_op"),
    f"torch._functorch.partitioners.{NAME}": divide_step,
    "torch._functorch.config": functorch_config,
    "torch._dynamo.backends.common.aot_autograd": _found(
        "torch._dynamo.backends.common", "aot_autograd"
    ),
}


def _can_replace() -> bool:
    compile_fx = importlib.import_module("torch._inductor.compile_fx")
    return (
        hasattr(compile_fx, NAME)
        and "config_patches" in inspect.signature(compile_fx.compile_fx).parameters
    )


def check_pytorch(inductor: bool) -> None:
    """`inductor`: whether its code is wanted; graphs that run as they are need less."""
    missing = [name for name, thing in _NEEDED.items() if thing is None]
    if not missing and inductor and not AS_OPTION and not _can_replace():
        missing = ["torch._inductor.config.custom_partitioner_fn"]
    if missing:
        raise RuntimeError(
            f"torch {torch.__version__} has no {' and no '.join(missing)}, which "
            "tensorpress.torch.compile needs; use compress_activations with an uncompiled model, "
            "or torch 2.4 to 2.13"
        )


def check_option() -> None:
    check_pytorch(inductor=False)
    if not AS_OPTION:
        raise RuntimeError(
            f"torch {torch.__version__} has no torch._inductor.config.custom_partitioner_fn, which "
            "came with 2.9, so there is no option for torch.compile; use "
            "tensorpress.torch.compile(model, policy)"
        )


def inductor_with(partitioner: Any, options: dict[str, Any]) -> Callable[..., Any]:
    """Inductor as a backend, for versions without the option."""
    compile_fx = importlib.import_module("torch._inductor.compile_fx")
    cached = ("enable_autograd_cache", "enable_remote_autograd_cache")
    off = {name: False for name in cached if hasattr(functorch_config, name)}

    def backend(graph: Any, inputs: Any) -> Any:
        with mock.patch.object(compile_fx, NAME, partitioner), functorch_config.patch(off):
            return compile_fx.compile_fx(graph, inputs, config_patches=options)

    return backend
