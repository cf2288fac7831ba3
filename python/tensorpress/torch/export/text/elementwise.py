"""How operators that go element by element are written as model text: one function each."""

from __future__ import annotations

import math
from typing import Any

from .writing import (
    Arguments,
    Call,
    Expression,
    Node,
    number,
    refuse_unless,
    unless,
    writes,
)


@writes("relu.default", "relu6.default", "silu.default", "sigmoid.default", "tanh.default")
@writes("exp.default", "log.default", "sqrt.default", "rsqrt.default", "abs.default")
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
    if sign in "+-*/":
        operands = [each for each in (a.given["self"], right) if isinstance(each, Node)]
        same = all(
            getattr(e.meta["val"], "dtype", a.result.dtype).is_floating_point for e in operands
        )
        refuse_unless(same, f"{sign} of whole numbers or conditions")
    if isinstance(right, Node):
        return Expression(f"{left} {sign} {a.tensor('other')}")
    return Expression(f"{left} {sign} {number(right)}")


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
def mul(a: Arguments) -> Expression:
    return _joined(a, "*")


@writes("div.Tensor", "div.Scalar")
def div(a: Arguments) -> Expression:
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


SIGNS = {"gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!="}


@writes(*(f"{name}.{kind}" for name in SIGNS for kind in ("Tensor", "Scalar")))
def comparison(a: Arguments) -> Expression:
    return _joined(a, SIGNS[a.name])


@writes("where.self", "where.ScalarOther", "where.ScalarSelf")
def where(a: Arguments) -> Call:
    condition = a.tensor("condition")
    if not isinstance(a.other, Node):
        return Call("where", [condition, a.tensor("self")], [f"otherwise={number(a.other)}"])
    if not isinstance(a.given["self"], Node):
        return _filled(a, a.tensor("other"), a.shape("other"), condition, a.given["self"])
    return Call("where", [condition, a.tensor("self"), a.tensor("other")])


@writes("masked_fill.Scalar")
def masked_fill(a: Arguments) -> Call:
    return _filled(a, a.tensor("self"), a.shape("self"), a.tensor("mask"), a.value)


def _filled(a: Arguments, text: str, shape: list[Any], mask: str, value: Any) -> Call:
    refuse_unless(str(shape) == str(list(a.result.shape)), "a fill that repeats the tensor")
    return Call("masked_fill", [text, mask], [number(value)])
