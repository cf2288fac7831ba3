"""What of a graph is the same for all inputs: positions, masks, tables of frequencies.

Operators on them run here, once, and the text has the numbers: full(...), arange(...), or a short
list. Larger ones are written as the operators that make them. Where sizes are open, the operators
run with several sizes: a constant is one whose values are the same for all of them, and the same
along every open axis.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from .names import ELEMENTS
from .simplify import Memory
from .writing import Unsupported, is_mutable, listed

Node = torch.fx.Node
SHORT = 16  # numbers that stand in the text though operators could make them
LONGEST = 7000  # characters of a line
# Sizes that open axes are tried with.
TRIALS = ((5, 7, 9, 11), (8, 3, 6, 4))
# Operators that take shape and type of a tensor, and nothing of its values.
FILLED = {"zeros_like": 0, "ones_like": 1, "new_zeros": 0, "new_ones": 1}
FILLED_WITH = {"full_like": 1, "new_full": 2}  # where the number stands
RANDOM = ("rand", "bernoulli", "dropout", "normal", "multinomial", "uniform", "exponential")


class Constants:
    """The constants of one graph. `given`: placeholders with a value, buffers among them."""

    def __init__(self, graph: Any, given: dict[str, torch.Tensor], memory: Memory):
        self.graph = graph
        self.given = given
        self.memory = memory
        self.nodes = self._find()
        self.runs: list[dict[Node, Any]] | None = None
        self.stale: set[Node] = set()

    def __contains__(self, node: Any) -> bool:
        if not isinstance(node, Node) or not isinstance(node.meta.get("val"), torch.Tensor):
            return False  # sizes are known too, and are no tensors
        return node in self.nodes

    def _find(self) -> set[Node]:
        found: set[Node] = set()
        mixed: set[Node] = set()  # memory that something else is written to

        def known(node: Node) -> bool:
            return node in found and self.memory.base[node] not in mixed

        def constant(node: Node) -> bool:
            if node.op == "placeholder":
                return node.name in self.given and node not in self.memory.changes
            if node.op != "call_function" or self.memory.base[node] in mixed:
                return False
            if isinstance(node.meta.get("val"), (torch.SymInt, int)):
                return True  # a size, known with every trial
            name = str(node.target)
            if any(each in name for each in RANDOM) or not _runs(node):
                return False
            return _filled(node) is not None or all(map(known, node.all_input_nodes))

        for base, changes in self.memory.changes.items():
            if base.op == "placeholder" and base.name not in self.given:
                mixed.add(base)
            for each in changes:
                mixed.update({base} if self._reads_more(each) else ())
        for node in self.graph.nodes:
            base = self.memory.base[node]
            if base in mixed and node is base and node.op == "call_function":
                made = _runs(node) and all(map(known, node.all_input_nodes))
                if made or _filled(node) is not None:
                    found.add(node)  # as it is made, before something is written to it
                continue
            if constant(node):
                found.add(node)
        return found

    def _reads_more(self, node: Node) -> bool:
        """A write whose operands depend on an input or a parameter."""
        open_, seen = list(node.all_input_nodes), set()
        while open_:
            each = open_.pop()
            if each in seen:
                continue
            seen.add(each)
            if each.op == "placeholder" and each.name not in self.given:
                return True
            sized = isinstance(each.meta.get("val"), (torch.SymInt, int))
            if not sized and _filled(each) is None:
                open_ += each.all_input_nodes
        return False

    # --- Values -----------------------------------------------------------------------------------

    def value(self, node: Node) -> torch.Tensor:
        """With one element along open axes."""
        if self.runs is None:
            self._run_all()
        assert self.runs is not None
        if node in self.stale:
            raise Unsupported("a constant that is changed in place after it was read")
        shape = node.meta["val"].shape
        found = []
        for run in self.runs:
            value = run.get(node)
            if not isinstance(value, torch.Tensor):
                raise Unsupported(f"{node.target}, which cannot run by itself,")
            for i, extent in enumerate(shape):
                if isinstance(extent, int):
                    continue
                first = value.narrow(i, 0, 1)
                if not torch.equal(value, first.expand_as(value)):
                    raise Unsupported("a constant that differs along an open axis")
                value = first
            found.append(value)
        if not all(_same(found[0], each) for each in found):
            raise Unsupported("a constant that depends on an open size")
        return found[0]

    def _run_all(self) -> None:
        symbols = sorted(
            {
                str(symbol)
                for node in self.graph.nodes
                for size in _sizes(node.meta.get("val"))
                for symbol in size.node.expr.free_symbols
            }
        )
        trials = TRIALS if symbols else TRIALS[:1]
        self.runs = [
            self._run({each: trial[i % 4] + i // 4 for i, each in enumerate(symbols)})
            for trial in trials
        ]

    def _run(self, sizes: dict[str, int]) -> dict[Node, Any]:
        live: dict[Node, Any] = {}
        seen: dict[Node, Any] = {}

        def argument(node: Node) -> Any:
            if node in live:
                return live[node]
            raise KeyError(node.name)

        for node in self.graph.nodes:
            if node not in self.nodes:
                continue
            if node.op == "placeholder":
                live[node] = self.given[node.name].detach().clone()
            elif isinstance(node.meta.get("val"), (torch.SymInt, int)):
                live[node] = _sized(node.meta["val"], sizes)
            elif _filled(node) is not None:
                made = node.meta["val"]
                shape = [_sized(each, sizes) for each in made.shape]
                live[node] = torch.full(shape, _filled(node), dtype=made.dtype)
            else:
                try:
                    arguments = torch.fx.map_arg((node.args, node.kwargs), argument)
                    with torch.no_grad():
                        live[node] = node.target(*arguments[0], **arguments[1])
                except (KeyError, RuntimeError, TypeError, ValueError):
                    continue  # said where it is wanted
            value = live[node]
            seen[node] = value.clone() if isinstance(value, torch.Tensor) else value
        for node, value in seen.items():
            changed = isinstance(value, torch.Tensor) and not _same(value, live[node])
            if changed and any(user not in self.nodes for user in node.users):
                self.stale.add(node)
        return seen


def _runs(node: Node) -> bool:
    return node.target is operator.getitem or isinstance(node.target, torch._ops.OpOverload)


def _filled(node: Node) -> float | None:
    """The number that it makes a tensor of."""
    name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
    if name in FILLED:
        return FILLED[name]
    place = FILLED_WITH.get(name)
    if place is None or not isinstance(node.meta.get("val"), torch.Tensor):
        return None
    given = node.args[place] if len(node.args) > place else node.kwargs.get("fill_value")
    return given if isinstance(given, (int, float)) else None


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.is_floating_point():
        return torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())
    return torch.equal(a, b)


def _sizes(value: Any) -> list[torch.SymInt]:
    values = value if isinstance(value, (list, tuple)) else [value]
    found: list[torch.SymInt] = []
    for each in values:
        extents = each.shape if isinstance(each, torch.Tensor) else [each]
        found += [extent for extent in extents if isinstance(extent, torch.SymInt)]
    return found


def _sized(value: Any, sizes: dict[str, int]) -> int:
    if not isinstance(value, torch.SymInt):
        return int(value)
    expression = value.node.expr
    return int(expression.subs({each: sizes[str(each)] for each in expression.free_symbols}))


# --- As text --------------------------------------------------------------------------------------


def short_text(value: torch.Tensor, most: int = SHORT) -> str | None:
    """full(...), arange(...) or numbers(...) of at most `most`; None if it needs more."""
    if value.numel() == 0 or value.dtype not in ELEMENTS:
        return None
    kind = ELEMENTS[value.dtype]
    flat = value.reshape(-1)
    shape = listed(value.shape)
    if torch.equal(flat, flat[:1].expand_as(flat)):
        given = [] if kind == "f32" else [f'"{kind}"']
        return f"full({', '.join([shape, _number(flat[0].item()), *given])})"
    steps = _arange(flat, kind)
    if steps is not None:
        return steps if value.dim() == 1 else f"reshape({steps}, {shape})"
    if value.numel() > most:
        return None
    parts = [listed(_number(each) for each in flat.tolist())]
    parts += [] if value.dim() == 1 else [shape]
    parts += [] if kind == "f32" else [f'type="{kind}"']
    text = f"numbers({', '.join(parts)})"
    return text if len(text) < LONGEST else None


def _arange(flat: torch.Tensor, kind: str) -> str | None:
    if kind not in ("i64", "i32", "f32", "f64") or flat.numel() < 3:
        return None
    start, step = flat[0].item(), (flat[1] - flat[0]).item()
    if not math.isfinite(start) or not math.isfinite(step):
        return None
    if start != int(start) or step != int(step) or step == 0 or max(abs(start), abs(step)) > 2**31:
        return None
    end = int(start) + flat.numel() * int(step)
    if not torch.equal(torch.arange(int(start), end, int(step), dtype=flat.dtype), flat):
        return None
    given = [str(flat.numel())]
    given += [] if start == 0 else [f"start={int(start)}"]
    given += [] if step == 1 else [f"step={int(step)}"]
    given += [] if kind == "i64" else [f'type="{kind}"']
    return f"arange({', '.join(given)})"


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "infinity" if value > 0 else "-infinity"
    if value != value:
        raise Unsupported("a constant with NaN")
    return repr(value)


def is_all_true(value: torch.Tensor) -> bool:
    return value.dtype == torch.bool and bool(value.all())


def is_causal(value: torch.Tensor, queries: int, keys: int) -> bool:
    """True where a key is not after the query, for all heads and samples."""
    if value.dtype != torch.bool or value.numel() != queries * keys:
        return False
    if tuple(value.shape[-2:]) != (queries, keys):
        return False
    below = torch.ones(queries, keys, dtype=torch.bool).tril()
    return torch.equal(value.reshape(queries, keys), below)


__all__ = ["Constants", "is_all_true", "is_causal", "is_mutable", "short_text"]
