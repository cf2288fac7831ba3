"""The text of a model (docs/model-text.md) from a torch module: what `tensorpress model` reads.

torch.export runs the module once and gives its operators in order, with the module and the source
line that each came from. An operator becomes one line of text through the functions of
`operators`, `elementwise` and `shapes`; parameters keep their names, so the emitted
step takes the module's state_dict.

That has three exceptions. Convolutions, norms and embeddings that torch.nn.functional runs on
parameters that are not `weight` and `bias` of one module have these names besides the module's;
F.linear has not, being written as a product and a sum, which rounds otherwise. Statistics given to
F.batch_norm have names of their own. Buffers that forward does not read are not in the text.

Comments of the text say what it has no words for: a first dimension that could not be left open
(the example has one element there, or torch.export follows no other size), and frozen parameters,
which the step trains until its own are told `requires_grad_(False)`. Functions with a backward of
their own and hooks on gradients are refused as far as they are seen (tracing); hooks on nodes
of autograd's graph are not.

    >>> import torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    >>> print(to_text(net, torch.zeros(2, 8)))
    model Sequential
    input input_1: f32[N, 8]
    target labels: i64[N]
    linear = 0: linear(input_1, 4)
    relu = 1: relu(linear)
    linear_1 = 2: linear(relu, 3)
    output linear_1
    loss cross_entropy(linear_1, labels)
    <BLANKLINE>
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from . import elementwise, operators, shapes, writing  # noqa: F401  (the first three register operators)
from .names import ELEMENTS, Free, Names, running_module, word
from .tracing import exported
from .writing import Call, Expression, Unsupported

# Losses whose target has the shape and type of what the module gives; cross_entropy and nll_loss
# take the number of the class instead.
SAME_SHAPE = ("mse_loss", "l1_loss", "bce_with_logits")
CLASSES = ("cross_entropy", "nll_loss")
SHOWN = 8  # operators that a refusal lists


def to_text(
    module: torch.nn.Module,
    example_inputs: torch.Tensor | Sequence[torch.Tensor],
    loss: str | None = "cross_entropy",
    name: str | None = None,
) -> str:
    """The model's text. The first dimension of the inputs is left open as N, if the module allows
    it. `loss` names the operator between the module's result and a target; None: the module
    returns the loss itself. Operators that have no text are all named in one ValueError."""
    if loss is not None and loss not in SAME_SHAPE + CLASSES:
        raise ValueError(
            f"loss is {loss!r}; it is one of {', '.join(CLASSES + SAME_SHAPE)} or None"
        )
    inputs = (
        (example_inputs,) if isinstance(example_inputs, torch.Tensor) else tuple(example_inputs)
    )
    for i, each in enumerate(inputs):
        if not isinstance(each, torch.Tensor):
            raise TypeError(f"example input {i} is {type(each).__name__}, not a tensor")
        if each.dtype not in ELEMENTS:
            raise ValueError(f"example input {i} is {each.dtype}, which model text does not have")
    name = word(name or type(module).__name__)
    program, complaints = exported(module, _different(inputs), name)
    _refuse(name, complaints)
    free: Free = {}
    while True:  # until a text knows from its beginning which parameters no operator makes
        writer = _Writer(module, program, loss, name, free)
        text = writer.text()
        if writer.free == free:
            return text
        free = writer.free


def _different(inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Examples of which no two are one tensor: torch.export would take them for one input."""
    first = {id(each): i for i, each in reversed(list(enumerate(inputs)))}
    return tuple(
        each if first[id(each)] == i else each.detach().clone().requires_grad_(each.requires_grad)
        for i, each in enumerate(inputs)
    )


def _refuse(name: str, complaints: list[str]) -> None:
    if not complaints:
        return
    more = len(complaints) - SHOWN
    raise ValueError(
        f"{name} cannot be written as model text:\n  "
        + "\n  ".join(complaints[:SHOWN])
        + (f"\n  and {more} more" if more > 0 else "")
    )


