"""Operators that change a tensor where it lies: afterwards its names stand for what they made."""

from __future__ import annotations

import os
import re
from typing import Any

import torch

from . import writing
from .names import Free, Names, running_module
from .prepared import Prepared


class InPlace(Names):
    """Names of results, which change with what is written to them."""

    def __init__(self, module: torch.nn.Module, prepared: Prepared, free: Free):
        super().__init__(module, free)
        self.prepared = prepared
        self.names: dict[torch.fx.Node, str] = {}  # what a node is called in the text
        self.same_memory: dict[torch.fx.Node, list[torch.fx.Node]] = {}
        self.counters: set[torch.fx.Node] = set()
        self.buffers: dict[str, str] = {}
        self.complaints: list[str] = []

    def counts_batches(self, node: torch.fx.Node) -> bool:
        """The counter of batch norm, which its operator keeps itself."""
        first = node.args[0] if node.args else None
        if not isinstance(first, torch.fx.Node):
            return False
        counts = self.buffers.get(first.name, "").endswith("num_batches_tracked")
        if counts or first in self.counters:
            self.counters.add(node)
            return True
        return False

    def changed_in_place(self, node: torch.fx.Node) -> None:
        if not writing.is_mutable(node) or node not in self.names:
            return
        changed = node.args[0]
        if not isinstance(changed, torch.fx.Node):
            return
        memory = self.prepared.memory
        base = memory.base[node]
        name = node.target._schema.name
        if base.name in self.parameters or base.name in self.buffers:
            self.complaints.append(f"a parameter or buffer is changed {where(node)}")
            return
        if writing.assigns(node):
            same = self.same_memory.setdefault(base, [base])
        else:
            self.share_memory(node, changed)
            same = self.same_memory[node]
        order = self.prepared.order
        views = [
            each
            for each in memory.sharing(base)
            if each not in same and (order[each] < order[node] or each is node)
        ]
        if any(self._is_read_after(each, node) for each in views):
            self.complaints.append(
                f"{name} changes a tensor that others see through a view {where(node)}"
            )
        for each in same:
            self.names[each] = self.names[node]

    def _is_read_after(self, node: torch.fx.Node, change: torch.fx.Node) -> bool:
        order = self.prepared.order
        return any(
            user in self.prepared.living and order[user] > order[change] for user in node.users
        )

    def share_memory(self, node: torch.fx.Node, other: Any) -> None:
        """The two are one tensor, so that changing one changes the other."""
        self.same_memory[node] = self.same_memory.setdefault(other, [other])
        self.same_memory[node].append(node)


def where(node: torch.fx.Node) -> str:
    """The module that ran, and the last line of the user's own code that led here."""
    frames = re.findall(
        r'File "([^"]+)", line (\d+), in [^\n]*\n\s*([^\n]*)', node.meta.get("stack_trace") or ""
    )
    theirs = tuple(os.path.dirname(each) + os.sep for each in (torch.__file__, __file__))
    running = running_module(node)
    known = [f"'{running}'"] if running else []
    for file, line, code in [each for each in frames if not each[0].startswith(theirs)][-1:]:
        known.append(f"{file}, line {line}: {code.strip()}")
    return f"({', '.join(known) or node.target})"
