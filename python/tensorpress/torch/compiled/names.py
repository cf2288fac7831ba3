"""Which module and function of a model a node of a compiled graph belongs to.

Dynamo writes both into the nodes, and AOTAutograd hands those of a forward node on to the nodes of
its backward. So the node of backward that takes a value names the function that would have saved it
in eager mode, by the same name: 'layer1.0.conv1:conv2d'.
"""

from __future__ import annotations

import re
import weakref
from typing import Any

import torch
from torch import fx

from ..module_names import Running, without_wrapper

NUMBERED = re.compile(r"_\d+$")
ROOT = re.compile(r"^[LG]\['\w+'\]\.?")
MEMBER = re.compile(r"\._modules\['([^']*)'\]|\['?([^'\]]*)'?\]")


def function_of(node: fx.Node) -> str:
    """'conv2d' for what a graph calls conv2d_3, or '' if nothing is known."""
    stack = node.meta.get("fwd_source_fn_stack") or node.meta.get("source_fn_stack")
    return NUMBERED.sub("", str(stack[-1][0])) if stack else ""


class NodeNames:
    """With the model, names are those of its modules also where a graph break has made a part of it
    a graph of its own."""

    def __init__(self, model: torch.nn.Module | None = None) -> None:
        self._model = None if model is None else weakref.ref(without_wrapper(model))

    def running(self, node: fx.Node) -> Running:
        """The innermost module of a node."""
        stack = node.meta.get("fwd_nn_module_stack") or node.meta.get("nn_module_stack")
        if not stack:
            return Running("", "", {})
        known = self._names()
        key, (path, kind) = list(stack.items())[-1]
        type_name = kind.__name__ if isinstance(kind, type) else str(kind).rpartition(".")[2]
        return Running(known.get(str(key).partition("@")[0]) or _plain(path), type_name, {})

    def _names(self) -> dict[str, str]:
        model = None if self._model is None else self._model()
        if model is None:
            return {}
        return {str(id(module)): name for name, module in model.named_modules()}

    def saver(self, node: fx.Node) -> tuple[str, Running]:
        """'conv1:conv2d' and the module, of the node of backward that takes a value."""
        running = self.running(node)
        what = function_of(node) or str(getattr(node.target, "__name__", node.target))
        return (f"{running.name}:{what}" if running.name else what), running


def _plain(path: Any) -> str:
    """'b.0.n1' for L['self'].b.0.n1 and for L['self']._modules['b']._modules['0']..."""
    text = MEMBER.sub(lambda found: "." + (found[1] or found[2]), ROOT.sub("", str(path), count=1))
    return text.strip(".")
