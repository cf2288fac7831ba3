"""One stored copy of every value that autograd saves, however often and through whatever views.

A value is a span of a storage at a version. `ValueTable` finds the copy that is already there by
weak references: to the storage, which keeps its identity (not its memory) from being reused as long
as the copy lives, and to the copy, which lives as long as autograd holds a handle. Addresses would
be wrong: once a saved tensor is freed, its address is given to another in the same forward.

`VersionCounter` keeps what PyTorch checks: that no saved tensor was changed in place.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..packing.codecs import Stored
from ..packing.pool_indices import is_channels_last
from .rebuilding import Recipe


def has_plain_memory(tensor: torch.Tensor) -> bool:
    """Whether a storage, an offset and strides say all values. They do not for sparse and nested
    tensors, for those that are to be read as conjugates or with the
    other sign, and for subclasses that compute in their own way, such as DTensor."""
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        return False
    if tensor.layout is not torch.strided or tensor.is_nested:
        return False
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return not (wrapped or tensor.is_conj() or tensor.is_neg())


class Place(NamedTuple):
    """Where a tensor's values are or were; the storage is not held."""

    storage: StorageWeakRef
    version: int
    dtype: torch.dtype
    start: int
    shape: torch.Size
    strides: tuple[int, ...]

    @classmethod
    def of(cls, tensor: torch.Tensor, storage: StorageWeakRef) -> Place:
        start, strides = tensor.storage_offset(), tensor.stride()
        return cls(storage, tensor._version, tensor.dtype, start, tensor.shape, strides)


class Span(NamedTuple):
    """The elements of a storage that a tensor reaches, from the first to the last."""

    start: int
    stop: int
    gaps: bool  # the span holds more elements than the tensor

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Span:
        start, count = tensor.storage_offset(), tensor.numel()
        if count == 0 or tensor.is_contiguous():
            return cls(start, start + count, False)
        return cls.at(start, tensor.shape, tensor.stride())

    @classmethod
    def at(cls, start: int, shape: Sequence[int], strides: Sequence[int]) -> Span:
        count, reach = 1, 1
        for extent, step in zip(shape, strides, strict=True):
            count *= extent
            reach += (extent - 1) * step
        return cls(start, start + reach, reach > count) if count else cls(start, start, False)


class VersionCounter:
    """The version of a tensor, also after the tensor is gone: an empty alias shares its counter.
    With `wrapper` the tensor is one whose values are in another, such as a DTensor."""

    __slots__ = ("_alias", "saved")

    def __init__(self, tensor: torch.Tensor, wrapper: bool = False, held: bool = False) -> None:
        """`held`: the tensor's memory is held anyway, and may be no plain memory."""
        if wrapper:  # an alias of the wrapper alone, not of what is inside
            with torch._C._ExcludeDispatchKeyGuard(_PYTHON), torch.no_grad():
                self._alias = tensor.detach()
        else:
            self._alias = tensor.detach()
        if not held:
            self._alias.data = _nothing(tensor.dtype, tensor.device)
        self.saved = self._alias._version

    @property
    def now(self) -> int:
        return self._alias._version


_PYTHON = torch._C.DispatchKeySet(torch._C.DispatchKey.Python)


