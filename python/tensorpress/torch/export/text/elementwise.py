"""How operators that go element by element are written as model text: one function each."""

from __future__ import annotations

import math
from typing import Any

import torch

from .writing import (
    Arguments,
    Call,
    Expression,
    Node,
    listed,
    number,
    refuse_unless,
    unless,
    writes,
)


@writes("relu.default", "relu6.default", "silu.default", "sigmoid.default", "tanh.default")
@writes("exp.default", "log.default", "sqrt.default", "rsqrt.default", "abs.default")
@writes("sin.default", "cos.default", "logical_not.default")
def alone(a: Arguments) -> Call:
    """Operators with one tensor and nothing else."""
    return Call(a.name.rstrip("_"), [a.tensor("self")])


@writes("gelu.default")
def gelu(a: Arguments) -> Call:
    return Call("gelu_tanh" if a.approximate == "tanh" else "gelu", [a.tensor("self")])


@writes("leaky_relu.default")
def leaky_relu(a: Arguments) -> Call:
    refuse_unless(a.negative_slope >= 0, "leaky_relu with a negative slope")
    return Call("leaky_relu", [a.tensor("self")], unless(0.01, "slope", float(a.negative_slope)))


@writes("elu.default")
def elu(a: Arguments) -> Call:
    refuse_unless(a.alpha == a.scale == a.input_scale == 1, "elu with an alpha other than 1")
    return Call("elu", [a.tensor("self")])


@writes("softplus.default")
def softplus(a: Arguments) -> Call:
    refuse_unless(a.beta == 1 and a.threshold == 20, "softplus with another beta or threshold")
    return Call("softplus", [a.tensor("self")])


@writes("hardtanh.default")
def hardtanh(a: Arguments) -> Call:
    if a.min_val == 0 and a.max_val == 6:
        return Call("relu6", [a.tensor("self")])
    if a.min_val == 0 and a.max_val == math.inf:
        return Call("relu", [a.tensor("self")])
    refuse_unless(a.min_val < a.max_val, "hardtanh to an empty range")
    finite = math.isfinite(a.min_val) and math.isfinite(a.max_val)
    refuse_unless(finite, f"hardtanh from {a.min_val} to {a.max_val}, an infinite range")
    attributes = unless(-1.0, "low", float(a.min_val)) + unless(1.0, "high", float(a.max_val))
    return Call("hardtanh", [a.tensor("self")], attributes)


@writes("softmax.int", "log_softmax.int")
def softmax(a: Arguments) -> Call:
    refuse_unless(a.dtype in (None, a.result.dtype), "softmax into another type")
    return Call(a.name, [a.tensor("self")], unless(-1, "axis", a.dim))


@writes("dropout.default")
def dropout(a: Arguments) -> Call | str:
    if not a.train or a.p == 0:
        return a.tensor("input")
    refuse_unless(a.p < 1, "dropout of everything")
    return Call("dropout", [a.tensor("input")], unless(0.5, "p", a.p))


def _joined(a: Arguments, sign: str) -> Expression:
    left, right = a.tensor("self"), a.other
    value = None if isinstance(right, Node) else right
    if isinstance(right, Node) and getattr(right.meta["val"], "shape", None) == ():
        single = a.constant("other")
        value = None if single is None else single.item()
    if sign in "+-*/":
        kinds = {_dtype(each, a) for each in (a.given["self"], right)}
        refuse_unless(torch.bool not in kinds, f"{sign} of conditions")
        refuse_unless(sign != "/" or _dtype(a.given["self"], a).is_floating_point, "/ of integers")
        same = len(kinds) == 1 or value is not None
        refuse_unless(same, f"{sign} of numbers of two types")
    elif not isinstance(right, Node) and a.is_whole("self"):
        value = int(value) if float(value).is_integer() else value
    if value is None:
        return Expression(f"{left} {sign} {a.tensor('other')}")
    if sign == "-":  # numbers are joined by + and *
        sign, value = "+", -value
    return Expression(f"{left} {sign} {number(value)}")


def _dtype(operand: Any, a: Arguments) -> torch.dtype:
    """Of a tensor; numbers take that of the result."""
    value = operand.meta["val"] if isinstance(operand, Node) else None
    return value.dtype if isinstance(value, torch.Tensor) and value.dim() else a.result.dtype


@writes("add.Tensor", "add.Scalar")
def add(a: Arguments) -> Expression:
    refuse_unless(a.alpha == 1, "add with alpha")
    return _joined(a, "+")


@writes("sub.Tensor", "sub.Scalar")
def sub(a: Arguments) -> Expression:
    refuse_unless(a.alpha == 1, "sub with alpha")
    if isinstance(a.other, Node):
        return _joined(a, "-")
    return Expression(f"{a.tensor('self')} + {number(-a.other)}")


@writes("rsub.Scalar")
def rsub(a: Arguments) -> Expression:
    refuse_unless(a.alpha == 1, "rsub with alpha")
    return Expression(f"-{a.tensor('self')} + {number(a.other)}")


@writes("mul.Tensor", "mul.Scalar")
def mul(a: Arguments) -> Expression | str:
    for one, other in (("other", "self"), ("self", "other")):
        if _changes_nothing(a, one, other):
            return a.tensor(other)
    if isinstance(a.other, Node) and a.given["self"].meta["val"].dim() == 0:
        single = a.constant("self")
        if single is not None:
            return Expression(f"{a.tensor('other')} * {number(single.item())}")
    return _joined(a, "*")


