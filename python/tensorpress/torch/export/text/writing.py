"""What operators.py, elementwise.py and shapes.py are written with: arguments of a
call by the names of PyTorch's own schema, complete with defaults; the result as a `Call` or an
expression; and WRITERS, where each operator's function is registered. What model text cannot say
raises `Unsupported` with the reason; `model_text` adds the source line.
"""

from __future__ import annotations

import dataclasses
import math
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

    def part(self, node: Any, number: int) -> str: ...

    def is_tensor(self, node: Any) -> bool: ...

    def constant(self, node: Any) -> torch.Tensor | None: ...

    def tensor_with(self, node: Any, extents: dict[int, Any]) -> str: ...


@dataclasses.dataclass
class Call:
    """`operator(tensors, attributes)`; `parameters` by their names in the operator's module.
    `inside` is an expression that the call stands in, `parts` how many tensors it makes."""

    operator: str
    tensors: list[str]
    attributes: list[str] = dataclasses.field(default_factory=list)
    parameters: dict[str, Node] = dataclasses.field(default_factory=dict)
    inside: str = "{}"
    parts: int = 1


@dataclasses.dataclass
class Expression:
    """A line that is not a call: `a + b`."""

    text: str


class Arguments:
    """An operator's arguments: `a.stride` as in its schema, `a.tensor("input")` as text."""

    def __init__(self, node: Node, writer: Writer):
        self.node = node
        self.writer = writer
        given = dict(node.kwargs)
        schema = node.target._schema
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

    def constant(self, name: str) -> torch.Tensor | None:
        """The values of an argument that is the same for all inputs, with one element along open
        axes; None for others."""
        return self.writer.constant(self.given[name])

    def is_whole(self, name: str) -> bool:
        given = self.given[name]
        value = given.meta["val"] if isinstance(given, Node) else None
        return isinstance(value, torch.Tensor) and not value.is_floating_point()

    @property
    def name(self) -> str:
        """ "relu" of aten.relu.default."""
        return self.node.target._schema.name.removeprefix("aten::")

    def is_parameter(self, name: str) -> bool:
        given = self.given[name]
        return isinstance(given, Node) and given.op == "placeholder" and given.name[:2] == "p_"

    def shape(self, name: str) -> list[Any]:
        return list(self.given[name].meta["val"].shape)

    @property
    def result(self) -> Any:
        """A tensor, or a list of parts."""
        return self.node.meta["val"]


Write = Callable[[Arguments], "Call | Expression | str"]
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


# Operators that change a tensor in place and are not called by name.
ASSIGNMENTS = {
    "index_put_": "an assignment to a part of a tensor",
    "embedding_renorm_": "embedding with max_norm, which changes its table",
}
BROADCAST = "aten.broadcast_tensors.default"
UNBIND = "aten.unbind.int"
SPLITS = ("aten.chunk.default", "aten.split.Tensor", "aten.split_with_sizes.default")


def write(node: Node, writer: Writer) -> Call | Expression | str | None:
    """The text of one operator; None if it needs no line of its own."""
    if str(node.target) == BROADCAST or _is_uneven(node):
        return None  # its parts are looked through
    if node.target is operator.getitem:
        source: Any = node.args[0]
        if _is_uneven(source):
            return _uneven_part(Arguments(source, writer), node.args[1])
        if str(source.target) == BROADCAST:
            before = source.args[0][node.args[1]]
            same_shape = str(before.meta["val"].shape) == str(node.meta["val"].shape)
            refuse_unless(same_shape, "a tensor that is repeated to another shape")
            return writer.tensor(before)
        part = writer.part(*node.args)
        if str(source.target) == UNBIND:
            taken = Arguments(source, writer)
            return Expression(f"squeeze({part}, {axis(taken, taken.dim)})")
        return part
    function = WRITERS.get(str(node.target))
    if function is None:
        if not node.users and not is_mutable(node):
            return None
        name = str(node.target).removeprefix("aten.").partition(".")[0]
        raise Unsupported(ASSIGNMENTS.get(name, f"operator {node.target} has no text"))
    return function(Arguments(node, writer))


def _is_uneven(node: Node) -> bool:
    """The operator makes parts of different sizes, which text has as slices."""
    if str(node.target) not in SPLITS:
        return False
    return len({str(part.shape) for part in node.meta["val"]}) > 1


def _uneven_part(a: Arguments, number: int) -> Expression:
    along = axis(a, a.dim)
    sizes = [part.shape[along] for part in a.result]
    refuse_unless(all(isinstance(each, int) for each in sizes), "a part of an open axis")
    start = sum(sizes[:number])
    places = f"axis={along}, start={start}, stop={start + sizes[number]}"
    return Expression(f"slice({a.tensor('self')}, {places})")


def is_mutable(node: Node) -> bool:
    """The operator writes into an argument."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def is_itself(node: Node) -> bool:
    """The result is the argument, though the schema does not say so: dropout in evaluation."""
    return str(node.target) == "aten.dropout.default"


def is_kept(node: Node) -> bool:
    """Dropout that drops nothing gives its argument."""
    if not is_itself(node):
        return False
    _, p, training = (*node.args, *node.kwargs.values())
    return p == 0 or not training


def assigns(node: Node) -> bool:
    """It writes over a part of a tensor, or over all of it."""
    return str(node.target).split(".")[1:2] in (["copy_"], ["fill_"])


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


def listed(values: Any) -> str:
    return "[" + ", ".join(map(str, values)) + "]"


def number(value: Any) -> str:
    """As model text reads it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unsupported(f"a number is expected where {value!r} stands")
    if math.isnan(value):
        raise Unsupported(f"the number {value}")
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return repr(value)


def refuse_unless(allowed: bool, what: str) -> None:
    if not allowed:
        raise Unsupported(what)


def axis(a: Arguments, value: int, name: str = "self") -> int:
    """Counted from the front."""
    return value % len(a.shape(name))
