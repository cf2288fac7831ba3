"""Which of the tensors that a module gives a text is of.

Models of other libraries give a named tuple, a dictionary or an object with fields: logits, a loss,
caches for the next token. Before a module is exported, its forward is wrapped so that it gives one
tensor; what only the others need is then dead and falls away.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import torch

LOSS = "loss"
# What models call their prediction, where they give more than that.
PREDICTIONS = ("logits", "prediction_logits", "sample")


@contextlib.contextmanager
def one_output(
    module: torch.nn.Module, loss: str | None, output: str | int | None, name: str
) -> Iterator[None]:
    """While it is open, forward gives the one tensor."""
    own = module.forward
    replaced = "forward" in module.__dict__

    @functools.wraps(own)
    def forward(*args: Any, **kwargs: Any) -> torch.Tensor:
        return _chosen(own(*args, **kwargs), loss, output, name)

    module.forward = forward
    try:
        yield
    finally:
        if replaced:
            module.forward = own
        else:
            del module.forward


class NoSingleOutput(ValueError):
    """The module gives no tensor or several, and none was named."""


def _chosen(result: Any, loss: str | None, output: str | int | None, name: str) -> torch.Tensor:
    tensors = {key: each for key, each in _fields(result) if isinstance(each, torch.Tensor)}
    if output is not None:
        if output not in tensors:
            raise NoSingleOutput(f"{name} gives no tensor {output!r}; {_listed(tensors)}")
        return tensors[output]
    if loss is None and LOSS in tensors:
        return tensors[LOSS]
    if len(tensors) > 1 and loss is not None:
        tensors.pop(LOSS, None)
        for each in PREDICTIONS:
            if each in tensors:
                return tensors[each]
    if len(tensors) != 1:
        way = f"; name one of them with output=: {_listed(tensors)}" if tensors else ""
        raise NoSingleOutput(f"{name} gives {len(tensors)} tensors; a step has one loss{way}")
    return next(iter(tensors.values()))


def _listed(tensors: dict[str | int, torch.Tensor]) -> str:
    return "there are " + ", ".join(repr(key) for key in tensors) if tensors else "it gives none"


def _fields(result: Any) -> list[tuple[str | int, Any]]:
    """Names or places, and what is there. Caches are objects without fields that count."""
    if isinstance(result, torch.Tensor):
        return [(0, result)]
    if isinstance(result, Mapping):
        return list(result.items())
    if dataclasses.is_dataclass(result):
        return [
            (each.name, getattr(result, each.name, None)) for each in dataclasses.fields(result)
        ]
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return list(zip(result._fields, result, strict=True))
    if isinstance(result, (tuple, list)):
        return list(enumerate(result))
    return []
