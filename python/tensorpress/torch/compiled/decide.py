"""What becomes of each value that a compiled forward pass saves."""

from __future__ import annotations

import dataclasses
import operator

import torch
from torch import fx

from ..module_names import Running
from ..packing.codecs import DctChop, TensorCodec
from ..policy.levels import KEEP, SMALL_PLANES
from ..policy.policy import Policy
from .graphs import Crossing, TrainingGraphs, has_view_of_many_axes, root_of
from .names import NodeNames
from .needs import SMALL, Kind, Needs, elements_of, hint, needs_of, on_gradients, operator_of
from .report import SYMBOLIC, PlannedValue

# Operators that compute gradients together with the loss (logits/slices.py).
GRADIENTS_OF = ("linear_cross_entropy",)


@dataclasses.dataclass
class Decision:
    """What becomes of a crossing: `masks` (a bool in bits), `codec`, or only cuts; or it is kept
    for a reason."""

    crossing: Crossing
    plan: PlannedValue
    needs: Needs = dataclasses.field(default_factory=Needs)
    mask: bool = False
    kept: bool = False
    ruled: bool = False  # a rule of the plan says the codec
    # What crosses instead, once the graphs are changed: nodes of forward.
    stashes: list[fx.Node] = dataclasses.field(default_factory=list)

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


class Decisions:
    def __init__(
        self, graphs: TrainingGraphs, static: set[int], policy: Policy, names: NodeNames
    ) -> None:
        self._graphs, self._policy, self._names = graphs, policy, names
        self._inputs = Inputs(graphs, static)
        self.rules: set[str] = set()  # of the policy, that fit some value
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
        for name, running in savers:
            self.rules |= _rules_for(self._policy, name, running)
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
        if root.target is operator.getitem and operator_of(root.args[0]) in GRADIENTS_OF:
            return decision.keep("a gradient already")
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
            ruled = decision.ruled = ruled or rule is not None
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


def _rules_for(policy: Policy, name: str, running: Running) -> set[str]:
    parts = running.name.split(".")
    modules = {".".join(parts[: count + 1]) for count in range(len(parts))}
    return ({name, *modules} & {*policy.by_name}) | ({running.type} & {*policy.by_type})


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
