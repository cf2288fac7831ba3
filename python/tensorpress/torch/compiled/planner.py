"""Keep, pack, or compute again: for every value that crosses, under a limit on the peak of a step.

    ways to divide the step (PyTorch's partitioner, from saving much to computing much again)
        x  a path of exchanges for each: at the peak, whatever frees most for what it costs
        =  choices; those that nothing beats in peak and cost, sorted by cost
    budget -> the first of them within it

The list does not depend on the budget, so a larger budget never gives a choice of a higher cost,
nor a smaller one a higher peak (ADR 0065). Peaks along a path are sums of what each value holds
over time; before a choice is taken, the graphs are made and their peak is computed again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from torch import fx

from ..packing.codecs import Quantize, TensorCodec
from ..policy.levels import LADDER
from .budget import Budget
from .costs import LONGER, noise_of, seconds_of, seconds_of_packing
from .decide import Decision
from .graphs import root_of
from .kernels import base_of
from .needs import hint
from .peak import StepMemory
from .rewrite import Step

ROOM = "the budget has room for it"
REPAIRED = 40  # choices of a path that are looked at again
EXACT = 12  # choices whose graphs are made until one fits


@dataclasses.dataclass
class Option:
    """Of all values that share memory: a codec each, or None to keep them."""

    codecs: tuple[TensorCodec | None, ...] | None
    bytes: int  # that cross
    cost: float


@dataclasses.dataclass
class Item:
    members: list[int]  # of the list of decisions
    options: list[Option]  # the first keeps everything, if no rule forbids
    spans: list[tuple[int, int]]  # positions in which what crosses is held
    kept_from: int  # a kept value is there anyway before this position


@dataclasses.dataclass
class Division:
    """One way to divide a step in two graphs, and what may be chosen there."""

    name: str
    forward: fx.GraphModule
    backward: fx.GraphModule
    step: Step
    base: Any = None  # bytes over time when nothing crosses
    items: list[Item] = dataclasses.field(default_factory=list)
    cost: float = 0.0  # of computing again

    def copies(self) -> tuple[fx.GraphModule, fx.GraphModule]:
        return copied(self.forward), copied(self.backward)

    def chooser(self, options: Sequence[int]) -> Callable[[list[Decision]], None]:
        def choose(decisions: list[Decision]) -> None:
            for item, option in zip(self.items, options, strict=True):
                codecs = item.options[option].codecs
                for place, member in enumerate(item.members):
                    decision = decisions[member]
                    if codecs is None:
                        decision.mask = False
                        decision.keep(ROOM)
                    elif codecs[place] is not None:
                        decision.plan.codec = codecs[place]

        return choose


@dataclasses.dataclass
class Choice:
    division: Division
    options: tuple[int, ...]
    peak: int  # by sums
    cost: float


@dataclasses.dataclass
class Planned:
    division: Division
    choose: Callable[[list[Decision]], None]
    peak: int
    plain_peak: int
    limit: int

    def told(self) -> dict[str, Any]:
        return {
            "budget": self.limit,
            "predicted_peak": self.peak,
            "plain_peak": self.plain_peak,
            "division": self.division.name,
        }


def copied(module: fx.GraphModule) -> fx.GraphModule:
    graph = fx.Graph(tracer_cls=module.graph._tracer_cls)
    copies: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        copies[node] = graph.node_copy(node, lambda operand: copies[operand])
    made = fx.GraphModule(module, graph, type(module).__name__)
    made.meta.update(module.meta)
    return made


# ---- What may be chosen --------------------------------------------------------------------------


def prepare(
    division: Division,
    rewritten: Callable[..., list[Decision]],
    plain_seconds: float | None,
) -> float:
    """Fills in what a division costs and holds, and gives its seconds. `rewritten` changes copies
    of its graphs as much as the policy allows."""
    forward, backward = division.copies()
    seconds = _seconds(forward, backward, division.step)
    plain = plain_seconds or seconds
    division.cost = max(0.0, seconds / plain - 1) / LONGER
    decisions = rewritten(forward, backward, division.step)
    memory = _memory(forward, backward, division.step)
    division.base = numpy.array(memory.bytes_over_time(), dtype=numpy.int64)
    uses = sum(max(1, len(decision.needs.uses)) for decision in decisions if _is_free(decision))
    groups: dict[fx.Node, list[int]] = {}
    for place, decision in enumerate(decisions):
        if _is_free(decision):
            groups.setdefault(root_of(decision.crossing.saved), []).append(place)
    for members in groups.values():
        group = [decisions[place] for place in members]
        spans, least = _held(memory, group)
        for (first, last), size in zip(spans, least, strict=True):
            division.base[first : last + 1] -= size
        item = Item(members, _options(group, sum(least), plain, uses), spans, 0)
        item.kept_from = _kept_from(memory, group)
        division.items.append(item)
    return seconds


def _seconds(forward: fx.GraphModule, backward: fx.GraphModule, step: Step) -> float:
    memory = _memory(forward, backward, step)
    return seconds_of(memory.forward.kernels) + seconds_of(memory.backward.kernels)


def _is_free(decision: Decision) -> bool:
    """Whether there is something to choose."""
    return not decision.kept and not decision.ruled


def _held(memory: StepMemory, group: list[Decision]) -> tuple[list[tuple[int, int]], list[int]]:
    spans, sizes = [], []
    between = len(memory.forward.order)
    entries = {node.name: node for node in memory.backward.lifetimes}
    for decision in group:
        for stash in decision.stashes:
            made = memory.forward.lifetimes[base_of(stash)]
            entry = entries.get(stash.name)
            last = between + 1 + memory.backward.lifetimes[entry].last if entry else between
            spans.append((made.first, last))
            sizes.append(made.bytes)
    return spans, sizes


def _kept_from(memory: StepMemory, group: list[Decision]) -> int:
    found = [
        memory.forward.lifetimes[base].last + 1
        for base in (base_of(decision.crossing.saved) for decision in group)
        if base in memory.forward.lifetimes
    ]
    return max(found, default=0)


def _options(group: list[Decision], least: int, plain: float, uses: int) -> list[Option]:
    """From keeping to as few bits as the policy allows, each smaller than the one before."""
    whole = max(decision.crossing.bytes for decision in group)
    options = [Option(None, whole, 0.0)]
    floors = tuple(decision.plan.codec for decision in group)
    choices = [tuple(_no_less(step, floor) for floor in floors) for step in ladder()]
    for codecs in dict.fromkeys([*choices, floors]):
        size = least
        noise = seconds = 0.0
        for decision, codec, floor in zip(group, codecs, floors, strict=True):
            full = decision.crossing.bytes
            if codec is not None and floor is not None:
                size += _stored(codec, decision) - _stored(floor, decision)
                noise += noise_of(codec) * max(1, len(decision.needs.uses)) / uses
            seconds += seconds_of_packing(full, _stored(codec, decision) if codec else full // 32)
        if size < options[-1].bytes:
            options.append(Option(codecs, size, noise + seconds / plain / LONGER))
    return options


def ladder() -> list[TensorCodec]:
    steps: dict[int, TensorCodec] = {}
    for bits in (8, 6, 5, 4, 3, 2):
        known = [c for c in LADDER if isinstance(c, Quantize) and c.bits == bits]
        try:
            steps[bits] = known[0] if known else Quantize(bits, rounding="nearest")
        except ValueError:  # packing of this many bits is not there
            continue
    return list(steps.values())


def _no_less(step: TensorCodec, floor: TensorCodec | None) -> TensorCodec | None:
    if floor is None:
        return None
    return step if step.fidelity > floor.fidelity else floor


def _stored(codec: TensorCodec, decision: Decision) -> int:
    value = decision.crossing.value
    size = codec.stored_bytes([hint(each) for each in value.shape], value.dtype)
    assert size is not None
    return size + 1


# ---- Choosing ------------------------------------------------------------------------------------


def choices_of(division: Division) -> list[Choice]:
    """Along the path from keeping everything to what holds least at the peak."""
    state = [0] * len(division.items)
    held = division.base.copy()
    for item in division.items:
        _add(held, item, item.options[0], 1)
    path = [_recorded(division, state, held)]
    while (exchange := _best_exchange(division.items, state, int(held.argmax()))) is not None:
        place, option = exchange
        item = division.items[place]
        _add(held, item, item.options[state[place]], -1)
        _add(held, item, item.options[option], 1)
        state[place] = option
        path.append(_recorded(division, state, held))
    step = max(1, len(path) // REPAIRED)
    return [*path, *(_repaired(choice) for choice in path[::-step])]


def _recorded(division: Division, state: list[int], held: Any) -> Choice:
    cost = division.cost + sum(
        item.options[option].cost for item, option in zip(division.items, state, strict=True)
    )
    return Choice(division, tuple(state), int(held.max()), cost)


def _add(held: Any, item: Item, option: Option, sign: int) -> None:
    first = min((span[0] for span in item.spans), default=0)
    last = max((span[1] for span in item.spans), default=-1)
    if option.codecs is None:
        first = max(first, item.kept_from)
    held[first : last + 1] += sign * option.bytes


def _holds_at(item: Item, option: Option, position: int) -> int:
    if not item.spans:
        return 0
    first = min(span[0] for span in item.spans)
    last = max(span[1] for span in item.spans)
    if option.codecs is None:
        first = max(first, item.kept_from)
    return option.bytes if first <= position <= last else 0


def _best_exchange(items: list[Item], state: list[int], position: int) -> tuple[int, int] | None:
    best, best_gain = None, 0.0
    for place, item in enumerate(items):
        now = item.options[state[place]]
        here = _holds_at(item, now, position)
        for option in range(state[place] + 1, len(item.options)):
            then = item.options[option]
            freed = here - _holds_at(item, then, position)
            if freed <= 0:
                continue
            gain = freed / max(then.cost - now.cost, 1e-9)
            if gain > best_gain:
                best, best_gain = (place, option), gain
    return best


def _repaired(choice: Choice) -> Choice:
    """Takes back what the peak does not need, the most expensive first."""
    division = choice.division
    state = list(choice.options)
    held = division.base.copy()
    for item, option in zip(division.items, state, strict=True):
        _add(held, item, item.options[option], 1)
    limit = held.max()

    def spared(place: int) -> float:
        options = division.items[place].options
        return options[0].cost - options[state[place]].cost

    for place in sorted(range(len(state)), key=spared):
        item = division.items[place]
        for option in range(state[place]):
            if item.options[option].cost >= item.options[state[place]].cost:
                continue
            trial = held.copy()
            _add(trial, item, item.options[state[place]], -1)
            _add(trial, item, item.options[option], 1)
            if trial.max() <= limit:
                held, state[place] = trial, option
                break
    return _recorded(division, state, held)


def frontier(choices: list[Choice]) -> list[Choice]:
    """Those with a lower peak than everything that costs less, by cost."""
    found: list[Choice] = []
    for choice in sorted(choices, key=lambda each: (each.cost, each.peak)):
        if not found or choice.peak < found[-1].peak:
            found.append(choice)
    return found


def plan(
    divisions: list[Division], rewritten: Callable[..., list[Decision]], budget: Budget
) -> Planned:
    """The first division is PyTorch's own, as plain torch.compile has it."""
    seconds = None
    for division in divisions:
        found = prepare(division, rewritten, seconds)
        seconds = seconds or found
    plain = _exact_peak(Choice(divisions[0], (), 0, 0.0), None)
    limit = budget.limit(plain)
    choices = frontier([each for division in divisions for each in choices_of(division)])
    fitting = [choice for choice in choices if choice.peak <= limit]
    least = plain
    for choice in fitting[:EXACT]:
        peak = _exact_peak(choice, rewritten)
        least = min(least, peak)
        if peak <= limit:
            return Planned(
                choice.division, choice.division.chooser(choice.options), peak, plain, limit
            )
    for choice in reversed(choices[-EXACT:]):
        peak = _exact_peak(choice, rewritten)
        least = min(least, peak)
        if peak <= limit:
            return Planned(
                choice.division, choice.division.chooser(choice.options), peak, plain, limit
            )
    raise budget.impossible(limit, least, plain)


def _exact_peak(choice: Choice, rewritten: Callable[..., list[Decision]] | None) -> int:
    division = choice.division
    forward, backward = division.copies()
    if rewritten is not None:
        rewritten(forward, backward, division.step, division.chooser(choice.options))
    return _memory(forward, backward, division.step).peak


def _memory(forward: fx.GraphModule, backward: fx.GraphModule, step: Step) -> StepMemory:
    layout = step.layout
    return StepMemory(
        *(forward.graph, backward.graph, step.outputs, layout.inductor, layout.channels_last)
    )
