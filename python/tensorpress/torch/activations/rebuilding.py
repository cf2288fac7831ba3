"""Values computed again in backward, from stored ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from .stored_value import StoredValue

Copy = Callable[["StoredValue"], torch.Tensor]


class Rebuilt(NamedTuple):
    """A call to make again, and the place in memory that its result had."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    autocast: torch.dtype | None
    start: int
    shape: torch.Size
    strides: tuple[int, ...]


class Stored(NamedTuple):
    """A tensor that a call takes: elements of a stored value, or of the result of another call."""

    value: StoredValue | None
    start: int
    shape: torch.Size
    strides: tuple[int, ...]
    inner: Rebuilt | None


class Held(NamedTuple):
    """A weight, and the version that the call saw."""

    tensor: torch.Tensor
    version: int

    @classmethod
    def now(cls, tensor: torch.Tensor) -> Held:
        return cls(tensor.detach(), tensor._version)

    def value(self) -> torch.Tensor:
        if self.tensor._version != self.version:
            shape = f"[{self.tensor.type()} {list(self.tensor.shape)}]"
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: {shape} is at version {self.tensor._version}; expected "
                f"version {self.version} instead. A value computed again from it would be wrong."
            )
        return self.tensor


class Recipe(NamedTuple):
    call: Rebuilt
    fidelity: float  # of the worst of the stored values that it takes


def computed(recipe: Recipe, copy_of: Copy) -> torch.Tensor:
    """All elements of the value in the order of memory, in one dimension. `copy_of` gives all
    elements of a stored value."""
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return _run(recipe.call, copy_of, {})


def _run(call: Rebuilt, copy_of: Copy, copies: dict[int, torch.Tensor]) -> torch.Tensor:
    args = [_argument(each, copy_of, copies) for each in call.args]
    named = {key: _argument(each, copy_of, copies) for key, each in call.kwargs.items()}
    with _autocast(args, call.autocast):
        result: torch.Tensor = call.function(*args, **named)
    if result.stride() != call.strides:
        result = torch.empty_strided(
            call.shape, call.strides, dtype=result.dtype, device=result.device
        ).copy_(result)
    return result.as_strided((result.numel(),), (1,), result.storage_offset())


def _argument(argument: Any, copy_of: Copy, copies: dict[int, torch.Tensor]) -> Any:
    if isinstance(argument, Held):
        return argument.value()
    if not isinstance(argument, Stored):
        return argument
    if argument.value is None:
        assert argument.inner is not None
        flat = _run(argument.inner, copy_of, copies)
        first = argument.inner.start
    else:
        value = argument.value
        if value.kept is not None:
            return value.view_of_kept(argument.shape, argument.strides, argument.start)
        if id(value) not in copies:
            copies[id(value)] = copy_of(value)
        if value.span.gaps:
            return copies[id(value)].view(argument.shape)
        flat, first = copies[id(value)], value.span.start
    return flat.as_strided(argument.shape, argument.strides, argument.start - first)


def _autocast(args: list[Any], dtype: torch.dtype | None) -> contextlib.AbstractContextManager[Any]:
    if dtype is None:
        return contextlib.nullcontext()
    kinds = [each.device.type for each in args if isinstance(each, torch.Tensor)]
    return torch.autocast(kinds[0], dtype=dtype) if kinds else contextlib.nullcontext()
