"""The two gradients of a convolution, one after the other.

    convolution_backward(g, x, w)  ->  gradient by x, gradient by w

needs g and the unpacked x, and holds both results: at that moment a convolutional network has the
peak of its step. But the gradient by w is all that takes x, and the gradient by x is a transposed
convolution of g. Apart, x is gone before its gradient is made:

    gradient by w = convolution_backward(g, x, w, only w)
    gradient by x = convolution(g, w, transposed)

If only ranges of its channels are read, as behind a concatenation, each range is a convolution with
its part of w: a range that is needed late does not keep the others. The sums are the same; their
order, and so the last bits, may differ.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

import torch
from torch import fx

from .decide import Decision
from .graphs import TrainingGraphs, call, root_of
from .needs import packet_of

aten, ours = torch.ops.aten, torch.ops.tensorpress
CHANNELS = 1


def separate_gradients(graph: fx.Graph) -> None:
    """Of convolutions whose input was packed."""
    for node in graph.find_nodes(op="call_function", target=aten.convolution_backward.default):
        if not _is_from_packed(node.args[1]):
            continue
        padding = _output_padding(node)
        by_input = [
            user for user in node.users if user.target is operator.getitem and user.args[1] == 0
        ]
        if padding is None or len(by_input) != 1 or not by_input[0].users:
            continue
        _separate(graph, node, by_input[0], padding)


def _is_from_packed(value: fx.node.Argument) -> bool:
    return isinstance(value, fx.Node) and str(packet_of(root_of(value))).startswith("tensorpress.")


def _output_padding(node: fx.Node) -> list[int] | None:
    """What a transposed convolution adds so that its result has the shape of the input; None where
    it cannot take the place."""
    gradient, value, weight = (operand.meta["val"] for operand in node.args[:3])  # type: ignore[union-attr]
    stride, padding, dilation, transposed, _, groups, wanted = node.args[4:11]
    if transposed or groups != 1 or not (wanted[0] and wanted[1]):  # type: ignore[index]
        return None
    found = []
    for axis in range(2, value.dim()):
        size, result, kernel = value.shape[axis], gradient.shape[axis], weight.shape[axis]
        if not all(isinstance(each, int) for each in (size, result, kernel)):
            return None
        step, around, apart = (
            each[min(axis - 2, len(each) - 1)]  # type: ignore[index,arg-type]
            for each in (stride, padding, dilation)
        )
        more = size - ((result - 1) * step - 2 * around + apart * (kernel - 1) + 1)
        if not 0 <= more < max(step, apart):
            return None
        found.append(more)
    return found


def _separate(graph: fx.Graph, node: fx.Node, by_input: fx.Node, padding: list[int]) -> None:
    gradient, _, weight = node.args[:3]
    stride, around, dilation = node.args[4:7]
    arguments = (None, stride, around, dilation, True, padding, 1)
    slices = [user for user in by_input.users if _is_range_of_channels(user)]
    with graph.inserting_after(by_input):
        if len(slices) == len(by_input.users):
            for user in slices:
                part = call(graph, aten.slice.Tensor, weight, CHANNELS, *user.args[2:4])
                with graph.inserting_after(part):
                    made = call(graph, aten.convolution.default, gradient, part, *arguments)
                _replace(graph, user, made)
        else:
            made = call(graph, aten.convolution.default, gradient, weight, *arguments)
            _replace(graph, by_input, made)
    if not by_input.users and by_input in node.users:
        graph.erase_node(by_input)
    wanted = node.args[10]
    node.args = (*node.args[:10], [False, *wanted[1:]])  # type: ignore[index,misc]
    value = list(node.meta["val"])
    node.meta["val"] = type(node.meta["val"])([None, *value[1:]])


def _replace(graph: fx.Graph, old: fx.Node, new: fx.Node) -> None:
    new.meta.update({key: value for key, value in old.meta.items() if key != "val"})
    old.replace_all_uses_with(new)
    graph.erase_node(old)


def _is_range_of_channels(user: fx.Node) -> bool:
    return (
        user.target is aten.slice.Tensor
        and len(user.args) == 4
        and user.args[1] == CHANNELS
        and all(isinstance(end, int) for end in user.args[2:4])
    )


def concatenate_late(graphs: TrainingGraphs, decisions: Iterable[Decision]) -> None:
    """Inductor lets what is concatenated be written into the whole, which is then there as long as
    the oldest part: in a U-Net from the encoder on. Here an operator that Inductor cannot look into
    makes the whole around the oldest part when it is read, and the others are written into it.
    Where the whole is saved as it is, nothing would be gained."""
    graph = graphs.forward.graph
    place = {node: count for count, node in enumerate(graph.nodes)}
    products = [count for node, count in place.items() if packet_of(node) is aten.convolution]
    packed = {decision.crossing.saved: decision for decision in decisions if not decision.kept}
    for node in graph.find_nodes(op="call_function", target=aten.cat.default):
        axis = node.args[1] if len(node.args) > 1 else 0
        if node not in packed or node.meta["val"].dim() != 4 or axis % 4 != CHANNELS:
            continue
        newest = max(place[part] for part in node.args[0])
        old = [
            part for part in node.args[0] if any(place[part] < count < newest for count in products)
        ]
        if len(old) == 1:
            with graph.inserting_before(node):
                whole = _written_around(graph, node, old[0])
            packed[node].crossing.saved = whole
            _replace(graph, node, whole)


def _written_around(graph: fx.Graph, node: fx.Node, old: fx.Node) -> fx.Node:
    parts = list(node.args[0])  # type: ignore[arg-type]
    channels = [part.meta["val"].shape[CHANNELS] for part in parts]  # type: ignore[union-attr]
    begins = [sum(channels[:count]) for count in range(len(parts))]
    begin = begins[parts.index(old)]
    last = call(graph, aten.permute.default, old, [0, 2, 3, 1])
    wide = call(graph, ours.widen.default, last, 3, begin, sum(channels))
    whole = call(graph, aten.permute.default, wide, [0, 3, 1, 2])
    for part, start, count in zip(parts, begins, channels, strict=True):
        if part is not old:
            end = start + count
            whole = call(graph, aten.slice_scatter.default, whole, part, CHANNELS, start, end)
    return whole
