"""An exported program before its text is written: what counts of it, and what is constant."""

from __future__ import annotations

from typing import Any

import torch
from torch.export.graph_signature import InputKind

from .constants import Constants
from .simplify import Memory, inline, living


class Prepared:
    """An exported program whose operators are known: which count, and which are constants."""

    def __init__(self, exported: Any):
        self.kinds = {spec.arg.name: spec for spec in exported.graph_signature.input_specs}
        trained = {name for name, spec in self.kinds.items() if spec.kind == InputKind.PARAMETER}
        inline(exported.graph_module, trained)
        self.graph = exported.graph_module.graph
        self.memory = Memory(self.graph)
        (self.results,) = (
            [each for each in node.args[0] if isinstance(each, torch.fx.Node)]
            for node in self.graph.nodes
            if node.op == "output"
        )
        self.living = living(self.graph, self.results, self.memory)
        self.constants = Constants(self.graph, self._given(exported), self.memory)
        self.order = {node: i for i, node in enumerate(self.graph.nodes)}

    def open_extents(self) -> int:
        """First dimensions of inputs that stay open."""
        return len(
            {
                str(node.meta["val"].shape[0])
                for node in self.graph.nodes
                if node.op == "placeholder"
                and self.kinds[node.name].kind == InputKind.USER_INPUT
                and node.meta["val"].dim() > 0
                and not isinstance(node.meta["val"].shape[0], int)
            }
        )

    def _given(self, exported: Any) -> dict[str, torch.Tensor]:
        """Buffers and tensors that forward makes of numbers, by their placeholders."""
        given = {}
        for name, spec in self.kinds.items():
            if spec.kind == InputKind.BUFFER and spec.target in exported.state_dict:
                given[name] = exported.state_dict[spec.target]
            elif spec.target in exported.constants:
                value = exported.constants[spec.target]
                if isinstance(value, torch.Tensor):
                    given[name] = value
        return given
