"""Where tensors come from: which cheap function made them of what.

A value whose function can run again on values that are stored anyway is not stored: SiLU's result
and its product beside the two inputs, a norm's result beside its input. `Origins.note` is told of
each such function when it has run; `Origins.recipe_for` finds the stored values behind a tensor
that autograd saves, perhaps through several functions.

A tensor is known by its place: the storage, which a weak reference keeps from being mistaken for a
later one at the same address, and the version. No tensor is held.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..policy import rebuildable, saved_by
from ..policy.levels import KEEP, Level
from ..policy.saved_by import Call, Need
from .rebuilding import Held, Rebuilt, Recipe, Stored
from .requirements import Requirement
from .stored_value import Place, StoredValue, ValueTable, has_plain_memory

ATTENTION = "scaled_dot_product_attention"
MOST_STEPS = 12  # of one recipe, in depth
PURGE_AFTER = 256  # places


class Made(NamedTuple):
    """A function that has run, with tensors in its arguments replaced by Sources."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    autocast: torch.dtype | None


class Source(NamedTuple):
    """A tensor that a function took: a weight, or a place and what made it."""

    weight: Held | None
    place: Place | None
    made: tuple[Place, Made] | None


class Origins:
    """Those of one run. `is_weight` tells tensors that outlive the step."""

    def __init__(self, values: ValueTable, is_weight: Callable[[torch.Tensor], bool]) -> None:
        self._values = values
        self._is_weight = is_weight
        self._made: dict[int, tuple[Place, Made]] = {}  # by storage
        self._purge_at = PURGE_AFTER

    def forget(self) -> None:
        self._made.clear()
        self._purge_at = PURGE_AFTER

    def note(
        self,
        function: Callable[..., Any],
        name: str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        result: Any,
        noise: StoredValue | None,
        before: StoredValue | None = None,
    ) -> None:
        """After a function that may_rebuild. `noise` is what dropout has saved, `before` what a
        function that works in place has saved of its input."""
        if type(result) is not torch.Tensor or result.grad_fn is None:
            return
        if name == rebuildable.DROPOUT:
            if noise is None or noise.shape != tuple(result.shape) or not args:
                return
            function, args, kwargs = rebuildable.dropped, (args[0], weakref.ref(noise)), {}
        elif before is not None and before.shape == tuple(result.shape):
            args, kwargs = (weakref.ref(before),), {}
        elif not rebuildable.rebuilds(name, args, kwargs):
            return
        storage = result.untyped_storage()
        sources = tuple(self._source(each) for each in args)
        named = {key: self._source(each) for key, each in kwargs.items()} if kwargs else {}
        if REFUSED in sources or REFUSED in named.values():
            return
        for each in (*sources, *named.values()):
            if (
                isinstance(each, Source)
                and each.place
                and each.place.storage.cdata == storage._cdata
            ):
                return  # the same memory
        place = Place.of(result, StorageWeakRef(storage))
        if len(self._made) >= self._purge_at:
            self._purge()
        self._made[storage._cdata] = place, Made(function, sources, named, _autocast(result))

    def _source(self, argument: Any) -> Any:
        if not isinstance(argument, torch.Tensor):
            return (
                REFUSED
                if isinstance(argument, list | tuple) and _has_tensor(argument)
                else argument
            )
        if not has_plain_memory(argument):
            return REFUSED
        if self._is_weight(argument):
            return Source(Held.now(argument), None, None)
        storage = argument.untyped_storage()
        made = self._made_of(storage._cdata, argument._version)
        place = Place.of(argument, made[0].storage if made else StorageWeakRef(storage))
        return Source(None, place, made)

    def _made_of(self, storage: int, version: int) -> tuple[Place, Made] | None:
        found = self._made.get(storage)
        if found is None or found[0].version != version or found[0].storage.expired():
            return None
        return found

    def _purge(self) -> None:
        self._made = {
            key: each for key, each in self._made.items() if not each[0].storage.expired()
        }
        self._purge_at = PURGE_AFTER + 2 * len(self._made)

    # ---- Recipes --------------------------------------------------------------------------------

    def recipe_for(self, value: StoredValue, least: float) -> Recipe | None:
        """How to compute a value again from stored ones that have `least` bits or more."""
        made = self._made_of(value.storage.cdata, value.version)
        if made is None or made[0].dtype != value.dtype or not _same_elements(made[0], value):
            return None
        sources: list[StoredValue] = []
        node = self._resolved(made, least, sources, MOST_STEPS)
        if node is None:
            return None
        return Recipe(node, min(_fidelity(each) for each in sources) if sources else 64.0)

    def _resolved(
        self, made: tuple[Place, Made], least: float, sources: list[StoredValue], steps: int
    ) -> Rebuilt | None:
        place, how = made
        if steps == 0:
            return None
        args: list[Any] = []
        for each in (*how.args, *how.kwargs.values()):
            resolved = self._argument(each, least, sources, steps)
            if resolved is None and each is not None:
                return None
            args.append(resolved)
        named = dict(zip(how.kwargs, args[len(how.args) :], strict=True))
        return Rebuilt(
            how.function,
            tuple(args[: len(how.args)]),
            named,
            how.autocast,
            place.start,
            place.shape,
            place.strides,
        )

    def _argument(self, argument: Any, least: float, sources: list[StoredValue], steps: int) -> Any:
        if isinstance(argument, weakref.ref):
            saved = argument()
            if saved is None or not _serves(saved, least):
                return None
            sources.append(saved)
            shape = torch.Size(saved.shape)
            return Stored(saved, saved.span.start, shape, saved.strides, None)
        if not isinstance(argument, Source):
            return argument
        if argument.weight is not None:
            return argument.weight
        place = argument.place
        assert place is not None
        value = self._values.find_place(place)
        if value is not None and _serves(value, least):
            sources.append(value)
            return Stored(value, place.start, place.shape, place.strides, None)
        if argument.made is None:
            return None
        inner = self._resolved(argument.made, least, sources, steps - 1)
        if inner is None:
            return None
        return Stored(None, place.start, place.shape, place.strides, inner)


