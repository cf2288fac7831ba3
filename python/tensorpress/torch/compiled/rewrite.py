"""Packs what a compiled forward pass saves: decides value by value, then changes both graphs."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any, NamedTuple

import torch
from torch import fx

from ..packing.codecs import HALF_AND_SINGLE, Cast, DctChop, Quantize, TensorCodec
from ..policy.levels import KEEP, SMALL_PLANES
from ..policy.policy import Policy
from . import stash  # noqa: F401  registers the operators
from .graphs import Crossing, TrainingGraphs, call, has_view_of_many_axes, root_of
from .names import NodeNames
from .needs import (
    SMALL,
    Kind,
    Needs,
    elements_of,
    hint,
    needs_of,
    on_gradients,
    operator_of,
    packet_of,
)
from .report import SYMBOLIC, PlannedValue, write_plan

aten, prims, ours = torch.ops.aten, torch.ops.prims, torch.ops.tensorpress


@dataclasses.dataclass
class Decision:
    """What becomes of a crossing: `masks` (a bool in bits), `codec`, or only cuts; or it is kept
    for a reason."""

    crossing: Crossing
    plan: PlannedValue
    needs: Needs = dataclasses.field(default_factory=Needs)
    mask: bool = False
    kept: bool = False

    def keep(self, reason: str, shared: bool = False) -> Decision:
        self.kept, self.plan.codec, self.plan.reason = True, None, reason
        self.plan.shared = shared
        return self


class Inputs:
    """What is known of the inputs of a forward graph. `static` are the places of parameters and
    buffers, and inputs with a gradient come from another graph or function, which nothing else may
    hold."""

    def __init__(self, graphs: TrainingGraphs, static: set[int]) -> None:
        places = list(graphs.forward.graph.find_nodes(op="placeholder"))
        self.static = {node for place, node in enumerate(places) if place in static}
        output = next(iter(graphs.backward.graph.find_nodes(op="output")))
        gradients = list(output.args[0])
        self.differentiated = {
            node
            for place, node in enumerate(places)
            if place < len(gradients) and gradients[place] is not None
        } - self.static
        self._from_data = {node for node in places if node not in self.static}
        for node in graphs.forward.graph.nodes:
            if any(operand in self._from_data for operand in node.all_input_nodes):
                self._from_data.add(node)

    def is_weight(self, node: fx.Node) -> bool:
        """Made from parameters alone, such as a weight in another type. Its error would be the same
        for all of a batch, so it would not average out."""
        return node not in self._from_data


class CodeLayout(NamedTuple):
    """What the compiler makes of graphs: code of Inductor's, and tensors of four axes that are
    channels_last whatever the graph says."""

    inductor: bool = False
    channels_last: bool = False


def rewrite(
    forward: fx.GraphModule,
    backward: fx.GraphModule,
    outputs: int,
    static: set[int],
    policy: Policy,
    names: NodeNames,
    layout: CodeLayout,
) -> None:
    graphs = TrainingGraphs(forward, backward, outputs)
    if not graphs.crossings:
        return
    wanted = policy.level.exact_forms or policy.by_name or policy.by_type or policy.default
    if wanted:
        spell_out(graphs)
    decisions = Decisions(graphs, static, policy, names).all()
    if wanted:
        Changes(graphs, layout).make(decisions)
    _tell_report(graphs, policy, decisions)
    graphs.finish()


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


# ---- Deciding -----------------------------------------------------------------------------------


class Decisions:
    def __init__(
        self, graphs: TrainingGraphs, static: set[int], policy: Policy, names: NodeNames
    ) -> None:
        self._graphs, self._policy, self._names = graphs, policy, names
        self._inputs = Inputs(graphs, static)
        saved = [node for node in graphs.backward.graph.find_nodes(op="placeholder")]
        tangents = [node for node in saved if "tangents" in node.name]
        self._gradients = on_gradients(
            graphs.backward.graph, [node for node in saved if node not in tangents]
        )

    def all(self) -> list[Decision]:
        made = [
            self._decide(crossing)
            for crossing in self._graphs.crossings
            if root_of(crossing.saved) not in self._inputs.static
        ]
        _keep_what_shares_memory(made)
        _number(made)
        return made

    def _decide(self, crossing: Crossing) -> Decision:
        value = crossing.value
        shape = [size if isinstance(size, int) else SYMBOLIC for size in value.shape]
        dtype = str(value.dtype).removeprefix("torch.")
        decision = Decision(crossing, PlannedValue("", shape, dtype))
        needs = decision.needs = needs_of(crossing.entry, self._gradients)
        takers = [*(use.node for use in needs.uses), *needs.exactly, *needs.cuts, *needs.shapes]
        savers = [self._names.saver(node) for node in sorted(takers, key=_forward_order)]
        decision.plan.saved_by = list(dict.fromkeys(name for name, _ in savers))
        decision.plan.name = decision.plan.saved_by[0] if savers else crossing.saved.name
        root = root_of(crossing.saved)
        if root.op == "placeholder" and root not in self._inputs.differentiated:
            return decision.keep("an input, which lives anyway", shared=True)
        if value.layout is not torch.strided or type(value) is torch.nn.Parameter:
            return decision.keep(f"layout {value.layout}")
        if crossing.bytes < self._policy.min_bytes:
            return decision.keep("small")
        if value.dtype == torch.bool:
            decision.mask = self._policy.level.exact_forms
            return decision if decision.mask else decision.keep("level off")
        if self._inputs.is_weight(root):
            return decision.keep("made from parameters alone")
        if not value.is_floating_point():
            return decision.keep("whole numbers")
        return self._decide_values(decision)

    def _decide_values(self, decision: Decision) -> Decision:
        needs, plan = decision.needs, decision.plan
        codecs, ruled = [], False
        for node, kind in [
            *((use.node, use.kind) for use in needs.uses),
            *((node, None) for node in needs.exactly),
        ]:
            name, running = self._names.saver(node)
            rule = self._policy.rule_for(name, plan.name, running)
            ruled = ruled or rule is not None
            if rule is None and kind is None:
                return decision.keep(f"{operator_of(node)} of {name} needs it exactly")
            codecs.append(rule or self._codec_of_level(kind))
        if not self._policy.level.exact_forms and not ruled:
            return decision.keep("level off")
        if not codecs:  # comparisons and shapes are enough
            plan.crosses = False
            return decision
        codec = max(codecs, key=lambda codec: codec.fidelity)
        if codec == KEEP:
            return decision.keep("the plan keeps it" if ruled else f"level {self._level}")
        if not ruled and (reason := self._reason_to_keep(decision.crossing)):
            return decision.keep(reason)
        return self._take(decision, codec, ruled)

    @property
    def _level(self) -> str:
        return self._policy.level.name

    def _codec_of_level(self, kind: Kind | None) -> TensorCodec:
        level = self._policy.level
        if kind is Kind.EXPONENTIAL:
            return level.exponential
        return level.smooth if kind is Kind.SMOOTH else level.linear

    def _reason_to_keep(self, crossing: Crossing) -> str:
        flat = not has_view_of_many_axes(crossing.saved)
        if flat and crossing.bytes <= self._policy.exact_2d_bytes:
            return "two axes and not large"
        most = max((elements_of(user) for user in crossing.entry.users), default=0)
        return "a statistic" if SMALL * elements_of(crossing.entry) <= most else ""

    def _take(self, decision: Decision, codec: TensorCodec, ruled: bool) -> Decision:
        value = decision.crossing.value
        if isinstance(codec, DctChop) and not _has_planes(codec, value):
            codec = SMALL_PLANES
        if not codec.takes(value):
            what = f"{decision.plan.dtype} on {value.device.type}"
            if ruled:
                advice = "convert the model with .float(), or keep"
                raise TypeError(
                    f"{decision.plan.name} is {what}, which codec {codec.name} does not take; "
                    f"{advice}"
                )
            return decision.keep(what)
        shape = [hint(size) for size in value.shape]
        stored = codec.stored_bytes(shape, value.dtype)
        if stored is None or stored >= decision.crossing.bytes:
            return decision.keep("packing would save nothing")
        decision.plan.codec = codec
        return decision


def _forward_order(node: fx.Node) -> int:
    number = node.meta.get("seq_nr")
    return number if isinstance(number, int) and number >= 0 else 1 << 60


def _has_planes(codec: DctChop, value: torch.Tensor) -> bool:
    fixed = value.dim() >= 3 and all(isinstance(size, int) for size in value.shape[-2:])
    return fixed and codec.takes(value)


def _keep_what_shares_memory(decisions: list[Decision]) -> None:
    """Packing one view of memory that another keeps would only add to it."""
    held = {
        root_of(decision.crossing.saved)
        for decision in decisions
        if decision.kept and decision.plan.reason != "small"
    }
    counted: set[fx.Node] = set()
    for decision in decisions:
        root = root_of(decision.crossing.saved)
        if root in held and not decision.kept:
            decision.plan.crosses = True
            decision.mask = False
            decision.keep("another view of it is kept")
        if root in counted:
            decision.plan.shared = True
        counted.add(root)


def _number(decisions: list[Decision]) -> None:
    """Names that differ: 'conv1:conv2d', 'conv1:conv2d#2'."""
    seen: dict[str, int] = {}
    for decision in decisions:
        name = decision.plan.name
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            decision.plan.name = f"{name}#{seen[name]}"


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
                self._swap(crossing, self._axes(crossing.value), MASK)
                decision.plan.bits, decision.plan.crosses = 1, False
            elif (codec := decision.plan.codec) is not None:
                axes = self._axes(crossing.value)
                axes = sorted(axes) if isinstance(codec, DctChop) else axes
                self._swap(crossing, axes, _operators_of(codec, decision.plan.name))

    def _cut_out(self, node: fx.Node, decision: Decision) -> None:
        """What is rebuilt from this node on comes from forward."""
        if node in self._cut:
            return
        self._cut.add(node)
        graphs = self._graphs
        if node.meta["val"].dtype == torch.bool:
            back = self._save_mask(node)
            decision.plan.bits += 1
        else:
            back = graphs.save(graphs.in_forward(node))
        compared = root_of(node.all_input_nodes[0])
        node.replace_all_uses_with(back)
        graphs.erase_unused(node)
        if packet_of(node) is aten.le and node.args[1] == 0 and compared.users:
            self._rectify_by_mask(compared, back)

    def _save_mask(self, node: fx.Node) -> fx.Node:
        """A comparison in bits. Most are x <= 0, of which no tensor of bools is made first."""
        graphs = self._graphs
        axes = self._axes(node.meta["val"])
        value = node.args[0]
        below = packet_of(node) is aten.le and node.args[1] == 0
        if not below or not isinstance(value, fx.Node) or not _is_packable(value.meta["val"]):
            exact = graphs.in_forward(node)
            entry = graphs.save(self._packed(exact, axes, MASK))
            return self._unpacked(entry, Crossing(exact, node), axes, MASK)
        exact = graphs.in_forward(value)
        entry = graphs.save(self._packed(exact, axes, ABOVE))
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

    def _swap(self, crossing: Crossing, axes: list[int], operators: Operators) -> None:
        """Packed bytes cross instead of the tensor."""
        graphs = self._graphs
        entry = graphs.replace(crossing, self._packed(crossing.saved, axes, operators))
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


def _tell_report(graphs: TrainingGraphs, policy: Policy, decisions: list[Decision]) -> None:
    plan = write_plan(policy.level.name, [decision.plan for decision in decisions])
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
