"""What users call: `compile` for a model, `compile_options` for those who call torch.compile."""

from __future__ import annotations

from typing import Any

import torch

from ..policy.policy import Policy
from .partitioner import EAGER, CompressingPartitioner, eager_backend
from .report import watch


def compile(
    model: torch.nn.Module, policy: Any = "balanced", **torch_compile_options: Any
) -> torch.nn.Module:
    """torch.compile, with what the compiled forward pass saves for backward in fewer bytes.

    policy:  as of compress_activations: off, lossless, safe, balanced or max, or a plan; without
             codecs whose size depends on the values (dense, ceresz, ceresz2, mask)
    others:  as of torch.compile; the backend is inductor, or for tests one that runs graphs as
             they are: aot_eager, aot_eager_decomp_partition

    The result is what torch.compile returns; `compiled_report` tells what was saved and how.

    >>> from torch import nn
    >>> model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 3))
    >>> compiled = compile(model, "balanced", backend="aot_eager")
    >>> compiled(torch.randn(8, 3, 32, 32)).sum().backward()
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(
            f"model is a {type(model).__name__}, not a torch.nn.Module; for a function call "
            "torch.compile(function, options=tensorpress.torch.compile_options(policy))"
        )
    backend = torch_compile_options.pop("backend", "inductor")
    options = compile_options(policy, model)
    if backend in EAGER:
        partitioner = options["custom_partitioner_fn"]
        arguments = {**torch_compile_options, "backend": eager_backend(backend, partitioner)}
    elif backend == "inductor":
        given = dict(torch_compile_options)
        from torch._inductor import list_mode_options

        mode = given.pop("mode", None)
        if mode not in (None, "default"):
            options = {**list_mode_options(mode, given.get("dynamic")), **options}
        arguments = {**given, "options": {**options, **(given.get("options") or {})}}
    else:
        raise ValueError(
            f"backend is {backend!r}; tensorpress works with inductor, {' and '.join(EAGER)}"
        )
    compiled = torch.compile(model, **arguments)
    watch(compiled)
    return compiled


def compile_options(
    policy: Any = "balanced", model: torch.nn.Module | None = None
) -> dict[str, Any]:
    """For torch.compile(model, options=compile_options("balanced")), with the backend inductor.

    Rules of a plan by name and by type need the model too, which they are checked with.
    """
    read = Policy.read("balanced" if policy is None else policy)
    if model is not None:
        read.check(model)
    elif read.by_name or read.by_type:
        raise ValueError(
            "a plan with rules for modules needs the model: compile_options(plan, model)"
        )
    return {"custom_partitioner_fn": CompressingPartitioner(read, model)}
