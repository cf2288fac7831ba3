"""How near the gradients of a policy are to exact ones, by parameter, before a training is begun.

    found = tensorpress.torch.compare_gradients(model, lambda: criterion(model(x), y), "balanced")
    print(found)

The loss is computed twice from the same weights, buffers and random numbers. Batch norms suffer
most: what follows one is nearly the same whatever its scale, so the gradient of its weight is a
small difference of large sums, beside which an error of 4 bits shows. MobileNets and EfficientNets,
which have a batch norm behind every small convolution, get a warning with the plan that helps.
"""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from ..module_names import without_wrapper
from ..policy.policy import Policy
from .run import compress_activations

LEAST_OF_NORMS = 0.9
COUNTED = 1e-4  # of the largest norm; a bias before a norm has rounding errors alone
BITS_FOR_NORMS = 6
SHOWN = 8


@dataclasses.dataclass(frozen=True)
class ComparedGradient:
    """Of one parameter, and the type of the module that has it."""

    name: str
    module: str
    cosine: float
    error: float  # |g' - g| / |g|


@dataclasses.dataclass(frozen=True)
class ComparedGradients:
    """`cosine` and `error` are of all gradients together, `parameters` are sorted by cosine.
    `suffering` are batch norms whose weights have a cosine below 0.9, and `advice` is a plan."""

    policy: str
    cosine: float
    error: float
    parameters: list[ComparedGradient]
    suffering: list[ComparedGradient]
    advice: dict[str, Any] | None

    def __str__(self) -> str:
        lines = [
            f"{self.policy}: cosine {self.cosine:.4f}, relative error {self.error:.4f} of all "
            "gradients; lowest:"
        ]
        lines += [
            f"  {each.cosine:7.4f}  {each.name} ({each.module})" for each in self.parameters[:SHOWN]
        ]
        return "\n".join(lines)


def compare_gradients(
    model: torch.nn.Module, loss: Callable[[], torch.Tensor], policy: Any = "balanced"
) -> ComparedGradients:
    """Computes `loss()` and its gradients with and without compression, and compares them.
    Gradients, buffers and random numbers are left as they were.

    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
    >>> x = torch.randn(8, 32, 64)
    >>> compare_gradients(model, lambda: model(x).square().mean(), "safe").cosine > 0.999
    True
    """
    policy = Policy.read(policy)
    inner = without_wrapper(model)
    with _left_as_it_was(inner):
        exact = _gradients(inner, loss)
    with _left_as_it_was(inner), compress_activations(model, policy):
        lossy = _gradients(inner, loss)
    if not exact:
        raise ValueError("the loss reaches no parameter that requires a gradient")
    largest = max(float(each.norm()) for each in exact.values())
    modules = dict(inner.named_modules())
    compared, suffering = [], []
    for name, gradient in exact.items():
        if float(gradient.norm()) < COUNTED * largest:
            continue
        module = modules[name.rpartition(".")[0]]
        one = ComparedGradient(name, type(module).__name__, *_compared(gradient, lossy[name]))
        compared.append(one)
        if isinstance(module, _BatchNorm) and not one.cosine >= LEAST_OF_NORMS:
            suffering.append(one)
    compared.sort(key=lambda each: each.cosine)
    suffering.sort(key=lambda each: each.cosine)
    whole = _compared(
        *(torch.cat([each[name].flatten() for name in exact]) for each in (exact, lossy))
    )
    advice = _advice(policy, suffering)
    if advice is not None:
        worst = suffering[0]
        warnings.warn(
            f"gradients of {len(suffering)} parameters of batch norms are far from exact (lowest "
            f"cosine {worst.cosine:.2f}, {worst.name}); give what these save {BITS_FOR_NORMS} "
            f"bits: {advice}",
            RuntimeWarning,
            stacklevel=2,
        )
    return ComparedGradients(policy.level.name, *whole, compared, suffering, advice)


def _gradients(model: torch.nn.Module, loss: Callable[[], torch.Tensor]) -> dict[str, torch.Tensor]:
    loss().backward()
    return {
        name: each.grad.detach().clone()
        for name, each in model.named_parameters()
        if each.grad is not None
    }


def _compared(exact: torch.Tensor, lossy: torch.Tensor) -> tuple[float, float]:
    exact, lossy = exact.double().flatten(), lossy.double().flatten()
    lengths = float(exact.norm() * lossy.norm())
    cosine = float(exact @ lossy) / lengths if lengths else float(torch.equal(exact, lossy))
    return cosine, float((lossy - exact).norm()) / (float(exact.norm()) or 1.0)


def _advice(policy: Policy, suffering: list[ComparedGradient]) -> dict[str, Any] | None:
    """The policy with more bits for these types; none if it says a codec for them already."""
    types = {each.module for each in suffering} - policy.by_type.keys()
    if not types:
        return None
    rule = {"codec": "quantize", "bits": BITS_FOR_NORMS}
    known = {name: codec.as_dict() for name, codec in policy.by_type.items()}
    advice: dict[str, Any] = {
        "level": policy.level.name,
        "by_type": {**known, **{name: rule for name in sorted(types)}},
    }
    if policy.by_name:
        advice["by_name"] = {name: codec.as_dict() for name, codec in policy.by_name.items()}
    if policy.default is not None:
        advice["default"] = policy.default.as_dict()
    return advice


@contextlib.contextmanager
def _left_as_it_was(model: torch.nn.Module) -> Iterator[None]:
    buffers = {name: each.clone() for name, each in model.named_buffers()}
    before = {name: each.grad for name, each in model.named_parameters()}
    for each in model.parameters():
        each.grad = None
    try:
        with torch.random.fork_rng():
            yield
    finally:
        for name, each in model.named_parameters():
            each.grad = before[name]
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                if name in buffers:
                    buffer.copy_(buffers[name])
