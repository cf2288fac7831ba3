"""Packs what a compiled forward pass saves: what `decide` says becomes a change of both graphs."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import fx

from ..packing.codecs import HALF_AND_SINGLE, Cast, DctChop, Quantize, TensorCodec
from ..policy.policy import Policy
from . import stash  # noqa: F401  registers the operators
from .convolutions import concatenate_late, separate_gradients
from .decide import Decision, Decisions
from .graphs import Crossing, TrainingGraphs, call, root_of
from .names import NodeNames
from .needs import hint, packet_of
from .report import SYMBOLIC, write_plan

aten, prims, ours = torch.ops.aten, torch.ops.prims, torch.ops.tensorpress


class CodeLayout(NamedTuple):
    """What the compiler makes of graphs: code of Inductor's, and tensors of four axes that are
    channels_last whatever the graph says."""

    inductor: bool = False
    channels_last: bool = False


class Step(NamedTuple):
    """What a partitioner knows of a step beside its graphs: how many results forward has, and which
    inputs are parameters and buffers."""

    outputs: int
    static: set[int]
    layout: CodeLayout


def rewrite(
    forward: fx.GraphModule,
    backward: fx.GraphModule,
    step: Step,
    policy: Policy,
    names: NodeNames,
    choose: Callable[[list[Decision]], None] | None = None,
    told: dict[str, Any] | None = None,
) -> list[Decision]:
    """`choose` may change what is done with the values that a policy lets be packed; `told` is for
    the report."""
    graphs = TrainingGraphs(forward, backward, step.outputs)
    if not graphs.crossings:
        return []
    wanted = policy.level.exact_forms or policy.by_name or policy.by_type or policy.default
    if wanted:
        spell_out(graphs)
    deciding = Decisions(graphs, step.static, policy, names)
    decisions = deciding.all()
    if choose is not None:
        choose(decisions)
    if wanted:
        Changes(graphs, step.layout).make(decisions)
        if step.layout.inductor:  # which handles any strides that these results have
            separate_gradients(backward.graph)
        if step.layout.channels_last:
            concatenate_late(graphs, decisions)
    _tell_report(graphs, policy, decisions, {**(told or {}), "rules": sorted(deciding.rules)})
    graphs.finish()
    return decisions


def spell_out(graphs: TrainingGraphs) -> None:
    """Derivatives that only compare a value, as the comparison and what is done with it."""
    graph = graphs.backward.graph
    for node in list(graph.nodes):
        if packet_of(node) is not aten.threshold_backward:
            continue
        gradient, value, limit = node.args
        with graph.inserting_before(node):
            below = call(graph, aten.le.Scalar, value, limit)
            result = call(graph, aten.where.ScalarSelf, below, 0.0, gradient)
        below.meta.update({k: v for k, v in node.meta.items() if k not in below.meta})
        result.meta.update({k: v for k, v in node.meta.items() if k not in result.meta})
        node.replace_all_uses_with(result)
        graph.erase_node(node)
    graphs.renumber()


# ---- Changing the graphs ------------------------------------------------------------------------


class Operators:
    """What packs a value and what unpacks it, each with the arguments behind the first ones."""

    def __init__(
        self, pack: Any, pack_with: tuple[Any, ...], unpack: Any, unpack_with: tuple[Any, ...]
    ) -> None:
        self.pack, self.pack_with = pack.default, pack_with
        self.unpack, self.unpack_with = unpack.default, unpack_with


MASK = Operators(ours.sign_pack, (), ours.sign_unpack, ())
ABOVE = Operators(ours.above_pack, (), ours.sign_unpack, ())


class Changes:
    """Both graphs of a step, with packed values between them."""

    def __init__(self, graphs: TrainingGraphs, layout: CodeLayout) -> None:
        self._graphs = graphs
        self._layout = layout
        self._cut: set[fx.Node] = set()

    def make(self, decisions: list[Decision]) -> None:
        changed = [decision for decision in decisions if not decision.kept]
        for decision in changed:
            for node in dict.fromkeys(decision.needs.cuts):
                self._cut_out(node, decision)
            for user in dict.fromkeys(decision.needs.shapes):
                self._give_shape(user, decision.crossing)
        for decision in changed:
            crossing = decision.crossing
            if not crossing.entry.users:
                self._graphs.drop(crossing)
                decision.plan.crosses = False
                decision.plan.codec = None
            elif decision.mask:
                self._swap(decision, self._axes(crossing.value), MASK)
                decision.plan.bits, decision.plan.crosses = 1, False
            elif (codec := decision.plan.codec) is not None:
                axes = self._axes(crossing.value)
                axes = sorted(axes) if isinstance(codec, DctChop) else axes
                self._swap(decision, axes, _operators_of(codec, decision.plan.name))

    def _cut_out(self, node: fx.Node, decision: Decision) -> None:
        """What is rebuilt from this node on comes from forward."""
        if node in self._cut:
            return
        self._cut.add(node)
        graphs = self._graphs
        if node.meta["val"].dtype == torch.bool:
            back = self._save_mask(node, decision)
            decision.plan.bits += 1
        else:
            back = graphs.save(graphs.in_forward(node))
        compared = root_of(node.all_input_nodes[0])
        node.replace_all_uses_with(back)
        graphs.erase_unused(node)
        if packet_of(node) is aten.le and node.args[1] == 0 and compared.users:
            self._rectify_by_mask(compared, back)

    def _save_mask(self, node: fx.Node, decision: Decision) -> fx.Node:
        """A comparison in bits. Most are x <= 0, of which no tensor of bools is made first."""
        graphs = self._graphs
        axes = self._axes(node.meta["val"])
        value = node.args[0]
        below = packet_of(node) is aten.le and node.args[1] == 0
        if not below or not isinstance(value, fx.Node) or not _is_packable(value.meta["val"]):
            exact = graphs.in_forward(node)
            packed = self._packed(exact, axes, MASK)
            decision.stashes.append(packed)
            entry = graphs.save(packed)
            return self._unpacked(entry, Crossing(exact, node), axes, MASK)
        exact = graphs.in_forward(value)
        packed = self._packed(exact, axes, ABOVE)
        decision.stashes.append(packed)
        entry = graphs.save(packed)
        above = self._unpacked(entry, Crossing(exact, node), axes, ABOVE)
        with graphs.backward.graph.inserting_after(above):
            return call(graphs.backward.graph, aten.logical_not.default, above)

    def _rectify_by_mask(self, relu: fx.Node, below: fx.Node) -> None:
        """A ReLU that is rebuilt lets pass what it let pass in forward. Of values with an error it
        would cut off one side of the error: a bias where rounding has none."""
        if packet_of(relu) is not aten.relu or relu.op != "call_function":
            return
        graph = self._graphs.backward.graph
        with graph.inserting_before(relu):
            zero = graph.call_function(aten.where.ScalarSelf, (below, 0.0, relu.args[0]))
        zero.meta.update(relu.meta)
        relu.replace_all_uses_with(zero)
        graph.erase_node(relu)
        self._graphs.renumber()
        self._graphs.move_before(below, zero)

    def _give_shape(self, user: fx.Node, crossing: Crossing) -> None:
        """A value that takes no memory, to a node that asks for nothing but the shape."""
        if crossing.entry not in user.all_input_nodes:
            return
        graphs, value = self._graphs, crossing.value
        shape = graphs.shape_in_backward(crossing, range(value.dim()))
        with graphs.backward.graph.inserting_before(user):
            one = graphs.backward.graph.call_function(
                aten.full.default, ([], 0.0), {"dtype": value.dtype, "device": value.device}
            )
            one.meta["val"] = value.new_empty(())
            alike = call(graphs.backward.graph, aten.expand.default, one, shape)
        user.replace_input_with(crossing.entry, alike)

    def _swap(self, decision: Decision, axes: list[int], operators: Operators) -> None:
        """Packed bytes cross instead of the tensor."""
        graphs, crossing = self._graphs, decision.crossing
        packed = self._packed(crossing.saved, axes, operators)
        decision.stashes.append(packed)
        entry = graphs.replace(crossing, packed)
        back = self._unpacked(entry, crossing, axes, operators)
        crossing.entry.replace_all_uses_with(back)
        graphs.drop(crossing)

    def _packed(self, source: fx.Node, axes: list[int], operators: Operators) -> fx.Node:
        graphs, graph = self._graphs, self._graphs.forward.graph
        if axes != sorted(axes):
            with graphs.after(source):
                source = call(graph, aten.permute.default, source, axes)
        with graphs.after(source):
            return call(graph, operators.pack, source, *operators.pack_with)

    def _unpacked(
        self, entry: fx.Node, crossing: Crossing, axes: list[int], operators: Operators
    ) -> fx.Node:
        """Before the first user of the placeholder, or of the node that is cut out."""
        graphs, graph = self._graphs, self._graphs.backward.graph
        shape = graphs.shape_in_backward(crossing, axes)
        wanted = crossing.entry.meta["val"].dtype
        # Inductor's code takes 30 times as long to read a bool as to read a byte and compare it.
        by_byte = wanted == torch.bool and self._layout.inductor
        dtype = torch.uint8 if by_byte else wanted
        with graphs.before_users(crossing.entry):
            back = call(graph, operators.unpack, entry, shape, dtype, *operators.unpack_with)
            if axes != sorted(axes):
                places = [axes.index(axis) for axis in range(len(axes))]
                back = call(graph, aten.permute.default, back, places)
            if by_byte:
                number = call(graph, prims.convert_element_type.default, back, torch.float32)
                back = call(graph, aten.ne.Scalar, number, 0)
        return back

    def _axes(self, value: torch.Tensor) -> list[int]:
        """From the slowest to the fastest in memory, as channels_last has (N, H, W, C). Neighbours
        in memory are alike, and a group of them has one scale; other orders would make copies."""
        axes = list(range(value.dim()))
        if self._layout.channels_last and value.dim() == 4:
            return [0, 2, 3, 1]
        return sorted(axes, key=lambda axis: (-hint(value.stride(axis)), axis))


def _is_packable(value: torch.Tensor) -> bool:
    return value.dtype in (*HALF_AND_SINGLE, torch.float64)


def _operators_of(codec: TensorCodec, name: str) -> Operators:
    if isinstance(codec, Quantize):
        numbers = (codec.bits, codec.group)
        arguments = (*numbers, codec.rounding, zlib.crc32(name.encode()), name)
        return Operators(ours.quantize_stash, arguments, ours.quantize_unstash, numbers)
    if isinstance(codec, Cast):
        return Operators(ours.cast_stash, (codec.to, name), ours.cast_unstash, (codec.to,))
    assert isinstance(codec, DctChop)
    parameters = (codec.cf, codec.layout, codec.transform)
    return Operators(ours.chop_stash, (*parameters, name), ours.chop_unstash, parameters)


def _tell_report(
    graphs: TrainingGraphs, policy: Policy, decisions: list[Decision], told: dict[str, Any]
) -> None:
    plan = write_plan(policy.level.name, [decision.plan for decision in decisions], told)
    sizes = [
        graphs.size_in_forward(decision.crossing.saved, axis)
        for decision in decisions
        for axis, size in enumerate(decision.plan.shape)
        if size == SYMBOLIC
    ]
    graph = graphs.forward.graph
    output = next(iter(graph.find_nodes(op="output")))
    with graph.inserting_before(output):
        told = graph.call_function(ours.saved_values.default, (plan, sizes))
    told.meta["val"] = graphs.crossings[0].value.new_empty(0, dtype=torch.uint8, device="cpu")
    graphs.save(told)
