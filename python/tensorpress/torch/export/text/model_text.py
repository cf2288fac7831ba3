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

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from . import assignments, elementwise, operators, shapes, slicing, writing  # noqa: F401  (the first four register operators)
from .constants import SHORT, short_text
from .in_place import InPlace, where
from .names import ELEMENTS, Free, word
from .outputs import one_output
from .prepared import Prepared
from .simplify import refuse_without_gradients
from .tracing import exported
from .writing import Call, Expression, Unsupported

# Losses whose target has the shape and type of what the module gives; cross_entropy and nll_loss
# take the number of the class instead.
SAME_SHAPE = ("mse_loss", "l1_loss", "bce_with_logits")
CLASSES = ("cross_entropy", "nll_loss")
SHOWN = 8  # operators that a refusal lists
LONG = 1024  # numbers of a constant that no operators make


def to_text(
    module: torch.nn.Module,
    example_inputs: torch.Tensor | Sequence[torch.Tensor] | Mapping[str, torch.Tensor],
    loss: str | None = "cross_entropy",
    name: str | None = None,
    output: str | int | None = None,
    slice_logits: bool = False,
) -> str:
    """The model's text. The first dimension of the inputs is left open as N, if the module allows
    it. Inputs by name are a dictionary, as `forward(**example_inputs)` takes them.

    `loss` names the operator between the module's result and a target; None: the module returns
    the loss itself, alone or as its field `loss`. Of a result with several tensors the text is of
    `logits` or `sample`, or of what `output` names. With `slice_logits`, a linear layer and the
    cross entropy of its logits are one operator, so that a step never has all logits; its sums are
    rounded otherwise than PyTorch's. Operators that have no text are all named in one
    ValueError."""
    if loss is not None and loss not in SAME_SHAPE + CLASSES:
        raise ValueError(
            f"loss is {loss!r}; it is one of {', '.join(CLASSES + SAME_SHAPE)} or None"
        )
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    by_name = isinstance(example_inputs, Mapping)
    names = list(example_inputs) if isinstance(example_inputs, Mapping) else []
    inputs = tuple(
        example_inputs.values() if isinstance(example_inputs, Mapping) else example_inputs
    )
    for i, each in enumerate(inputs):
        which = repr(names[i]) if by_name else i
        if not isinstance(each, torch.Tensor):
            raise TypeError(f"example input {which} is {type(each).__name__}, not a tensor")
        if each.dtype not in ELEMENTS:
            raise ValueError(
                f"example input {which} is {each.dtype}, which model text does not have"
            )
    name = word(name or type(module).__name__)
    inputs = _different(inputs)
    complaint: ValueError | None = None
    for one_batch in (False, True):
        with one_output(module, loss, output, name):
            program, complaints = exported(
                module,
                () if by_name else inputs,
                dict(zip(names, inputs, strict=True)) if by_name else {},
                name,
                one_batch,
            )
        _refuse(name, complaints)
        prepared = Prepared(program)
        try:
            return _text_of(module, prepared, loss, name, slice_logits)
        except ValueError as problem:
            complaint = complaint or problem
        if prepared.open_extents() < 2:
            break
    raise complaint


def _text_of(
    module: torch.nn.Module,
    prepared: Prepared,
    loss: str | None,
    name: str,
    slice_logits: bool,
) -> str:
    free: Free = {}
    while True:  # until a text knows from its beginning which parameters no operator makes
        writer = _Writer(module, prepared, loss, name, free, slice_logits)
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


