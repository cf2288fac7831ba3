"""A linear layer and its cross entropy, a slice of rows at a time, as an operator.

With logits x = W h + b of a row, p = softmax(x), label y, class weights w, label smoothing s over V
classes, L = logsumexp(x) and z-loss z, the row's loss is

    (1 - s) w_y (L - x_y)  +  s / V sum_j w_j (L - x_j)  +  z L^2

and its gradient by x_j is

    ((1 - s) w_y + s / V sum w + 2 z L) p_j  -  (1 - s) w_y [j = y]  -  s / V w_j.

Only one slice of logits is there at a time, and it becomes its own gradient in place. Rows with the
label `ignore_index` are left out before anything is computed. Softmax, losses and the sums over
slices are float32 where the layer computes in bfloat16 or float16, else of the layer's own type.

The operator is opaque to torch.compile and has a fake kernel: a compiled graph holds one call, not
a loop that is unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

HALF = (torch.bfloat16, torch.float16)


def sum_type(dtype: torch.dtype) -> torch.dtype:
    """What losses and sums are computed in."""
    return torch.float32 if dtype in HALF else dtype


@torch.library.custom_op("tensorpress::linear_cross_entropy", mutates_args=())
def sliced(
    hidden: torch.Tensor,
    linear_weight: torch.Tensor,
    linear_bias: torch.Tensor | None,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    upstream: torch.Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    mean: bool,
    slice_bytes: int,
    dtype: torch.dtype,
    wanted: Sequence[bool],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of hidden states (rows, features) and labels (rows): the losses of all rows, what a mean
    divides their sum by, and the gradients by hidden states, weight and bias that are `wanted`,
    else empty tensors.

    upstream:  the gradient by each row's loss; without it, gradients are those of the sum
    dtype:     of the products with the weight; autocast's, or that of the hidden states
    """
    with torch.autocast(hidden.device.type, enabled=False):
        rows = Rows.of(target, weight, linear_weight, ignore_index, z_loss, mean)
        losses, gradients = _outputs(hidden, linear_weight, dtype, wanted)
        layer = Layer.of(linear_weight, linear_bias, weight, dtype, label_smoothing)
        for some in rows.slices(slice_bytes // (linear_weight.shape[0] * losses.itemsize)):
            grad = None if upstream is None else upstream[some.at].to(losses.dtype)
            _add_slice(hidden[some.at].to(dtype), layer, some, grad, losses, gradients)
    return losses, rows.divisor, *gradients


@sliced.register_fake
def _(
    hidden: torch.Tensor,
    linear_weight: torch.Tensor,
    linear_bias: torch.Tensor | None,
    target: torch.Tensor,
    weight: torch.Tensor | None,
    upstream: torch.Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    z_loss: float,
    mean: bool,
    slice_bytes: int,
    dtype: torch.dtype,
    wanted: Sequence[bool],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    losses, gradients = _outputs(hidden, linear_weight, dtype, wanted)
    return losses, losses.new_empty(()), *gradients


class Gradients(NamedTuple):
    """Empty where they are not wanted. That of the hidden states has their type; the others are
    sums over slices."""

    hidden: torch.Tensor
    weight: torch.Tensor
    bias: torch.Tensor


def _outputs(
    hidden: torch.Tensor, linear_weight: torch.Tensor, dtype: torch.dtype, wanted: Sequence[bool]
) -> tuple[torch.Tensor, Gradients]:
    sums = sum_type(dtype)
    classes, features = linear_weight.shape
    by_hidden, by_weight, by_bias = wanted
    nothing = (0,)
    return hidden.new_zeros(hidden.shape[0], dtype=sums), Gradients(
        hidden.new_zeros(hidden.shape if by_hidden else nothing),
        hidden.new_zeros((classes, features) if by_weight else nothing, dtype=sums),
        hidden.new_zeros(classes if by_bias else nothing, dtype=sums),
    )


class Slice(NamedTuple):
    """Rows that count: where they are, their labels, and the factors of both parts of the loss."""

    at: torch.Tensor
    target: torch.Tensor  # (rows, 1)
    weight: torch.Tensor | None  # class weights of the labels
    z_loss: torch.Tensor | float


class Rows(NamedTuple):
    """All rows that count."""

    at: torch.Tensor
    target: torch.Tensor
    weight: torch.Tensor | None
    z_loss: torch.Tensor | float
    divisor: torch.Tensor

    @classmethod
    def of(
        cls,
        target: torch.Tensor,
        weight: torch.Tensor | None,
        linear_weight: torch.Tensor,
        ignore_index: int,
        z_loss: float,
        mean: bool,
    ) -> Rows:
        at = target.ne(ignore_index).nonzero().squeeze(1)
        counted = target[at]
        _check_range(counted, at, linear_weight.shape[0], ignore_index)
        kind = sum_type(linear_weight.dtype)
        if weight is None:
            divisor = torch.tensor(float(len(at)), dtype=kind, device=target.device)
            return cls(at, counted, None, z_loss, divisor)
        each = weight.to(kind)[counted]
        divisor = each.sum()
        # A mean divides all by the weights of the labels, and the z-loss is to be one over rows.
        z_of_rows = z_loss * divisor / max(1, len(at)) if mean and z_loss else z_loss
        return cls(at, counted, each, z_of_rows, divisor)

    def slices(self, most: int) -> list[Slice]:
        """Of at most so many rows, and nearly equal."""
        count = -(-len(self.at) // max(1, most))
        if count == 0:
            return []
        size = -(-len(self.at) // count)
        return [
            Slice(
                self.at[start : start + size],
                self.target[start : start + size, None],
                None if self.weight is None else self.weight[start : start + size],
                self.z_loss,
            )
            for start in range(0, len(self.at), size)
        ]


def _check_range(counted: torch.Tensor, at: torch.Tensor, classes: int, ignore_index: int) -> None:
    outside = (counted < 0) | (counted >= classes)
    if outside.any():
        first = int(outside.nonzero()[0])
        raise IndexError(
            f"target {int(counted[first])} of row {int(at[first])} is out of range: the weight has "
            f"{classes} classes, 0 to {classes - 1}, and ignore_index is {ignore_index}"
        )


class Layer(NamedTuple):
    """The linear layer in the type of its products, and what smoothing gives to each class."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    label_share: float  # 1 - s
    class_share: torch.Tensor | None  # s / V w_j

    @classmethod
    def of(
        cls,
        linear_weight: torch.Tensor,
        linear_bias: torch.Tensor | None,
        weight: torch.Tensor | None,
        dtype: torch.dtype,
        label_smoothing: float,
    ) -> Layer:
        shares = None
        if label_smoothing:
            classes = linear_weight.shape[0]
            shares = linear_weight.new_ones(classes, dtype=sum_type(dtype))
            shares = (shares if weight is None else weight.to(shares)) * (label_smoothing / classes)
        bias = None if linear_bias is None else linear_bias.to(sum_type(dtype))
        return cls(linear_weight.to(dtype), bias, 1 - label_smoothing, shares)


def _add_slice(
    hidden: torch.Tensor,
    layer: Layer,
    some: Slice,
    upstream: torch.Tensor | None,
    losses: torch.Tensor,
    gradients: Gradients,
) -> None:
    logits = torch.mm(hidden, layer.weight.t()).to(losses.dtype)
    if layer.bias is not None:
        logits.add_(layer.bias)
    of_label = logits.gather(1, some.target).squeeze(1)
    smoothed = None if layer.class_share is None else logits.mv(layer.class_share)
    highest = logits.amax(1)
    total = logits.sub_(highest[:, None]).exp_().sum(1)  # logits are no logits from here on
    log_sum = highest.add_(total.log())

    label_factor = torch.full_like(log_sum, layer.label_share)
    if some.weight is not None:
        label_factor.mul_(some.weight)
    loss = label_factor * (log_sum - of_label)
    softmax_factor = label_factor + 2 * some.z_loss * log_sum
    if layer.class_share is not None and smoothed is not None:
        all_shares = layer.class_share.sum()
        loss += all_shares * log_sum - smoothed
        softmax_factor += all_shares
    losses[some.at] = loss + some.z_loss * log_sum.square()
    if not any(gradient.numel() for gradient in gradients):
        return

    ones = torch.ones_like(log_sum) if upstream is None else upstream
    logits.mul_((softmax_factor * ones / total)[:, None])
    logits.scatter_add_(1, some.target, (-label_factor * ones)[:, None])
    if layer.class_share is not None:
        logits.addr_(ones, layer.class_share, alpha=-1)
    _add_gradients(hidden, layer, some, logits, gradients)


def _add_gradients(
    hidden: torch.Tensor,
    layer: Layer,
    some: Slice,
    by_logits: torch.Tensor,
    gradients: Gradients,
) -> None:
    if gradients.bias.numel():
        gradients.bias.add_(by_logits.sum(0))
    narrow = by_logits.to(hidden.dtype)
    if gradients.hidden.numel():
        gradients.hidden[some.at] = torch.mm(narrow, layer.weight).to(gradients.hidden.dtype)
    if not gradients.weight.numel():
        return
    if hidden.device.type == "cpu" or hidden.dtype == by_logits.dtype:
        # The CPU has no product of narrow numbers with a wide result, but the wide one is fast.
        gradients.weight.addmm_(by_logits.t(), hidden.to(by_logits.dtype))
    else:
        gradients.weight.add_(torch.mm(narrow.t(), hidden))