@functools.cache
def _nothing(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.empty(0, dtype=dtype, device=device)


class StoredValue:
    """What is held of one value: itself (`kept`), or packed (`stored`), or how to compute it again
    (`rebuilt`), or only what is exact, or nothing.

    `held` are the bytes of that. `freed` is called when the last handle is gone.
    """

    def __init__(self, tensor: torch.Tensor, freed: Callable[[StoredValue], None]) -> None:
        self.storage = StorageWeakRef(tensor.untyped_storage())
        self.version = tensor._version
        self.wrapper: VersionCounter | None = None  # of the tensor around this one, if there is one
        self.span = Span.of(tensor)
        self.name = ""
        self.dtype = tensor.dtype
        self.device = tensor.device
        self.strides = tensor.stride()
        self.shape = tuple(tensor.shape)
        self.channels_last = is_channels_last(tensor)
        self.dense_shape = self._dense_shape(tensor)
        self.kept: torch.Tensor | None = None
        self.stored: Stored | None = None
        self.rebuilt: Recipe | None = None
        self.exact: dict[object, torch.Tensor] = {}  # what is packed without error, by what it is
        self.readers = 0  # functions whose backward asks for values
        self.held = 0
        self.counted = 0  # of what autograd would hold; storages that several values share once
        self._freed = freed

    def __del__(self) -> None:
        self._freed(self)

    def _dense_shape(self, tensor: torch.Tensor) -> tuple[int, ...]:
        """In the order of memory, which for channels_last is (N, H, W, C)."""
        if self.span.gaps or tensor.is_contiguous():
            return tuple(tensor.shape)
        if self.elements != tensor.numel():  # an expanded tensor
            return (self.elements,)
        axes = sorted(range(tensor.dim()), key=lambda axis: -tensor.stride(axis))
        ordered = tensor.permute(axes)
        return tuple(ordered.shape) if ordered.is_contiguous() else (self.elements,)

    @property
    def is_empty(self) -> bool:
        """Whether no function has needed anything of it yet but its shape."""
        return self.kept is None and self.stored is None and self.rebuilt is None and not self.exact

    @property
    def elements(self) -> int:
        """From the first to the last."""
        return self.span.stop - self.span.start

    @property
    def plain_bytes(self) -> int:
        """What the value takes as it is: gaps not counted, repeated elements once."""
        count = math.prod(self.shape) if self.span.gaps else self.elements
        return count * self.dtype.itemsize

    def covers(self, tensor: torch.Tensor, span: Span) -> bool:
        if self.version != tensor._version or self.dtype != tensor.dtype or self.storage.expired():
            return False
        return self.holds(span, tensor.shape, tensor.stride())

    def holds(self, span: Span, shape: Sequence[int], strides: Sequence[int]) -> bool:
        if self.span.gaps or span.gaps:
            same_shape = self.shape == tuple(shape) and self.strides == tuple(strides)
            return self.span == span and same_shape
        return self.span.start <= span.start and span.stop <= self.span.stop

    def is_in(self, whole: torch.Tensor, wrapped: bool) -> bool:
        """Whether a tensor has the value as it was stored, as far as wrappers know: changes in
        place through one count there, not in the tensor inside. Those through another wrapper of
        the same memory escape this, as they escape PyTorch's own check of the first one."""
        saved = 0
        if self.wrapper is not None:
            if self.wrapper.now != self.wrapper.saved:
                return False
            saved = self.wrapper.saved
        return not wrapped or whole._version in (0, saved)

    def dense(self, tensor: torch.Tensor) -> torch.Tensor:
        """All elements of the value in the order of memory, seen through a tensor that it covers.
        A copy only if there are gaps."""
        tensor = tensor.detach()
        if self.span.gaps:
            return tensor.contiguous()
        flat = tensor.as_strided((self.elements,), (1,), self.span.start)
        return flat.view(self.dense_shape)

    def view_of_copy(
        self, copy: torch.Tensor, shape: torch.Size, strides: tuple[int, ...], start: int
    ) -> torch.Tensor:
        """A covered tensor's elements in a copy of dense()."""
        if self.span.gaps:
            return copy.view(shape)
        return copy.as_strided(shape, strides, start - self.span.start)

    def keep(self, tensor: torch.Tensor) -> None:
        self.kept = tensor.detach()
        self.stored = self.rebuilt = None
        self.exact.clear()

    def give_up(self, copy: torch.Tensor) -> None:
        """Lets what is packed go for the copy that backward has asked for, which lives no longer if
        one function saved the value and nobody retains the graph. Backward begins with the loss,
        so at the peak of a language model these bytes would be on top."""
        in_order = self.span.start == 0 and not self.span.gaps
        if self.readers == 1 and self.stored is not None and not self.exact and in_order:
            self.kept, self.stored = copy, None

    def view_of_kept(self, shape: torch.Size, strides: tuple[int, ...], start: int) -> torch.Tensor:
        assert self.kept is not None
        return self.kept.as_strided(shape, strides, start)

    def bytes_now(self) -> int:
        if self.kept is not None:
            return self.plain_bytes
        exact = sum(part.untyped_storage().nbytes() for part in self.exact.values())
        return exact if self.stored is None else exact + self.stored.held_bytes


class ValueTable:
    """The stored values of storages that are still there."""

    def __init__(self) -> None:
        self._of_storage: dict[int, list[weakref.ref[StoredValue]]] = {}

    def of_storage(self, tensor: torch.Tensor) -> list[StoredValue]:
        """All values of the tensor's storage, of whatever version and span."""
        references = self._of_storage.get(tensor.untyped_storage()._cdata, ())
        values = (reference() for reference in references)
        return [value for value in values if value is not None and not value.storage.expired()]

    def find(self, tensor: torch.Tensor, whole: torch.Tensor) -> StoredValue | None:
        """`whole` is the tensor, or what wraps it."""
        span = Span.of(tensor)
        for value in self.of_storage(tensor):
            if value.covers(tensor, span) and value.is_in(whole, whole is not tensor):
                return value
        return None

    def find_place(self, place: Place) -> StoredValue | None:
        """The value that covers a place, whose storage may be gone."""
        span = Span.at(place.start, place.shape, place.strides)
        for reference in self._of_storage.get(place.storage.cdata, ()):
            value = reference()
            if value is None or value.version != place.version or value.dtype != place.dtype:
                continue
            if value.holds(span, place.shape, place.strides):
                return value
        return None

    def add(self, tensor: torch.Tensor, value: StoredValue) -> None:
        key = tensor.untyped_storage()._cdata

        def forget(reference: weakref.ref[StoredValue]) -> None:
            others = [other for other in self._of_storage.get(key, ()) if other is not reference]
            if others:
                self._of_storage[key] = others
            else:
                self._of_storage.pop(key, None)

        self._of_storage.setdefault(key, []).append(weakref.ref(value, forget))