class _Writer(InPlace):
    """Lines for the operators of a graph, in order."""

    def __init__(
        self,
        module: torch.nn.Module,
        prepared: Prepared,
        loss: str | None,
        name: str,
        free: Free,
        slice_logits: bool,
    ):
        super().__init__(module, prepared, free)
        self.constants = prepared.constants
        self.loss = loss
        self.name = name
        self.parts: dict[torch.fx.Node, list[str]] = {}
        self.notes: list[str] = []
        self.target = ""  # of a loss after the module
        self.pairs: dict[torch.fx.Node, slicing.Pair] = {}  # by the loss, or by the result
        if slice_logits:
            self._pair_losses()

    def text(self) -> str:
        for node in self.prepared.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, self.prepared.kinds[node.name])
            elif node.op == "call_function" and node in self.prepared.living:
                hidden = any(node in pair.between for pair in self.pairs.values())
                if node not in self.constants and not hidden:  # written where they are read
                    self._operator(node)
        if self.loss is not None:
            self.target = self.fresh("labels" if self.loss in CLASSES else "wanted")
        sliced = self._sliced_loss()
        self._declare_unread()
        _refuse(self.name, self.complaints)
        self._finish(sliced)
        self._drop_unused()
        _refuse(self.name, self._unread_inputs())
        self._note_frozen()
        return "\n".join([f"model {self.name}", *self.notes, *self.blocks, *self.lines]) + "\n"

    def _pair_losses(self) -> None:
        living, results = self.prepared.living, self.prepared.results
        for node in living:
            if str(node.target) != slicing.LOSS:
                continue
            if slicing.can_be_sliced(writing.Arguments(node, self)):
                pair = slicing.pair_of(node.args[0], living)
                if pair is not None:
                    self.pairs[node] = pair
        if self.loss == "cross_entropy" and len(results) == 1:
            pair = slicing.pair_of(results[0], living)
            if pair is not None and len(results[0].meta["val"].shape) == 2:
                self.pairs[results[0]] = pair
        if not self.pairs:
            self.notes.append(
                "# Logits are not sliced: no cross entropy follows a linear layer whose logits "
                "nothing else reads."
            )

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
        for node in self.prepared.graph.nodes:
            if node.name in self.parameters and self._path(node) not in self.known:
                try:
                    self.parameter(node)
                except Unsupported as problem:
                    self.complaints.append(str(problem))
        try:
            self.declare_aliases()
        except Unsupported as problem:
            self.complaints.append(str(problem))

    # --- Operators --------------------------------------------------------------------------------

    def _operator(self, node: torch.fx.Node) -> None:
        if not isinstance(node.meta.get("val"), (torch.Tensor, list, tuple)):
            return  # a size, or a check of one
        if self.counts_batches(node):
            return
        try:
            self._write(node)
        except Unsupported as problem:
            self.complaints.append(f"{problem} {where(node)}")
            self.names[node] = "?"
            return
        self.changed_in_place(node)

    def _write(self, node: torch.fx.Node) -> None:
        refuse_without_gradients(node)
        pair = self.pairs.get(node)
        if pair is None:
            written = writing.write(node, self)
        else:
            loss = writing.Arguments(node, self)
            labels, options = loss.tensor("target"), slicing.options_of(loss)
            written = slicing.call_of(pair.linear, labels, self, options)
        at = node if pair is None else pair.linear
        call = self.call(written, at) if isinstance(written, Call) else ""
        if isinstance(written, str):  # the same tensor under another name
            self.names[node] = written
            if writing.is_itself(node):
                self.share_memory(node, node.args[0])
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
        if node not in self.names and node in self.constants:
            self._constant(node)
        elif node.name in self.buffers:
            raise Unsupported(
                f"the buffer '{self.buffers[node.name]}' is used as a value and changed"
            )
        if node not in self.names:
            raise Unsupported(f"{_not_a_tensor(node)} that is computed with")
        return self.names[node]

    def constant(self, node: Any) -> torch.Tensor | None:
        if node not in self.constants or (node in self.names and self.names[node] == "?"):
            return None
        try:
            return self.constants.value(node)
        except Unsupported:
            return None

    def _constant(self, node: torch.fx.Node) -> None:
        """A line for a constant: its numbers where they are few, otherwise what makes them."""
        value = self.constants.value(node)
        made = node.op == "call_function"
        text = short_text(value, SHORT if made else LONG)
        before = len(self.lines)
        if text is None and made:
            try:
                self._write(node)
                return
            except Unsupported:
                del self.lines[before:]
                text = short_text(value, LONG)
        if text is None:
            raise Unsupported(
                f"a constant of {value.numel()} numbers, which is too long for a text; make it a "
                "parameter that is not trained,"
            )
        wanted = self.buffers.get(node.name, node.name).rpartition(".")[2]
        name = self.fresh(wanted.rstrip("_"))
        self.lines.append(f"{name} = {text}")
        self.names[node] = name
        extents = {
            i: each for i, each in enumerate(node.meta["val"].shape) if not isinstance(each, int)
        }
        if extents:
            self.names[node] = self.fresh(wanted.rstrip("_"))
            like = self.tensor_with(node, extents)
            shape = [0 if i in extents else -1 for i in range(value.dim())]
            self.lines.append(
                f"{self.names[node]} = expand({name}, {like}, shape={writing.listed(shape)})"
            )

    def tensor_with(self, node: torch.fx.Node, extents: dict[int, Any]) -> str:
        """A tensor before the node that has these open extents at these places."""
        for other in self.prepared.graph.nodes:
            if other is node:
                break
            shape = getattr(other.meta.get("val"), "shape", ())
            same = [i < len(shape) and str(shape[i]) == str(e) for i, e in extents.items()]
            if all(same) and self.is_tensor(other):
                return self.names[other]
        raise Unsupported("an open extent that no tensor before has at that place")

    def is_tensor(self, node: torch.fx.Node) -> bool:
        """The node has a name in the text, as inputs and results have."""
        parts = self.parts.get(node, [""])
        return len(parts) == 1 and self.names.get(node, "?") != "?"

    # --- The end ----------------------------------------------------------------------------------

    def _sliced_loss(self) -> str:
        """The call where the loss after the module is one with its last linear layer."""
        pair = self.pairs.get(self.prepared.results[0]) if self.loss is not None else None
        if pair is None:
            return ""
        return self.call(slicing.call_of(pair.linear, self.target, self, []), pair.linear)

    def _finish(self, sliced: str) -> None:
        result = self.prepared.results[0]
        value = result.meta["val"]
        if self.loss is None:
            self.lines.append(f"loss {self.tensor(result)}")
            return
        if self.loss in CLASSES:
            dims = ", ".join(self.dim(e) for i, e in enumerate(value.shape) if i != 1)
            kind = f"i64[{dims}]"
        else:
            kind = self.type_of(value)
        at = next((i for i, e in enumerate(self.lines) if not e.startswith("input ")), 0)
        self.lines.insert(at, f"target {self.target}: {kind}")
        if sliced:
            self.lines.append(f"loss {sliced}")
            return
        result_text = self.tensor(result)
        self.lines += [f"output {result_text}", f"loss {self.loss}({result_text}, {self.target})"]

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
