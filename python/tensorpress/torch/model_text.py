"""The text of a model (docs/model-text.md) from a torch module: what `tensorpress model` reads.

torch.export runs the module once and gives its operators in order, with the module and the source
line that each came from. An operator becomes one line of text through the functions of
`text_operators` and `text_shapes`; parameters keep their names, so the emitted step takes the
module's state_dict.

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
from collections.abc import Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from . import text_operators, text_shapes, text_writing  # noqa: F401  (the first two register operators)
from .text_writing import Call, Expression, Unsupported

KEYWORDS = frozenset(
    "model input target param block repeat in if else end return loss output share true false "
    "none and or not csr infinity".split()
)
ELEMENTS = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.uint8: "u8",
    torch.bool: "bool",
}
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
    return _Writer(module, _exported(module, inputs), loss, name).text()


def _exported(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Any:
    """With an open first dimension where torch.export can follow it, else with the sizes given."""
    open_first = tuple(
        {0: torch.export.Dim.AUTO} if each.dim() > 0 and each.shape[0] > 1 else None
        for each in inputs
    )
    try:
        return torch.export.export(module, inputs, dynamic_shapes=open_first, strict=False)
    except Exception:  # torch.export raises whatever the module's own arithmetic on sizes raises
        return torch.export.export(module, inputs, strict=False)


class _Writer:
    def __init__(self, module: torch.nn.Module, exported: Any, loss: str | None, name: str | None):
        self.module = module
        self.exported = exported
        self.loss = loss
        self.name = _word(name or type(module).__name__)
        self.names: dict[torch.fx.Node, str] = {}  # what a node is called in the text
        self.parts: dict[torch.fx.Node, list[str]] = {}
        self.taken: set[str] = set(KEYWORDS)
        self.symbols: dict[str, str] = {}
        self.parameters: dict[str, str] = {}  # placeholder -> name in the state_dict
        self.buffers: dict[str, str] = {}
        self.same = _tied(module)
        self.known: set[str] = set()  # parameters that a line above has made
        self.instances: set[str] = set()
        self.blocks: list[str] = []
        self.lines: list[str] = []
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
        if self.complaints:
            more = len(self.complaints) - SHOWN
            raise ValueError(
                f"{self.name} cannot be written as model text:\n  "
                + "\n  ".join(self.complaints[:SHOWN])
                + (f"\n  and {more} more" if more > 0 else "")
            )
        self._finish(outputs)
        self._drop_unused()
        return "\n".join([f"model {self.name}", *self.blocks, *self.lines]) + "\n"

    # --- Inputs and parameters --------------------------------------------------------------------

    def _placeholder(self, node: torch.fx.Node, spec: Any) -> None:
        if spec.kind == InputKind.USER_INPUT:
            self.names[node] = self._fresh("input_1" if node.name == "input" else node.name)
            self.lines.append(f"input {self.names[node]}: {self._type(node.meta['val'])}")
        elif spec.kind == InputKind.PARAMETER:
            self.parameters[node.name] = spec.target
        elif spec.kind == InputKind.BUFFER:
            self.buffers[node.name] = spec.target
        elif node.users:
            self.complaints.append(f"the constant tensor '{spec.target}' is not a parameter")

    def _type(self, value: torch.Tensor) -> str:
        dims = ", ".join(self._dim(each) for each in value.shape)
        return f"{ELEMENTS[value.dtype]}[{dims}]"

    def _dim(self, extent: Any) -> str:
        if isinstance(extent, int):
            return str(extent)
        symbol = str(extent)
        if symbol not in self.symbols:
            self.symbols[symbol] = "N" if not self.symbols else f"N{len(self.symbols)}"
            self.taken.add(self.symbols[symbol])
        return self.symbols[symbol]

    def _fresh(self, wanted: str) -> str:
        word = _word(wanted)
        name, number = word, 1
        while name in self.taken:
            name, number = f"{word}_{number}", number + 1
        self.taken.add(name)
        return name

    # --- Operators --------------------------------------------------------------------------------

    def _operator(self, node: torch.fx.Node) -> None:
        if not isinstance(node.meta.get("val"), (torch.Tensor, list, tuple)):
            return  # a size, or a check of one
        if self._counts_batches(node):
            return
        try:
            written = text_writing.write(node, self)
        except Unsupported as problem:
            self.complaints.append(f"{problem} {_where(node)}")
            self.names[node] = "?"
            return
        if isinstance(written, str):  # the same tensor under another name
            self.names[node] = written
        elif isinstance(written, Expression):
            self.names[node] = self._fresh(node.name.rstrip("_"))
            self.lines.append(f"{self.names[node]} = {written.text}")
        elif written is not None:
            line = written.inside.format(self._call(written, node))
            count = written.parts
            wanted = [
                f"{node.name}_{i}" if count > 1 else node.name.rstrip("_") for i in range(count)
            ]
            self.parts[node] = [self._fresh(each) for each in wanted]
            self.names[node] = self.parts[node][0]
            self.lines.append(f"{', '.join(self.parts[node])} = {line}")
        self._changed_in_place(node)

    def _counts_batches(self, node: torch.fx.Node) -> bool:
        """The counter of batch norm, which its operator keeps itself."""
        first = node.args[0] if node.args else None
        return isinstance(first, torch.fx.Node) and self.buffers.get(first.name, "").endswith(
            "num_batches_tracked"
        )

    def _changed_in_place(self, node: torch.fx.Node) -> None:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.name.endswith("_") or schema.name.endswith("__"):
            return
        changed = node.args[0]
        if not isinstance(changed, torch.fx.Node):
            return
        later = [user for user in changed.users if user is not node]
        if changed.name in self.parameters or changed.name in self.buffers:
            self.complaints.append(f"a parameter or buffer is changed {_where(node)}")
        elif text_writing.is_view(changed) or any(map(text_writing.is_view, later)):
            self.complaints.append(
                f"{schema.name} changes a tensor that others see through a view {_where(node)}"
            )
        self.names[changed] = self.names[node]

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
        return self.names[node]

    def is_tensor(self, node: torch.fx.Node) -> bool:
        """The node has a name in the text, as inputs and results have."""
        parts = self.parts.get(node, [""])
        return len(parts) == 1 and self.names.get(node, "?") != "?"

    def parameter(self, node: torch.fx.Node) -> str:
        """A parameter that is no operator's own: declared where it is first used."""
        path = self._path(node)
        if path in self.known:
            return f"@{path}"
        owner, _, local = path.rpartition(".")
        value = self._type(node.meta["val"])
        self.known.add(path)
        if not owner:
            self.taken.add(local)
            self.lines.append(f"param {local}: {value}")
            return local
        block = self._fresh("parameter_" + path.replace(".", "_"))
        self.blocks += [f"block {block}()", f"  param {local}: {value}", f"  return {local}", "end"]
        name = self._fresh(path.replace(".", "_"))
        share = "share " if owner in self.instances else ""
        self.instances.add(owner)
        self.lines.append(f"{name} = {share}{owner}: {block}()")
        return name

    def _path(self, node: torch.fx.Node) -> str:
        """The name that a line above has made, or the one that torch.export gives."""
        path = self.parameters[node.name]
        return next((each for each in self._all_names(path) if each in self.known), path)

    def _all_names(self, path: str) -> list[str]:
        return self.same.get(path, [path])

    def _call(self, call: Call, node: torch.fx.Node) -> str:
        arguments = [*call.tensors, *call.attributes]
        if not call.parameters:
            return f"{self._own_name(node)}{call.operator}({', '.join(arguments)})"
        paths = {local: self.parameters[each.name] for local, each in call.parameters.items()}
        instance = self._instance(paths, node)
        made = {local: f"{instance}.{local}" for local in paths}
        again = [local for local, path in made.items() if path in self.known]
        if len(again) == len(made) and instance in self.instances:
            return f"share {instance}: {call.operator}({', '.join(arguments)})"
        for local, parameter in call.parameters.items():
            path = self._path(parameter)
            if path not in self.known and made[local] in self._all_names(path):
                path = made[local]  # the operator makes it
            elif path not in self.known:
                self.parameter(parameter)
            if path != made[local]:
                arguments.append(f"{local}=@{path}")
            self.known.add(made[local])
        self.instances.add(instance)
        return f"{instance}: {call.operator}({', '.join(arguments)})"

    def _instance(self, paths: dict[str, str], node: torch.fx.Node) -> str:
        """The module whose parameters these are, by what they are called there; else the module
        that runs."""
        running = _running(node)
        for candidate in (running, *(path.rpartition(".")[0] for path in paths.values())):
            names = [f"{candidate}.{local}" for local in paths]
            if candidate and all(
                name in self._all_names(path)
                for name, path in zip(names, paths.values(), strict=True)
            ):
                return candidate
        instance, number = running or node.name, 1
        while instance in self.instances:
            instance, number = f"{running or node.name}_{number}", number + 1
        return instance

    def _own_name(self, node: torch.fx.Node) -> str:
        """'layer1.relu: ' for the first call of a module that has no module inside."""
        running = _running(node)
        if not running or running in self.instances or _is_container(self.module, running):
            return ""
        self.instances.add(running)
        return f"{running}: "

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
        target = self._fresh("labels" if self.loss in CLASSES else "wanted")
        if self.loss in CLASSES:
            dims = ", ".join(self._dim(e) for i, e in enumerate(value.shape) if i != 1)
            kind = f"i64[{dims}]"
        else:
            kind = self._type(value)
        at = next((i for i, e in enumerate(self.lines) if not e.startswith("input ")), 0)
        self.lines.insert(at, f"target {target}: {kind}")
        self.lines += [f"output {result}", f"loss {self.loss}({result}, {target})"]

    def _drop_unused(self) -> None:
        """Lines without parameters whose results no later line reads."""
        kept: list[str] = []
        read: set[str] = set()
        for line in reversed(self.lines):
            names, equals, made = line.partition(" = ")
            owned = ":" in made  # an instance has parameters or a name that a plan may mention
            used = not equals or owned or any(each in read for each in names.split(", "))
            if used:
                kept.append(line)
                read.update(re.findall(r"\b\w+\b(?!\()", made if equals else line))
        self.lines = kept[::-1]


def _word(name: str) -> str:
    """A name of the text: letters, digits and underscores, no digit first."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    return word if word and not word[0].isdigit() else f"_{word}"


def _tied(module: torch.nn.Module) -> dict[str, list[str]]:
    """All names of parameters that have more than one, by each of them."""
    names: dict[int, list[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {name: same for same in names.values() if len(same) > 1 for name in same}


def _running(node: torch.fx.Node) -> str:
    """The path of the innermost module that ran the operator; empty for the model itself."""
    stack = node.meta.get("nn_module_stack") or {}
    path = list(stack.values())[-1][0] if stack else ""
    return re.sub(r"@\d+$", "", path)


def _is_container(module: torch.nn.Module, path: str) -> bool:
    try:
        return any(True for _ in module.get_submodule(path).children())
    except AttributeError:
        return True


def _where(node: torch.fx.Node) -> str:
    """The last line of the user's own code that led here."""
    frames = re.findall(
        r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)', node.meta.get("stack_trace") or ""
    )
    if not frames:
        return f"({node.target})"
    file, line, code = frames[-1]
    return f"({file}, line {line}: {code.strip()})"