class _Writer(Names):
    """Lines for the operators of a graph, in order."""

    def __init__(
        self, module: torch.nn.Module, exported: Any, loss: str | None, name: str, free: Free
    ):
        super().__init__(module, free)
        self.exported = exported
        self.loss = loss
        self.name = name
        self.names: dict[torch.fx.Node, str] = {}  # what a node is called in the text
        self.parts: dict[torch.fx.Node, list[str]] = {}
        self.same_memory: dict[torch.fx.Node, list[torch.fx.Node]] = {}
        self.counters: set[torch.fx.Node] = set()
        self.buffers: dict[str, str] = {}
        self.notes: list[str] = []
        self.complaints: list[str] = []

    def text(self) -> str:
        graph = self.exported.graph
        kinds = {spec.arg.name: spec for spec in self.exported.graph_signature.input_specs}
        outputs: list[Any] = []
        for node in graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, kinds[node.name])
            elif node.op == "output":
                outputs = [each for each in node.args[0] if isinstance(each, torch.fx.Node)]
            else:
                self._operator(node)
        self._declare_unread()
        _refuse(self.name, self.complaints)
        self._finish(outputs)
        self._drop_unused()
        _refuse(self.name, self._unread_inputs())
        self._note_frozen()
        return "\n".join([f"model {self.name}", *self.notes, *self.blocks, *self.lines]) + "\n"

    # --- Inputs and parameters --------------------------------------------------------------------

    def _placeholder(self, node: torch.fx.Node, spec: Any) -> None:
        if spec.kind == InputKind.USER_INPUT:
            self.names[node] = self.fresh("input_1" if node.name == "input" else node.name)
            self.lines.append(f"input {self.names[node]}: {self.type_of(node.meta['val'])}")
            self._note_fixed(node)
        elif spec.kind == InputKind.PARAMETER:
            self.parameters[node.name] = spec.target
        elif spec.kind == InputKind.BUFFER:
            self.buffers[node.name] = spec.target
        elif node.users:
            self.complaints.append(f"the constant tensor '{spec.target}' is not a parameter")

    def _note_fixed(self, node: torch.fx.Node) -> None:
        first = [self.dim(each) for each in node.meta["val"].shape[:1]]
        if not first or not first[0].isdigit():
            return
        why = "torch.export could not follow another size"
        if first[0] == "1":
            why = "the example has one element there; export with two or more"
        self.notes.append(
            f"# The first dimension of {self.names[node]} is not open, it is {first[0]}: {why}."
        )

    def _note_frozen(self) -> None:
        frozen = [name for name, each in self.module.named_parameters() if not each.requires_grad]
        if frozen:
            self.notes.append(
                "# Frozen in the module, but a text cannot say so; call requires_grad_(False) on "
                "these parameters of the step:"
            )
            self.notes += [f"#   {name}" for name in frozen]

    def _declare_unread(self) -> None:
        """Parameters that forward does not read are in the state_dict all the same."""
        for node in self.exported.graph.nodes:
            if node.name in self.parameters and self._path(node) not in self.known:
                try:
                    self.parameter(node)
                except Unsupported as problem:
                    self.complaints.append(str(problem))

    # --- Operators --------------------------------------------------------------------------------

    def _operator(self, node: torch.fx.Node) -> None:
        if not isinstance(node.meta.get("val"), (torch.Tensor, list, tuple)):
            return  # a size, or a check of one
        if self._counts_batches(node):
            return
        try:
            written = writing.write(node, self)
            call = self.call(written, node) if isinstance(written, Call) else ""
        except Unsupported as problem:
            self.complaints.append(f"{problem} {_where(node)}")
            self.names[node] = "?"
            return
        if isinstance(written, str):  # the same tensor under another name
            self.names[node] = written
            if writing.is_itself(node):
                self._share_memory(node, node.args[0])
        elif isinstance(written, Expression):
            self.names[node] = self.fresh(node.name.rstrip("_"))
            self.lines.append(f"{self.names[node]} = {written.text}")
        elif written is not None:
            line = written.inside.format(call)
            count = written.parts
            wanted = [
                f"{node.name}_{i}" if count > 1 else node.name.rstrip("_") for i in range(count)
            ]
            self.parts[node] = [self.fresh(each) for each in wanted]
            self.names[node] = self.parts[node][0]
            self.lines.append(f"{', '.join(self.parts[node])} = {line}")
        self._changed_in_place(node)

    def _counts_batches(self, node: torch.fx.Node) -> bool:
        """The counter of batch norm, which its operator keeps itself."""
        first = node.args[0] if node.args else None
        if not isinstance(first, torch.fx.Node):
            return False
        counts = self.buffers.get(first.name, "").endswith("num_batches_tracked")
        if counts or first in self.counters:
            self.counters.add(node)
            return True
        return False

    def _changed_in_place(self, node: torch.fx.Node) -> None:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.name.endswith("_") or schema.name.endswith("__"):
            return
        changed = node.args[0]
        if not isinstance(changed, torch.fx.Node):
            return
        if node not in self.names:  # nothing was written
            return
        self._share_memory(node, changed)
        same = self.same_memory[node]
        others = [user for each in same for user in each.users if user not in same]
        if changed.name in self.parameters or changed.name in self.buffers:
            self.complaints.append(f"a parameter or buffer is changed {_where(node)}")
        elif any(map(writing.is_view, [*same, *others])):
            self.complaints.append(
                f"{schema.name} changes a tensor that others see through a view {_where(node)}"
            )
        for each in same:
            self.names[each] = self.names[node]

    def _share_memory(self, node: torch.fx.Node, other: Any) -> None:
        """The two are one tensor, so that changing one changes the other."""
        self.same_memory[node] = self.same_memory.setdefault(other, [other])
        self.same_memory[node].append(node)

    def part(self, node: torch.fx.Node, number: int) -> str:
        """One tensor of an operator that makes several."""
        if node not in self.parts:
            raise Unsupported("what it is a part of has no text")
        return self.parts[node][number]

    def tensor(self, node: Any) -> str:
        """The text of an argument that is a tensor."""
        if not isinstance(node, torch.fx.Node):
            raise Unsupported(f"a tensor is expected where {node!r} stands")
        if node.name in self.parameters:
            return self.parameter(node)
        if node.name in self.buffers:
            raise Unsupported(f"the buffer '{self.buffers[node.name]}' is used as a value")
        if node not in self.names:
            raise Unsupported(f"{_not_a_tensor(node)} that is computed with")
        return self.names[node]

    def is_tensor(self, node: torch.fx.Node) -> bool:
        """The node has a name in the text, as inputs and results have."""
        parts = self.parts.get(node, [""])
        return len(parts) == 1 and self.names.get(node, "?") != "?"

    # --- The end ----------------------------------------------------------------------------------

    def _finish(self, outputs: list[Any]) -> None:
        results = [each for each in outputs if isinstance(each.meta.get("val"), torch.Tensor)]
        if len(results) != 1:
            raise ValueError(f"{self.name} gives {len(results)} tensors; a step has one loss")
        result = self.names[results[0]]
        value = results[0].meta["val"]
        if self.loss is None:
            self.lines.append(f"loss {result}")
            return
        target = self.fresh("labels" if self.loss in CLASSES else "wanted")
        if self.loss in CLASSES:
            dims = ", ".join(self.dim(e) for i, e in enumerate(value.shape) if i != 1)
            kind = f"i64[{dims}]"
        else:
            kind = self.type_of(value)
        at = next((i for i, e in enumerate(self.lines) if not e.startswith("input ")), 0)
        self.lines.insert(at, f"target {target}: {kind}")
        self.lines += [f"output {result}", f"loss {self.loss}({result}, {target})"]

    def _drop_unused(self) -> None:
        """Lines without parameters whose results no later line reads."""
        kept: list[str] = []
        read: set[str] = set()
        for line in reversed(self.lines):
            names, equals, made = line.partition(" = ")
            owned = ":" in made or made.startswith(
                "parameters_"
            )  # an instance has parameters or a name that a plan may mention
            used = not equals or owned or any(each in read for each in names.split(", "))
            if used:
                kept.append(line)
                read.update(re.findall(r"\b\w+\b(?!\()", made if equals else line))
        self.lines = kept[::-1]

    def _unread_inputs(self) -> list[str]:
        """Which a text may not have, and a step would take all the same."""
        others = "\n".join(line for line in self.lines if not line.startswith("input "))
        read = set(re.findall(r"\b\w+\b", others))
        inputs = [line.split()[1].rstrip(":") for line in self.lines if line.startswith("input ")]
        return [
            f"forward does not use its input '{each}': give a module that does not take it"
            for each in inputs
            if each not in read
        ]


def _not_a_tensor(node: torch.fx.Node) -> str:
    value = node.meta.get("val")
    if isinstance(value, torch.SymInt):
        return "the size of an open dimension"
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        return "a number of .item()"
    return f"a result of {node.target}"


def _where(node: torch.fx.Node) -> str:
    """The module that ran, and the last line of the user's own code that led here."""
    frames = re.findall(
        r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)', node.meta.get("stack_trace") or ""
    )
    torchs = os.path.dirname(torch.__file__) + os.sep
    running = running_module(node)
    known = [f"'{running}'"] if running else []
    for file, line, code in [each for each in frames if not each[0].startswith(torchs)][-1:]:
        known.append(f"{file}, line {line}: {code.strip()}")
    return f"({', '.join(known) or node.target})"
