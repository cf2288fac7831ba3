"""Which memory the tensors of a checkpoint share, and how each piece of it is to be compressed.

Tensors are views of storages. A storage is written once, whatever looks at it, and only from the
first to the last byte that a tensor of the checkpoint touches. It is compressed in the shape of the
tensor that fills it, in the order of memory, or as a row if tensors see parts of it.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ..._codec import Codec

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
MAX_RANK = 8

# What optimizers and norms divide by (its root). An error that is small beside the largest of these
# is not small beside the others, so a relative bound is kept relative to each value.
DIVISORS = frozenset(
    ["exp_avg_sq", "max_exp_avg_sq", "square_avg", "sum", "acc_delta", "exp_inf", "running_var"]
)


@dataclass
class View:
    """A tensor of the checkpoint under all its names; `offset` in elements from its storage."""

    names: list[str]
    tensor: torch.Tensor
    storage: int
    offset: int = 0

    @property
    def touched(self) -> int:
        """Elements from the first to the last that it touches."""
        if self.tensor.numel() == 0:
            return 0
        pairs = zip(self.tensor.shape, self.tensor.stride(), strict=True)
        return 1 + sum((extent - 1) * stride for extent, stride in pairs)


@dataclass
class Storage:
    """Bytes that one or more tensors look at, from byte `first` of PyTorch's storage on."""

    views: list[View] = field(default_factory=list)
    first: int = 0
    bytes: int = 0

    @property
    def names(self) -> list[str]:
        return [name for view in self.views for name in view.names]

    @property
    def dtype(self) -> torch.dtype | None:
        """The type of all views, or None if they differ."""
        kinds = {view.tensor.dtype for view in self.views}
        return kinds.pop() if len(kinds) == 1 else None

    def settle(self) -> None:
        """Finds which bytes are needed, and each view's offset in them."""
        used = [view for view in self.views if view.touched]
        sizes = {view.tensor.element_size() for view in used}
        starts = [view.tensor.storage_offset() * view.tensor.element_size() for view in used]
        self.first = min(starts, default=0)
        if len(sizes) > 1:
            self.first -= self.first % max(sizes)
        for view, start in zip(used, starts, strict=True):
            size = view.tensor.element_size()
            view.offset = (start - self.first) // size
            self.bytes = max(self.bytes, (view.offset + view.touched) * size)

    def memory(self) -> torch.Tensor:
        """Its bytes on the CPU."""
        if not self.bytes:
            return torch.empty(0, dtype=torch.uint8)
        tensor = self.views[0].tensor.detach()
        whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        whole.set_(tensor.untyped_storage(), self.first, (self.bytes,), (1,))
        return whole.cpu()

    def shape(self, elements: int) -> tuple[int, ...]:
        """In which the storage is compressed."""
        for view in self.views:
            axes = sorted(
                (stride, extent)
                for extent, stride in zip(view.tensor.shape, view.tensor.stride(), strict=True)
                if extent != 1
            )
            below = 1
            for stride, extent in axes:
                if stride != below:
                    break
                below *= extent
            else:
                if below == elements and len(axes) <= MAX_RANK:
                    return tuple(extent for _, extent in reversed(axes)) or (1,)
        return (elements,)

    @property
    def filled(self) -> bool:
        """Whether every view sees all of it."""
        return all(view.tensor.nbytes == self.bytes for view in self.views)


class Rules:
    """Which codec a tensor gets: by the first pattern that its name matches, or the default. Small
    tensors stay exact unless a pattern is their very name."""

    def __init__(
        self, default: Codec | None, bounds: Mapping[str, Any] | None, min_elements: int
    ) -> None:
        name = "dense" if default is None else default.name
        self.default = default
        self.min_elements = min_elements
        self.patterns = {key: _codec(key, each, name) for key, each in (bounds or {}).items()}
        self.matched: set[str] = set()

    def of(self, storage: Storage) -> Codec | None:
        """The codec for a storage; None keeps it as it is."""
        choices = [self._choice(name, view) for view in storage.views for name in view.names]
        if any(choice is None for choice in choices) or storage.dtype not in FLOATS:
            return None
        chosen = _strictest([choice for choice in choices if choice is not None], storage)
        return chosen if storage.filled else _of_parts(chosen, storage)

    def check_patterns(self, matched: Container[str]) -> None:
        for pattern in self.patterns:
            if pattern not in matched:
                raise ValueError(
                    f"bounds has {pattern!r}, which is not the name of a tensor; names are those "
                    'of the dicts, joined by points, such as "model.conv1.weight"'
                )

    def _choice(self, name: str, view: View) -> Codec | None:
        small = view.tensor.numel() < self.min_elements
        pattern = first_match(name, self.patterns)
        if pattern is not None:
            self.matched.add(pattern)
            return None if small and name != pattern else self.patterns[pattern]
        if small or self.default is None:
            return None
        if name.rpartition(".")[2] in DIVISORS:
            return _relative_to_each_value(self.default)
        return self.default


def first_match(name: str, patterns: Iterable[str]) -> str | None:
    matching = (each for each in patterns if name == each or fnmatch.fnmatchcase(name, each))
    return next(matching, None)


def _codec(pattern: str, given: Any, name: str) -> Codec | None:
    if given is None or given == "exact":
        return None
    if isinstance(given, Codec):
        return given
    if isinstance(given, Mapping):
        return Codec.from_dict(with_effort({"codec": name, **given}))
    raise TypeError(
        f'bounds[{pattern!r}] is {given!r}; say "exact", {{"relative": 1e-3}} or a Codec'
    )


def with_effort(fields: dict[str, Any]) -> dict[str, Any]:
    """A codec's parameters: dense works at its fast effort, if no other is asked for."""
    return {"effort": "fast", **fields} if fields["codec"] == "dense" else fields


def _relative_to_each_value(codec: Codec) -> Codec | None:
    if codec.bound is None or codec.bound[0] not in ("relative", "pointwise_relative"):
        return None
    fields = {key: each for key, each in codec.to_dict().items() if key != codec.bound[0]}
    return Codec.from_dict({**fields, "pointwise_relative": codec.bound[1]})


def _strictest(choices: list[Codec], storage: Storage) -> Codec:
    """Tied tensors are one: it keeps the smallest of their bounds."""
    kinds = {(choice.name, choice.bound and choice.bound[0]) for choice in choices}
    if len(set(choices)) == 1:
        return choices[0]
    if len(kinds) > 1 or choices[0].bound is None or choices[0].bound[0] in ("psnr", "ratio"):
        raise ValueError(
            f"{' and '.join(storage.names)} share memory and have different bounds: "
            + " and ".join(map(repr, choices))
            + "; give them the same one"
        )
    return min(choices, key=lambda choice: choice.bound[1] if choice.bound else 0.0)


def _of_parts(codec: Codec, storage: Storage) -> Codec | None:
    """The codec for memory that tensors see parts of: the bound must hold in each of them."""
    if codec.bound is None or codec.bound[0] in ("absolute", "pointwise_relative"):
        return codec
    if codec.bound[0] != "relative":
        return None
    spans = []
    for view in storage.views:
        values = view.tensor.detach()[torch.isfinite(view.tensor)].double()
        spans.append(float(values.max() - values.min()) if values.numel() else math.inf)
    limit = codec.bound[1] * min(spans)
    if not 0 < limit < math.inf:
        return None
    fields = {key: each for key, each in codec.to_dict().items() if key != "relative"}
    return Codec.from_dict({**fields, "absolute": limit})