def _changes_nothing(a: Arguments, one: str, other: str) -> bool:
    """A product with 1, where leaving it out changes no sum of gradients."""
    given, kept = a.given[one], a.given[other]
    if not isinstance(kept, Node) or not isinstance(kept.meta["val"], torch.Tensor):
        return False
    if str(list(a.result.shape)) != str(a.shape(other)):
        return False
    if kept.meta["val"].dtype != a.result.dtype:
        return False
    value = a.constant(one) if isinstance(given, Node) else given
    ones = bool((value == 1).all()) if isinstance(value, torch.Tensor) else value == 1
    return ones and (len(kept.users) == 1 or len(a.node.users) == 1)


@writes("div.Tensor", "div.Scalar")
def div(a: Arguments) -> Expression | str:
    if _changes_nothing(a, "other", "self"):
        return a.tensor("self")
    return _joined(a, "/")


@writes("neg.default")
def neg(a: Arguments) -> Expression:
    return Expression(f"-{a.tensor('self')}")


@writes("pow.Tensor_Scalar")
def power(a: Arguments) -> Call:
    refuse_unless(a.exponent != 0, "the power 0")
    return Call("pow", [a.tensor("self")], [number(a.exponent)])


@writes("square.default")
def square(a: Arguments) -> Call:
    return Call("pow", [a.tensor("self")], ["2"])


@writes("reciprocal.default")
def reciprocal(a: Arguments) -> Call:
    return Call("pow", [a.tensor("self")], ["-1"])


@writes("min.other", "minimum.default", "max.other", "maximum.default")
def extreme(a: Arguments) -> Call:
    name = {"min": "minimum", "max": "maximum"}.get(a.name.rstrip("_"), a.name)
    same = a.given["self"].meta["val"].dtype == a.given["other"].meta["val"].dtype
    refuse_unless(same, f"{name} of numbers of two types")
    return Call(name, [a.tensor("self"), a.tensor("other")])


@writes("logical_and.default", "__and__.Tensor", "bitwise_and.Tensor")
@writes("logical_or.default", "__or__.Tensor", "bitwise_or.Tensor")
def logic(a: Arguments) -> Call | str:
    kinds = {a.given[each].meta["val"].dtype for each in ("self", "other")}
    refuse_unless(kinds == {torch.bool}, f"{a.name} of numbers")
    both = "and" in a.name
    for one, other in (("self", "other"), ("other", "self")):
        value = a.constant(one)
        unchanged = str(list(a.result.shape)) == str(a.shape(other))
        if value is not None and unchanged and bool((value == both).all()):
            return a.tensor(other)
    return Call(f"logical_{'and' if both else 'or'}", [a.tensor("self"), a.tensor("other")])


@writes("bitwise_not.default")
def inverted(a: Arguments) -> Call:
    refuse_unless(a.result.dtype == torch.bool, "bitwise_not of numbers")
    return Call("logical_not", [a.tensor("self")])


SIGNS = {"gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!="}


@writes(*(f"{name}.{kind}" for name in SIGNS for kind in ("Tensor", "Scalar")))
def comparison(a: Arguments) -> Expression:
    return _joined(a, SIGNS[a.name])


@writes("where.self", "where.ScalarOther", "where.ScalarSelf")
def where(a: Arguments) -> Call | str:
    taken = a.constant("condition")
    if taken is not None and bool(taken.all()) and isinstance(a.given["self"], Node):
        unchanged = str(list(a.result.shape)) == str(a.shape("self"))
        if unchanged:
            return a.tensor("self")
        if taken.dim() >= len(a.shape("self")) and not a.is_whole("self"):
            return _repeated(a)
    condition = a.tensor("condition")
    if not isinstance(a.other, Node):
        return Call("where", [condition, a.tensor("self")], [f"otherwise={number(a.other)}"])
    if not isinstance(a.given["self"], Node):
        return _filled(a, a.tensor("other"), a.shape("other"), condition, a.given["self"])
    return Call("where", [condition, a.tensor("self"), a.tensor("other")])


def _repeated(a: Arguments) -> Call:
    """The tensor itself, in the shape that a condition gives it which always holds."""
    before, after = a.shape("self"), list(a.result.shape)
    added = len(after) - len(before)
    shape, extents = [], {}
    for i, extent in enumerate(after):
        kept = i >= added and str(before[i - added]) == str(extent)
        shape.append(-1 if kept else extent if isinstance(extent, int) else 0)
        if shape[-1] == 0:
            extents[i] = extent
    tensors = [a.tensor("self")]
    tensors += [a.writer.tensor_with(a.node, extents)] if extents else []
    return Call("expand", tensors, [f"shape={listed(shape)}"])


@writes("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(a: Arguments) -> Call:
    value = a.value
    if isinstance(value, Node):
        single = a.constant("value")
        refuse_unless(single is not None, "a fill with a computed number")
        value = single.item()
    return _filled(a, a.tensor("self"), a.shape("self"), a.tensor("mask"), value)


def _filled(a: Arguments, text: str, shape: list[Any], mask: str, value: Any) -> Call:
    refuse_unless(str(shape) == str(list(a.result.shape)), "a fill that repeats the tensor")
    return Call("masked_fill", [text, mask], [number(value)])
