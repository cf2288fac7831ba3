"""The two graphs of a compiled training step, and changing what crosses from one to the other.

    forward:   (inputs) -> (results, saved tensors, saved symbolic sizes)
    backward:  (saved symbolic sizes, saved tensors, tangents) -> (gradients)

Saved tensors that autograd does not check for changes come last among the tensors; AOTAutograd
marks them in their metadata.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch._guards import detect_fake_mode

from .needs import MOVING, hint, packet_of

aten = torch.ops.aten
UNCHECKED = "saved_tensor_with_no_vc_check"


def call(graph: fx.Graph, operator: Any, *arguments: Any) -> fx.Node:
    """A node at the graph's place of insertion, with the metadata that compilers expect."""
    node = graph.call_function(operator, arguments)
    values = fx.node.map_arg(arguments, lambda operand: operand.meta["val"])
    mode = detect_fake_mode([operand.meta["val"] for operand in node.all_input_nodes])
    assert mode is not None
    with mode:
        node.meta["val"] = operator(*values)
    return node


@dataclasses.dataclass(eq=False)
class Crossing:
    """A tensor that forward saves, and the placeholder that backward has for it."""

    saved: fx.Node
    entry: fx.Node

    @property
    def value(self) -> torch.Tensor:
        found: torch.Tensor = self.saved.meta["val"]
        return found

    @property
    def bytes(self) -> int:
        return hint(self.value.numel()) * self.value.dtype.itemsize


