"""Training steps that `tensorpress model emit` writes, imported; what the program says about them.

TENSORPRESS in the environment names another program than the one of this tree's build.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = pathlib.Path(os.environ.get("TENSORPRESS", ROOT / "build" / "bin" / "tensorpress"))
Rule = dict[str, Any]


def run(*arguments: object) -> str:
    command = [str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def emitted(model: pathlib.Path, *options: str) -> ModuleType:
    """The file that `model emit MODEL OPTIONS` writes, as a module."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / f"{model.stem}_step.py"
        run("model", "emit", model, "-o", file, *options)
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def profile(model: pathlib.Path, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("model", "profile", model, "--json", *options))
    return found


def plan_file(
    folder: pathlib.Path, name: str, rules: Mapping[str, Rule], level: str = "lossless"
) -> pathlib.Path:
    """These codecs by the names of activations, the level's for others. Where a level is lossy,
    values that can be made again from lossy ones are not stored."""
    path = folder / f"{name}.json"
    plan = {"tensorpress_plan": 1, "level": level, "by_name": dict(rules)}
    path.write_text(json.dumps(plan, indent=1) + "\n")
    return path


def lossy_rules(found: Mapping[str, Any]) -> dict[str, Rule]:
    """What a profile says is stored with an error, as rules of a plan.

    >>> lossy_rules({"activations": [{"name": "a", "storing": "quantize 2 bits stochastic + signs"},
    ...                              {"name": "b", "storing": "signs"}]})
    {'a': {'codec': 'quantize', 'bits': 2, 'rounding': 'stochastic'}}
    """
    rules: dict[str, Rule] = {}
    for activation in found["activations"]:
        codec, *words = activation["storing"].split(" + ")[0].split()
        if codec == "quantize":
            rounding = "stochastic" if "stochastic" in words else "nearest"
            rule = {"codec": codec, "bits": int(words[0]), "rounding": rounding}
            rules[activation["name"]] = rule
        elif codec == "cast":
            rules[activation["name"]] = {"codec": codec, "to": words[0]}
    return rules


def gradients(step: nn.Module, batch: Sequence[torch.Tensor], seed: int) -> dict[str, torch.Tensor]:
    """Of one batch. Steps of the same seed draw the same dropout, if their plans are not `off`;
    buffers stay as they were."""
    buffers = [buffer.clone() for buffer in step.buffers()]
    torch.manual_seed(seed)
    step.zero_grad()
    step(*batch)
    step.backward()
    for buffer, before in zip(step.buffers(), buffers, strict=True):
        buffer.copy_(before)
    found = {n: p.grad.detach().clone() for n, p in step.named_parameters() if p.grad is not None}
    step.zero_grad()
    return found


def begin_as_he_did(model: nn.Module) -> None:
    """He's initialization: without normalization a short training would only find its start."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")


def bytes_of(batch: Iterable[torch.Tensor]) -> int:
    """Values, and the indices of matrices in compressed rows."""
    return sum(part.nbytes for tensor in batch for part in _parts(tensor))


def _parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    if tensor.layout == torch.strided:
        return (tensor,)
    return tensor.values(), tensor.col_indices(), tensor.crow_indices()


def held_by_step(step: nn.Module, batch: Sequence[torch.Tensor]) -> int:
    """Bytes that an emitted step holds between the passes, besides its batch."""
    step(*batch)
    held = _storages(step.saved.values())
    step.saved = {}
    return sum(size for key, size in held.items() if key not in _storages(batch))


def held_by_autograd(
    model: nn.Module, batch: Sequence[torch.Tensor], loss: Callable[..., torch.Tensor]
) -> int:
    """Bytes that autograd holds between the passes, besides parameters and the batch."""
    outside = _storages([*model.parameters(), *model.buffers(), *batch])
    held: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        held.update(_storages([tensor]))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        graph = loss(model, *batch)
        # While the graph lives, so that no storage is counted twice.
        total = sum(size for key, size in held.items() if key not in outside)
        del graph
    return total


def _storages(things: Iterable[Any]) -> dict[int, int]:
    """Bytes by storage; sparse tensors have none of their own."""
    dense = [t for t in things if isinstance(t, torch.Tensor) and t.layout == torch.strided]
    return {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in dense}
