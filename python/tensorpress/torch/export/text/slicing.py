"""A linear layer and the cross entropy of its logits as one operator, which has a slice of logits
at a time. That is sound where nothing but the loss reads the logits."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from .writing import Arguments, Call, Node, Writer, listed, number, unless

LOSS = "aten.cross_entropy_loss.default"
LINEAR = "aten.linear.default"
# Operators between the two that change no number, and keep each row whole.
KEPT = (
    "aten.view.default",
    "aten.reshape.default",
    "aten.flatten.using_ints",
    "aten.contiguous.default",
    "aten.to.dtype",
)


@dataclasses.dataclass
class Pair:
    linear: Node
    between: list[Node]  # and the linear layer, which get no lines of their own


def pair_of(logits: Any, living: set[Node]) -> Pair | None:
    """`logits` is what the loss reads."""
    node, between = logits, []
    while isinstance(node, Node):
        users = [each for each in node.users if each in living]
        if len(users) > 1:
            return None
        between.append(node)
        if str(node.target) == LINEAR:
            weight = node.args[1]
            own = isinstance(weight, Node) and weight.op == "placeholder"
            return Pair(node, between) if own and weight.name[:2] == "p_" else None
        source: Any = node.args[0] if node.args else None
        kept = str(node.target) in KEPT and isinstance(source, Node)
        if not kept or not _keeps_rows(source.meta["val"], node.meta["val"]):
            return None
        node = source
    return None


def _keeps_rows(before: torch.Tensor, after: torch.Tensor) -> bool:
    return before.dtype == after.dtype and str(before.shape[-1]) == str(after.shape[-1])


def can_be_sliced(a: Arguments) -> bool:
    """The loss is a mean over classes by their numbers, without weights."""
    target = a.given["target"].meta["val"]
    rows = a.shape("self")[:1]
    return (
        a.weight is None
        and a.reduction == 1
        and target.dtype == torch.int64
        and len(a.shape("self")) == 2
        and str(list(target.shape)) == str(rows)
    )


def call_of(linear: Node, labels: str, writer: Writer, options: list[str]) -> Call:
    a = Arguments(linear, writer)
    features = a.shape("weight")
    hidden = a.tensor("input")
    if len(a.shape("input")) > 2:
        hidden = f"reshape({hidden}, {listed([-1, features[1]])})"
    parameters = {"weight": a.weight}
    attributes = [str(features[0])]
    if a.bias is None:
        attributes.append("bias=false")
    else:
        parameters["bias"] = a.bias
    return Call("linear_cross_entropy", [hidden, labels], attributes + options, parameters)


def options_of(a: Arguments) -> list[str]:
    """Of the loss."""
    options = unless(-100, "ignore", a.ignore_index)
    if a.label_smoothing:
        options.append(f"smoothing={number(float(a.label_smoothing))}")
    return options
