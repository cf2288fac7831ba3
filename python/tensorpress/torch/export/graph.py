"""A module's real program as graph.json, for `tensorpress device check GRAPH.json`.

torch.export says which operators run on which shapes; an accelerator's compiler sees the same.
src/devices/programs/graph_file.h has the form of the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind


def write_graph(
    module: torch.nn.Module,
    example_inputs: Sequence[Any],
    path: str | os.PathLike[str],
    dynamic_shapes: Any = None,
) -> None:
    """Exports module(*example_inputs) and writes its operators and shapes to path.

    >>> import tempfile, tensorpress.torch
    >>> compressor = tensorpress.torch.ChopCompressor((32, 32), cf=4)
    >>> path = tempfile.mkdtemp() + "/graph.json"
    >>> tensorpress.torch.write_graph(compressor, [torch.zeros(100, 3, 32, 32)], path)
    >>> [each["name"] for each in json.load(open(path))["operators"]].count("matmul")
    2
    """
    graph = graph_of(module, example_inputs, dynamic_shapes)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(graph, file)
        file.write("\n")


def graph_of(
    module: torch.nn.Module, example_inputs: Sequence[Any], dynamic_shapes: Any = None
) -> dict[str, Any]:
    """What write_graph writes, as a dictionary."""
    # A step that turns gradients off inside would otherwise hide its operators in a submodule.
    with torch.no_grad():
        program = torch.export.export(module, tuple(example_inputs), dynamic_shapes=dynamic_shapes)
    inputs = {
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind == InputKind.USER_INPUT
    }
    outputs = set(program.graph_signature.user_outputs)
    tensors: list[dict[str, Any]] = []
    operators: list[dict[str, Any]] = []
    # A node that makes several tensors has several places; getitem picks one of them.
    places: dict[str, list[int]] = {}

    def add(node: torch.fx.Node, role: str) -> list[int]:
        values = node.meta["val"]
        made = []
        for i, value in enumerate(values if isinstance(values, (list, tuple)) else [values]):
            if isinstance(value, torch.Tensor):
                name = f"{node.name}.{i}" if isinstance(values, (list, tuple)) else node.name
                tensors.append(_described(name, value, role))
                made.append(len(tensors) - 1)
            else:
                made.append(-1)
        return made

    for node in program.graph.nodes:
        if node.op == "placeholder":
            places[node.name] = add(node, "input" if node.name in inputs else "constant")
        elif node.op == "call_function" and _operator_name(node) == "getitem":
            source, index = node.args
            places[node.name] = [places[source.name][index]]
            if node.name in outputs:
                tensors[places[node.name][0]]["role"] = "output"
        elif node.op == "call_function" and "val" in node.meta:
            made = add(node, "output" if node.name in outputs else "value")
            places[node.name] = made
            used = [
                place
                for source in node.all_input_nodes
                for place in places.get(source.name, [])
                if place >= 0
            ]
            kept = [place for place in made if place >= 0]
            if kept:
                operators.append({"name": _operator_name(node), "inputs": used, "outputs": kept})
    return {
        "format": "tensorpress-graph",
        "version": 1,
        "name": type(module).__name__,
        "tensors": tensors,
        "operators": operators,
    }


def _described(name: str, value: torch.Tensor, role: str) -> dict[str, Any]:
    shape = [int(extent) if isinstance(extent, int) else None for extent in value.shape]
    kind = str(value.dtype).removeprefix("torch.")
    return {"name": name, "shape": shape, "type": kind, "role": role}


def _operator_name(node: torch.fx.Node) -> str:
    """aten.slice.Tensor -> slice; the getitem of Python's operator module -> getitem."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target.overloadpacket.__name__
    return getattr(target, "__name__", str(target))
