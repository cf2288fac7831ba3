"""What of an exported graph counts: functions that ran without gradients are put in their place,
and operators that the result does not depend on are left out."""

from __future__ import annotations

import operator
from typing import Any

import torch

from .writing import Unsupported, is_kept, is_mutable, is_view

Node = torch.fx.Node
WITHOUT_GRADIENTS = "wrap_with_set_grad_enabled"


def inline(module: torch.fx.GraphModule, trained: set[str]) -> None:
    """Parts under torch.no_grad() are graphs of their own. Where no parameter enters, no gradient
    is lost if their operators stand in the graph itself. `trained`: placeholders of parameters."""
    graph = module.graph
    for node in list(graph.nodes):
        if getattr(node.target, "__name__", "") != WITHOUT_GRADIENTS:
            continue
        enabled, inner, *arguments = node.args
        if not enabled and any(_depends(each, trained) for each in arguments):
            continue  # refused where it is written
        _copy_in(graph, node, getattr(module, inner.target), arguments)


def _depends(node: Any, trained: set[str]) -> bool:
    open_, seen = [node], set()
    while open_:
        each = open_.pop()
        if not isinstance(each, Node) or each in seen:
            continue
        if each.name in trained:
            return True
        seen.add(each)
        open_ += each.all_input_nodes
    return False


def _copy_in(graph: Any, node: Node, inner: torch.fx.GraphModule, arguments: list[Any]) -> None:
    places = iter(arguments)
    copies: dict[Node, Any] = {}
    results: Any = ()
    with graph.inserting_before(node):
        for each in inner.graph.nodes:
            if each.op == "placeholder":
                copies[each] = next(places)
            elif each.op == "output":
                (given,) = each.args
                results = torch.fx.map_arg(given, lambda n: copies[n])
            else:
                copies[each] = graph.node_copy(each, lambda n: copies[n])
    for user in list(node.users):
        if user.target is operator.getitem:
            user.replace_all_uses_with(results[user.args[1]])
            graph.erase_node(user)
    if not node.users:
        graph.erase_node(node)


class Memory:
    """Which nodes are one tensor or views of one."""

    def __init__(self, graph: Any):
        self.base: dict[Node, Node] = {}
        self._groups: dict[Node, list[Node]] = {}
        self.changes: dict[Node, list[Node]] = {}  # operators that write to a base, in order
        for node in graph.nodes:
            source = node.args[0] if node.args else None
            writes = is_mutable(node)
            shares = writes or is_view(node) or is_kept(node)
            shares = shares or node.target is operator.getitem
            if isinstance(source, Node) and shares and node.op == "call_function":
                self.base[node] = self.base[source]
            else:
                self.base[node] = node
            if writes:
                self.changes.setdefault(self.base[node], []).append(node)
            self._groups.setdefault(self.base[node], []).append(node)

    def sharing(self, base: Node) -> list[Node]:
        return self._groups[base]


def living(graph: Any, outputs: list[Node], memory: Memory) -> set[Node]:
    """Nodes that the outputs depend on. What writes into a living tensor counts, and into inputs,
    parameters and buffers always."""
    open_ = list(outputs)
    open_ += [
        each
        for base, changes in memory.changes.items()
        if base.op == "placeholder"
        for each in changes
    ]
    seen: set[Node] = set()
    while open_:
        node = open_.pop()
        if node in seen:
            continue
        seen.add(node)
        open_ += node.all_input_nodes
        open_ += memory.changes.get(memory.base[node], [])
    return seen


def refuse_without_gradients(node: Node) -> None:
    if getattr(node.target, "__name__", "") == WITHOUT_GRADIENTS:
        raise Unsupported("a part that runs without gradients though parameters enter it")
