"""What users call: `compile` for a model, `compile_options` for those who call torch.compile."""

from __future__ import annotations

from typing import Any

import torch

from ..policy.policy import Policy
from . import versions
from .budget import Budget
from .partitioner import EAGER, CompressingPartitioner, eager_backend
from .report import watch

OPTION = "custom_partitioner_fn"  # of torch.compile, from torch 2.9 on


def compile(
    model: torch.nn.Module, policy: Any = None, budget: Any = None, **torch_compile_options: Any
) -> torch.nn.Module:
    """torch.compile, with what the compiled forward pass saves for backward in fewer bytes.

    policy:  as of compress_activations: off, lossless, safe, balanced (if nothing is said) or max,
             or a plan; without codecs whose size depends on the values (dense, ceresz, ceresz2,
             mask)
    budget:  for the peak of forward and backward: bytes such as "2GiB", or a part of the peak of
             plain torch.compile such as 0.4. What is kept, packed, and computed again is then
             chosen within it, with at least the bits of the policy (of max, if nothing is said). A
             budget that nothing keeps is an error that says the least possible peak
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
    versions.check_pytorch(backend == "inductor")
    partitioner = _partitioner(policy, model, budget)
    if backend in EAGER:
        arguments = {**torch_compile_options, "backend": eager_backend(backend, partitioner)}
    elif backend == "inductor":
        given = dict(torch_compile_options)
        options: dict[str, Any] = {}
        mode = given.pop("mode", None)
        if mode not in (None, "default"):
            from torch._inductor import list_mode_options

            options = dict(list_mode_options(mode, given.get("dynamic")))
        options.update(given.pop("options", None) or {})
        if versions.AS_OPTION:
            arguments = {**given, "options": {OPTION: partitioner, **options}}
        else:
            arguments = {**given, "backend": versions.inductor_with(partitioner, options)}
    else:
        raise ValueError(
            f"backend is {backend!r}; tensorpress works with inductor, {' and '.join(EAGER)}"
        )
    compiled = torch.compile(model, **arguments)
    watch(compiled, partitioner.policy)
    return compiled


def compile_options(
    policy: Any = None, model: torch.nn.Module | None = None, budget: Any = None
) -> dict[str, Any]:
    """For torch.compile(model, options=compile_options("balanced")), with the backend inductor.

    Rules of a plan by name and by type need the model too, which they are checked with.
    """
    versions.check_option()
    return {OPTION: _partitioner(policy, model, budget)}


def _partitioner(policy: Any, model: torch.nn.Module | None, budget: Any) -> CompressingPartitioner:
    limit = None if budget is None else Budget.read(budget)
    read = Policy.read(policy or ("balanced" if limit is None else "max"))
    if limit is not None and not read.level.exact_forms:
        raise ValueError(f"policy {read.level.name} packs nothing, so there is nothing to plan")
    if model is not None:
        read.check(model)
    elif read.by_name or read.by_type:
        raise ValueError(
            "a plan with rules for modules needs the model: compile_options(plan, model)"
        )
    return CompressingPartitioner(read, model, limit)
