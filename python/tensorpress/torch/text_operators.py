"""How each operator of torch.export is written as model text: one function each.

A function gets the operator's arguments by the names of PyTorch's own schema, complete with
defaults, and gives a `Call`, or the text of a tensor that the result equals. What model text cannot
say raises `Unsupported` with the reason; `model_text` adds the source line.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any, Protocol

import torch

Node = torch.fx.Node


class Unsupported(Exception):
    """Why an operator has no text."""


class Writer(Protocol):
    """What the functions need of the text that is being written."""

    def tensor(self, node: Any) -> str: ...


@dataclasses.dataclass
class Call:
    """`operator(tensors, attributes)`; `parameters` by their names in the operator's module."""

    operator: str
    tensors: list[str]
    attributes: list[str] = dataclasses.field(default_factory=list)
    parameters: dict[str, Node] = dataclasses.field(default_factory=dict)


class Arguments:
    """An operator's arguments: `a.stride` as in its schema, `a.tensor("input")` as text."""

    def __init__(self, node: Node, writer: Writer):
        self.node = node
        self.writer = writer
        given = dict(node.kwargs)
        schema = node.target._schema  # type: ignore[union-attr]
        for i, argument in enumerate(schema.arguments):
            value = node.args[i] if i < len(node.args) else given.get(argument.name)
            if value is None and argument.has_default_value():
                value = argument.default_value
            given[argument.name] = value
        self.given = given

    def __getattr__(self, name: str) -> Any:
        try:
            return self.given[name]
        except KeyError:
            raise AttributeError(name) from None

    def tensor(self, name: str) -> str:
        return self.writer.tensor(self.given[name])

    def shape(self, name: str) -> list[Any]:
        return list(self.given[name].meta["val"].shape)

    @property
    def result(self) -> torch.Tensor:
        return self.node.meta["val"]


Write = Callable[[Arguments], "Call | str | None"]
WRITERS: dict[str, Write] = {}


def writes(*targets: str) -> Callable[[Write], Write]:
    """Registers a function for operators such as "conv2d.default"; their in-place forms follow."""

    def register(function: Write) -> Write:
        for target in targets:
            base, _, overload = target.partition(".")
            WRITERS[f"aten.{target}"] = function
            WRITERS[f"aten.{base}_.{overload}"] = function
        return function

    return register


def write(node: Node, writer: Writer) -> Call | str | None:
    """The text of one operator; None if it makes nothing that anybody reads."""
    if node.target is operator.getitem:
        parts = node.args[0].meta.get("text_parts")  # type: ignore[union-attr]
        if parts is None:
            raise Unsupported("an operator with several results has no text")
        return parts(node.args[1])
    function = WRITERS.get(str(node.target))
    if function is None:
        if not node.users:
            return None
        raise Unsupported(f"operator {node.target} has no text")
    return function(Arguments(node, writer))


def is_view(node: Node) -> bool:
    """The result shares memory with an argument."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(
        each.alias_info is not None and not each.alias_info.is_write for each in schema.arguments
    )


def pair(values: Any) -> str:
    """3 for [3, 3], else [3, 5]."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    if len(values) == 1 or all(each == values[0] for each in values):
        return str(values[0])
    return "[" + ", ".join(map(str, values)) + "]"


def unless(default: Any, name: str, values: Any) -> list[str]:
    """`name=values`, left out where it is the default."""
    text = pair(values)
    return [] if text == str(default) else [f"{name}={text}"]


def flag(value: Any) -> str:
    return "true" if value else "false"


# --- Convolutions and matrices --------------------------------------------------------------------


def _weighted(a: Arguments, operator_name: str, attributes: list[str]) -> Call:
    parameters = {"weight": a.weight}
    if a.bias is None:
        attributes = [*attributes, "bias=false"]
    else:
        parameters["bias"] = a.bias
    return Call(operator_name, [a.tensor("input")], attributes, parameters)


def _is_parameter(node: Any) -> bool:
    return isinstance(node, Node) and node.op == "placeholder" and node.name.startswith("p_")


@writes("conv2d.default", "conv2d.padding")
def conv2d(a: Arguments) -> Call:
    channels, _, *kernel = a.shape("weight")
    padding = a.padding
    if padding == "valid":
        padding = 0
    if padding == "same":
        reach = [d * (k - 1) for d, k in zip(a.dilation * 2, kernel)]
        if any(each % 2 for each in reach):
            raise Unsupported("conv2d with padding='same' pads unevenly here, which")
        padding = [each // 2 for each in reach]
    attributes = [str(channels), f"kernel={pair(kernel)}", *unless(1, "stride", a.stride)]
    attributes += unless(0, "padding", padding) + unless(1, "dilation", a.dilation)
    return _weighted(a, "conv2d", attributes + unless(1, "groups", a.groups))


@writes("linear.default")
def linear(a: Arguments) -> Call:
    return _weighted(a, "linear", [str(a.shape("weight")[0])])


# --- Element by element ---------------------------------------------------------------------------


@writes("relu.default")
def relu(a: Arguments) -> Call:
    return Call("relu", [a.tensor("self")])


# --- Shapes ---------------------------------------------------------------------------------------


@writes("flatten.using_ints")
def flatten(a: Arguments) -> Call:
    last = len(a.shape("self")) - 1
    if a.end_dim not in (-1, last):
        raise Unsupported("flatten that ends before the last dimension")
    return Call("flatten", [a.tensor("self")], unless(1, "from", a.start_dim))

