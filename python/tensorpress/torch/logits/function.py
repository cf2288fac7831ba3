"""linear_cross_entropy as a function: what autograd sees of slices.py.

For a mean or a sum the gradients are computed with the loss, slice by slice, because nothing but
their factor is unknown then (as Liger Kernel does): backward multiplies them by it in place and
gives them away. For losses of rows, and for a second backward over a retained graph, slices are
computed once more from the hidden states, which are saved as a linear layer saves them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.overrides import handle_torch_function, has_torch_function

from .slices import sliced, sum_type

# Of the default: larger slices are hardly faster, and with fewer rows products become slow
# (docs/adr/0058-logits-in-slices.md).
SLICE_BYTES = 8 << 20
LEAST_ROWS = 64
REDUCTIONS = ("mean", "sum", "none")


class Settings(NamedTuple):
    ignore_index: int
    label_smoothing: float
    z_loss: float
    reduction: str
    slice_bytes: int
    dtype: torch.dtype


def linear_cross_entropy(
    input: torch.Tensor,
    linear_weight: torch.Tensor,
    target: torch.Tensor,
    *,
    linear_bias: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    slice_bytes: int | None = None,
) -> torch.Tensor:
    """Cross entropy of F.linear(input, linear_weight, linear_bias), without ever holding all
    logits. Arguments are those of torch.nn.functional.linear_cross_entropy.

    input:            hidden states (..., features)
    linear_weight:    (classes, features); a weight shared with an embedding stays shared
    target:           labels (...), whole numbers; those of `ignore_index` (-100) do not count
    weight:           of each class
    label_smoothing:  0 to 1
    z_loss:           times the square of logsumexp(logits), added to the loss of each row
    slice_bytes:      of the logits that are there at a time, at least one row; 8 MiB or 64 rows,
                      whichever is more, if you do not say

    The loss is float32 where the layer computes in bfloat16 or float16, else of the input's type.

    >>> hidden = torch.randn(2, 5, 8, requires_grad=True)
    >>> head = torch.nn.Linear(8, 100, bias=False)
    >>> labels = torch.randint(0, 100, (2, 5))
    >>> loss = linear_cross_entropy(hidden, head.weight, labels, label_smoothing=0.1)
    >>> loss.backward()
    """
    settings = Settings(
        -100 if ignore_index is None else ignore_index,
        float(label_smoothing),
        float(z_loss),
        reduction,
        _default_slice(linear_weight) if slice_bytes is None else slice_bytes,
        product_type(input),
    )
    _check(input, linear_weight, target, linear_bias, weight, settings)
    rows = input.reshape(-1, input.shape[-1])
    loss = sliced_linear_cross_entropy(
        rows, linear_weight, linear_bias, target.reshape(-1), weight, settings
    )
    return loss.view(target.shape) if reduction == "none" else loss


def _default_slice(linear_weight: torch.Tensor) -> int:
    row = linear_weight.shape[0] * sum_type(linear_weight.dtype).itemsize
    return max(SLICE_BYTES, LEAST_ROWS * row)


def product_type(input: torch.Tensor) -> torch.dtype:
    """What torch.nn.functional.linear would compute in."""
    kind = input.device.type
    return torch.get_autocast_dtype(kind) if _autocasts(input) else input.dtype


def _autocasts(input: torch.Tensor) -> bool:
    return input.dtype != torch.float64 and torch.is_autocast_enabled(input.device.type)


def _check(
    input: torch.Tensor,
    linear_weight: torch.Tensor,
    target: torch.Tensor,
    linear_bias: torch.Tensor | None,
    weight: torch.Tensor | None,
    settings: Settings,
) -> None:
    if linear_weight.dim() != 2 or input.dim() == 0 or input.shape[-1] != linear_weight.shape[1]:
        raise ValueError(
            f"input {_shape(input)} and linear_weight {_shape(linear_weight)} do not fit: they are "
            "(..., features) and (classes, features)"
        )
    if target.is_floating_point():
        raise TypeError(
            f"target is {_type(target)}: labels are int64, and class probabilities are not taken; "
            "use torch.nn.functional.cross_entropy for these"
        )
    if target.shape != input.shape[:-1]:
        raise ValueError(
            f"target {_shape(target)} does not fit input {_shape(input)}: it has a label for each "
            "vector of features"
        )
    classes = linear_weight.shape[0]
    for name, each in (("linear_bias", linear_bias), ("weight", weight)):
        if each is not None and tuple(each.shape) != (classes,):
            raise ValueError(f"{name} is {_shape(each)}; the weight has {classes} classes")
    if weight is not None and weight.requires_grad:
        raise ValueError("weight requires a gradient, but class weights have none here; detach it")
    if linear_weight.dtype != input.dtype and not _autocasts(input):
        raise TypeError(
            f"input is {_type(input)} and linear_weight {_type(linear_weight)}; convert one, or "
            "use torch.autocast"
        )
    if settings.reduction not in REDUCTIONS:
        raise ValueError(f"reduction {settings.reduction!r} is none of {', '.join(REDUCTIONS)}")
    if not 0 <= settings.label_smoothing <= 1:
        raise ValueError(f"label_smoothing is {settings.label_smoothing}; it is 0 to 1")
    if not settings.z_loss >= 0:
        raise ValueError(f"z_loss is {settings.z_loss}; it is not negative")
    if settings.slice_bytes < 1:
        raise ValueError(f"slice_bytes is {settings.slice_bytes}; it is a number of bytes")


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))


def _type(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def sliced_linear_cross_entropy(
    hidden: torch.Tensor,
    linear_weight: torch.Tensor,
    linear_bias: torch.Tensor | None,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    settings: Settings,
) -> torch.Tensor:
    """Of rows. Seen by torch function modes, such as the one that knows who saves a tensor: its
    name is in the tables of policy/saved_by.py."""
    arguments = (hidden, linear_weight, linear_bias, target, weight, settings)
    tensors = tuple(each for each in arguments if isinstance(each, torch.Tensor))
    if has_torch_function(tensors):
        return handle_torch_function(sliced_linear_cross_entropy, tensors, *arguments)
    learned = (hidden, linear_weight, linear_bias)
    wanted = [each is not None and each.requires_grad for each in learned]
    if not torch.is_grad_enabled() or not any(wanted):
        losses, divisor, *_ = _run(*arguments, None, [False] * 3)
        return _reduced(losses, divisor, settings.reduction)
    return _Loss.apply(*arguments, wanted)


def _run(
    hidden: torch.Tensor,
    linear_weight: torch.Tensor,
    linear_bias: torch.Tensor | None,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    settings: Settings,
    upstream: torch.Tensor | None,
    wanted: list[bool],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    return sliced(
        hidden,
        linear_weight,
        linear_bias,
        target,
        weight,
        upstream,
        settings.ignore_index,
        settings.label_smoothing,
        settings.z_loss,
        settings.reduction == "mean",
        settings.slice_bytes,
        settings.dtype,
        wanted,
    )


def _reduced(losses: torch.Tensor, divisor: torch.Tensor, reduction: str) -> torch.Tensor:
    if reduction == "none":
        return losses
    return losses.sum() / divisor if reduction == "mean" else losses.sum()


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: torch.Tensor,
        linear_weight: torch.Tensor,
        linear_bias: torch.Tensor | None,
        target: torch.Tensor,
        weight: torch.Tensor | None,
        settings: Settings,
        wanted: list[bool],
    ) -> torch.Tensor:
        arguments = (hidden, linear_weight, linear_bias, target, weight)
        with_loss = settings.reduction != "none"
        now = wanted if with_loss else [False] * 3
        losses, divisor, *gradients = _run(*arguments, settings, None, now)
        ctx.settings, ctx.wanted, ctx.ready = settings, wanted, None
        # What a compiled graph saves stays its own: it cannot be given away.
        ctx.in_graph = with_loss and torch.compiler.is_compiling()
        factor = _factor(target, divisor, settings)
        if ctx.in_graph:
            ctx.save_for_backward(factor, *gradients)
        else:
            ctx.save_for_backward(*arguments)
            ctx.factor = factor
            ctx.ready = gradients if with_loss else None
        return _reduced(losses, divisor, settings.reduction)

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            raise RuntimeError(
                "linear_cross_entropy has no second derivative: leave out create_graph, or compute "
                "F.cross_entropy(F.linear(...))"
            )
        if ctx.in_graph:
            factor, *saved = ctx.saved_tensors
            gradients = [gradient * (upstream * factor) for gradient in saved]
        elif ctx.ready is not None:
            ready, ctx.ready = ctx.ready, None
            gradients = [gradient.mul_(upstream * ctx.factor) for gradient in ready]
            del ready
        else:
            rows = upstream * ctx.factor
            arguments = ctx.saved_tensors
            rows = rows.expand(arguments[3].shape)
            _, _, *gradients = _run(*arguments, ctx.settings, rows, ctx.wanted)
        by_learned = [g if w else None for g, w in zip(gradients, ctx.wanted, strict=True)]
        return (*by_learned, None, None, None, None)


def _factor(target: torch.Tensor, divisor: torch.Tensor, settings: Settings) -> torch.Tensor:
    """Of the gradients by the sum of the rows' losses. A mean over no rows at all is NaN, but its
    gradients are 0, as PyTorch's are."""
    if settings.reduction != "mean":
        return torch.ones_like(divisor)
    return torch.where(target.ne(settings.ignore_index).any(), 1 / divisor, 0)