class Rebuilding:
    """Origins at work in a run: which saved values are computed again. `wanted` by the level."""

    def __init__(
        self, values: ValueTable, is_weight: Callable[[torch.Tensor], bool], level: Level
    ) -> None:
        self.wanted = level.rebuild
        self._least = level.smooth.fidelity
        self._origins = Origins(values, is_weight)
        # Of the call that is running: what dropout multiplies with, and attention's probabilities.
        self._call: Call | None = None
        self._noise: StoredValue | None = None
        self._before: StoredValue | None = None  # a function works in place
        self._probabilities: StoredValue | None = None

    def forget(self) -> None:
        self._origins.forget()
        self._call = self._noise = self._before = self._probabilities = None

    def note(self, function: Callable[..., Any], call: Call, result: Any) -> None:
        known = self._call is call
        noise, before = (self._noise, self._before) if known else (None, None)
        self._origins.note(function, call.name, call.args, call.kwargs, result, noise, before)
        self._call = self._noise = self._before = self._probabilities = None

    def consider(
        self, value: StoredValue, tensor: torch.Tensor, requirement: Requirement, call: Call
    ) -> None:
        """Before a value is stored: perhaps it need not be."""
        plain = not (requirement.mask or requirement.sign or requirement.limits)
        lossy = requirement.need is Need.VALUES and requirement.codec != KEEP
        if not (self.wanted and plain and lossy and value.is_empty):
            return
        least = max(self._least, requirement.codec.fidelity)
        if call.name == ATTENTION and self._call is call and self._noise and self._probabilities:
            value.rebuilt = self._dropped(value, tensor, least)
        if value.rebuilt is None:
            value.rebuilt = self._origins.recipe_for(value, least)

    def has_stored(
        self, value: StoredValue, tensor: torch.Tensor, requirement: Requirement, call: Call
    ) -> None:
        """Remembers what dropout needs, alone or inside attention."""
        in_place = call.kwargs.get("inplace") is True and call.name in rebuildable.IN_PLACE
        if not self.wanted or not (in_place or call.name in (ATTENTION, rebuildable.DROPOUT)):
            return
        if self._call is not call:
            self._call = call
            self._noise = self._before = self._probabilities = None
        if in_place:
            self._before = value
            return
        node = tensor.grad_fn
        if requirement.mask and value.stored is not None and value.stored.codec.exact:
            self._noise = value
        elif node is not None and "Softmax" in node.name():
            self._probabilities = value

    def _dropped(self, value: StoredValue, tensor: torch.Tensor, least: float) -> Recipe | None:
        """Probabilities after dropout, which attention multiplies with its values."""
        probabilities, noise = self._probabilities, self._noise
        assert probabilities is not None and noise is not None
        nodes = list(saved_by.origins(tensor))
        made_by = nodes[-1] if nodes else None
        if made_by is None or not made_by.name().startswith("MulBackward"):
            return None
        before = made_by.next_functions[0][0]
        if before is None or "Softmax" not in before.name() or not _serves(probabilities, least):
            return None
        shape, strides = torch.Size(probabilities.shape), probabilities.strides
        if noise.strides != strides or noise.shape != probabilities.shape or value.span.gaps:
            return None
        if value.span.start != 0 or value.elements != shape.numel():
            return None
        taken = tuple(
            Stored(each, each.span.start, shape, strides, None) for each in (probabilities, noise)
        )
        call = Rebuilt(rebuildable.dropped, taken, {}, None, 0, shape, strides)
        return Recipe(call, _fidelity(probabilities))


REFUSED = object()


def _serves(value: StoredValue, least: float) -> bool:
    if value.kept is not None or value.rebuilt is not None:
        return True
    return value.stored is not None and value.stored.codec.fidelity >= least


def _fidelity(value: StoredValue) -> float:
    if value.kept is not None:
        return 64.0
    if value.stored is not None:
        return value.stored.codec.fidelity
    assert value.rebuilt is not None
    return value.rebuilt.fidelity


def _same_elements(place: Place, value: StoredValue) -> bool:
    """Whether a place is all elements of a value, without gaps."""
    count = place.shape.numel()
    return not value.span.gaps and place.start == value.span.start and count == value.elements


def _autocast(result: torch.Tensor) -> torch.dtype | None:
    kind = result.device.type
    if not torch.amp.is_autocast_available(kind):  # meta
        return None
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None


def _has_tensor(values: Any) -> bool:
    return any(isinstance(each, torch.Tensor) for each in values)