class TrainingGraphs:
    """Forward and backward with the list of what crosses. `outputs` counts the results."""

    def __init__(self, forward: fx.GraphModule, backward: fx.GraphModule, outputs: int) -> None:
        self.forward, self.backward = forward, backward
        self._output = next(iter(forward.graph.find_nodes(op="output")))
        everything = list(self._output.args[0])
        self.results = everything[:outputs]
        self._saved = everything[outputs:]
        entries = {node.name: node for node in backward.graph.find_nodes(op="placeholder")}
        self.crossings = [
            Crossing(node, entries[node.name])
            for node in self._saved
            if isinstance(node, fx.Node)
            and isinstance(node.meta.get("val"), torch.Tensor)
            and node.name in entries
        ]
        self._first_entry = self.crossings[0].entry if self.crossings else None
        self._by_name = {node.name: node for node in forward.graph.nodes}
        self._sizes: dict[str, fx.Node] = {
            str(node.meta["val"]): node
            for node in entries.values()
            if isinstance(node.meta.get("val"), torch.SymInt)
        }
        self._forward_sizes: dict[str, fx.Node] = {}
        self._last_input = list(forward.graph.find_nodes(op="placeholder"))[-1]
        self.renumber()

    def renumber(self) -> None:
        self._order = {node: place for place, node in enumerate(self.backward.graph.nodes)}

    # ---- Where to insert ------------------------------------------------------------------------

    def after(self, *nodes: fx.Node) -> Any:
        """In forward, behind the last of these and behind all inputs."""
        order = {node: place for place, node in enumerate(self.forward.graph.nodes)}
        last = max(nodes, key=lambda node: order[node])
        return self.forward.graph.inserting_after(
            self._last_input if last.op == "placeholder" else last
        )

    def before_users(self, node: fx.Node) -> Any:
        """In backward, right before the first that takes it: not at the head, where everything
        would be unpacked at once."""
        first = min(node.users, key=lambda user: self._order[user])
        return self.backward.graph.inserting_before(first)

    def move_before(self, node: fx.Node, user: fx.Node) -> None:
        """Of backward, with what it takes, as far as that comes later now."""
        if self._order[node] > self._order[user]:
            user.prepend(node)
            self.renumber()
            for operand in node.all_input_nodes:
                self.move_before(operand, node)

    # ---- Sizes ----------------------------------------------------------------------------------

    def shape_in_backward(self, crossing: Crossing, axes: Sequence[int]) -> list[int | fx.Node]:
        """Numbers, and nodes for sizes that are symbolic: numbers in their place would be those of
        the first batch."""
        shape = crossing.value.shape
        return [
            shape[axis] if isinstance(shape[axis], int) else self._size_entry(crossing.saved, axis)
            for axis in axes
        ]

    def size_in_forward(self, node: fx.Node, axis: int) -> fx.Node:
        key = str(node.meta["val"].shape[axis])
        if key not in self._forward_sizes:
            with self.after(node):
                self._forward_sizes[key] = call(self.forward.graph, aten.sym_size.int, node, axis)
        return self._forward_sizes[key]

    def _size_entry(self, node: fx.Node, axis: int) -> fx.Node:
        key = str(node.meta["val"].shape[axis])
        if key not in self._sizes:
            size = self.size_in_forward(node, axis)
            self._saved.append(size)
            assert self._first_entry is not None
            with self.backward.graph.inserting_before(self._first_entry):
                entry = self.backward.graph.placeholder(size.name)
            entry.meta.update(size.meta)
            self._sizes[key] = entry
        return self._sizes[key]

    # ---- Crossings ------------------------------------------------------------------------------

    def save(self, node: fx.Node) -> fx.Node:
        """Saves one more tensor of forward; gives the placeholder in backward."""
        self._saved.insert(0, node)
        assert self._first_entry is not None
        with self.backward.graph.inserting_before(self._first_entry):
            entry = self.backward.graph.placeholder(node.name)
        entry.meta.update(node.meta)
        self._first_entry = entry
        return entry

    def replace(self, crossing: Crossing, node: fx.Node) -> fx.Node:
        """Saves another tensor in the place of this; the old placeholder loses its place later."""
        if crossing.saved.meta.get(UNCHECKED):
            node.meta[UNCHECKED] = True
        self._saved[self._saved.index(crossing.saved)] = node
        with self.backward.graph.inserting_before(crossing.entry):
            entry = self.backward.graph.placeholder(node.name)
        entry.meta.update(node.meta)
        if crossing.entry is self._first_entry:
            self._first_entry = entry
        return entry

    def drop(self, crossing: Crossing) -> None:
        """Does not save it any more. Its placeholder has no users."""
        if crossing.saved in self._saved:
            self._saved.remove(crossing.saved)
        if crossing.entry is self._first_entry:
            self._first_entry = crossing.entry.next
        self.backward.graph.erase_node(crossing.entry)

    def in_forward(self, node: fx.Node) -> fx.Node:
        """A node that backward rebuilds, in forward, where the values are exact."""
        if node.name not in self._by_name:
            operands = {operand: self.in_forward(operand) for operand in node.all_input_nodes}
            with self.after(*operands.values()):
                copy = self.forward.graph.node_copy(node, lambda operand: operands[operand])
            self._by_name[node.name] = copy
        return self._by_name[node.name]

    def erase_unused(self, node: fx.Node) -> None:
        """With everything that only it took."""
        if node.op != "call_function" or node.users or node.is_impure():
            return
        operands = node.all_input_nodes
        self.backward.graph.erase_node(node)
        for operand in operands:
            self.erase_unused(operand)

    def finish(self) -> None:
        everything = [*self.results, *self._saved]
        kind = type(self._output.args[0])
        self._output.args = (kind(everything),)
        self._describe_outputs()
        for module in (self.forward, self.backward):
            module.graph.lint()
            module.recompile()

    def _describe_outputs(self) -> None:
        """Newer versions of PyTorch have a description of every output, by position."""
        if "desc" not in self._output.meta:
            return
        from torch._functorch._aot_autograd import descriptors

        checked = descriptors.SavedForBackwardsAOTOutput
        unchecked = getattr(descriptors, "SavedForBackwardsNoVcCheckAOTOutput", checked)
        described = list(self._output.meta["desc"])[: len(self.results)]
        described += [
            unchecked(place) if node.meta.get(UNCHECKED) else checked(place)
            for place, node in enumerate(self._saved)
        ]
        self._output.meta["desc"] = described


def root_of(node: fx.Node) -> fx.Node:
    """Whose memory it is. A copy counts as its own."""
    while node.op == "call_function" and _is_view(node):
        operand = node.args[0]
        assert isinstance(operand, fx.Node)
        node = operand
    return node


def _is_view(node: fx.Node) -> bool:
    if packet_of(node) not in MOVING or not isinstance(node.target, torch._ops.OpOverload):
        return False
    operand = node.args[0] if node.args else None
    return isinstance(operand, fx.Node) and node.target.is_view


def axes_of(value: torch.Tensor) -> int:
    """Those of size 1 do not count: pooled features (16, 64, 1, 1) are a matrix."""
    return sum(not isinstance(size, int) or size > 1 for size in value.shape)


def has_view_of_many_axes(node: fx.Node) -> bool:
    """Whether some view of the same memory has three axes or more: a linear layer flattens batch
    and tokens, which are not a plain matrix then."""
    root = root_of(node)
    family, seen = [root], {root}
    while family:
        member = family.pop()
        value = member.meta.get("val")
        if isinstance(value, torch.Tensor) and axes_of(value) > 2:
            return True
        views = [user for user in member.users if _is_view(user) and user not in seen]
        family += views
        seen.update(views)
    return False
