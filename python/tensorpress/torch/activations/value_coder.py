"""Storing a value as its requirement says, and bringing it back.

Only what is missing is added: signs beside values that are there, better values instead of worse.
"""

from __future__ import annotations

import functools
import math
import weakref
from typing import NamedTuple

import torch

from ..packing import pool_indices
from ..packing.backend import Backend
from ..packing.codecs import Quantize, Stored, TensorCodec
from ..policy.levels import KEEP
from ..policy.saved_by import Need
from .rebuilding import computed
from .report import Activation
from .requirements import EXACTLY, MASK, Requirement
from .stored_value import StoredValue

SAMPLE = 1 << 16  # values that an error or a sparsity is taken from, outside measured steps


class LastCopy(NamedTuple):
    of: weakref.ref[StoredValue]
    copy: torch.Tensor


class ValueCoder:
    """One for a run. `scratch` is the size of the largest copy that was made for backward."""

    def __init__(self, seed: int, backend: Backend) -> None:
        self.scratch = 0
        self._seed = seed
        self._backend = backend
        self._encodings = 0
        self._last: LastCopy | None = None
        self._zeros: dict[str, bool] = {}  # by name, on devices

    # ---- Storing ----------------------------------------------------------------------------

    def store(
        self, value: StoredValue, tensor: torch.Tensor, requirement: Requirement, record: Activation
    ) -> Requirement:
        """Adds what is required and missing; gives the requirement that was met."""
        if value.kept is not None:
            return EXACTLY
        if requirement is EXACTLY and value.is_empty:
            value.keep(tensor)
            record.codec, record.lossy, record.rebuilt = "keep", False, False
            return EXACTLY
        if requirement.need is not Need.SHAPE:
            dense = value.dense(tensor)
            if requirement.need is Need.VALUES:
                self._store_values(value, tensor, dense, requirement, record)
            if value.kept is None:
                self._store_exact(value, tensor, dense, requirement)
        record.codec = describe(value)
        record.lossy = value.stored is not None and not value.stored.codec.exact
        record.rebuilt = value.rebuilt is not None
        return requirement if value.kept is None else EXACTLY

    def _store_exact(
        self,
        value: StoredValue,
        tensor: torch.Tensor,
        dense: torch.Tensor,
        requirement: Requirement,
    ) -> None:
        packing = self._backend.packing_for(dense)
        if (requirement.need is Need.SIGN or requirement.sign) and Need.SIGN not in value.exact:
            value.exact[Need.SIGN] = packing.sign_pack(dense)
        if requirement.limits is not None and requirement.limits not in value.exact:
            low, high = requirement.limits
            value.exact[requirement.limits] = packing.sign_pack((dense > low) & (dense < high))
        if requirement.windows is not None and requirement.windows not in value.exact:
            packed = pool_indices.pack(dense, requirement.windows, value.channels_last)
            if packed is None:
                value.keep(tensor)
            else:
                value.exact[requirement.windows] = packed

    def _store_values(
        self,
        value: StoredValue,
        tensor: torch.Tensor,
        dense: torch.Tensor,
        requirement: Requirement,
        record: Activation,
    ) -> None:
        wanted = MASK.fidelity if requirement.mask else requirement.codec.fidelity
        if value.stored is not None and value.stored.codec.fidelity >= wanted:
            return
        if value.rebuilt is not None and value.rebuilt.fidelity >= wanted:
            return
        before = 0 if value.stored is None else value.stored.held_bytes
        codec: TensorCodec = MASK
        stored = self._store(MASK, dense) if requirement.mask else None
        if stored is None:
            codec = requirement.codec
            stored = self._store(codec, dense) if codec != KEEP else None
        if stored is None:
            record.nonfinite += codec not in (KEEP, MASK)
            value.keep(tensor)
            record.bytes_lossy -= before
            return
        value.stored, value.rebuilt = stored, None
        if isinstance(codec, Quantize) and self._zeros_matter(dense, record.name):
            value.exact[Need.ZEROS] = stored.packing.sign_pack(dense == 0)
        record.bytes_lossy += stored.held_bytes - before

    def _zeros_matter(self, dense: torch.Tensor, name: str) -> bool:
        """A device has to wait for the answer: it is asked once a value, in the first step."""
        if self._backend.packing_for(dense).asks:
            return _zeros_among_both_signs(dense)
        if name not in self._zeros:
            self._zeros[name] = _zeros_among_both_signs(dense)
        return self._zeros[name]

    def _store(self, codec: TensorCodec, dense: torch.Tensor) -> Stored | None:
        self._encodings += 1
        seed = (self._seed * 0x9E3779B97F4A7C15 + self._encodings) % 2**64
        return codec.store(dense, seed, self._backend)

    # ---- Bringing back ----------------------------------------------------------------------

    def copy_of(self, value: StoredValue, requirement: Requirement) -> torch.Tensor:
        """All elements of the value, as far as the requirement needs them."""
        copy = self._any_copy_of(value, requirement)
        if requirement.need is Need.VALUES and requirement.limits is not None:
            inside = self._bits(value, requirement.limits, torch.bool)
            return _on_their_sides(copy, inside, *requirement.limits)
        return copy

    def _any_copy_of(self, value: StoredValue, requirement: Requirement) -> torch.Tensor:
        last, self._last = self._last, None  # freed before the next is made
        if last is not None and last.of() is value and requirement.need in (Need.SIGN, Need.VALUES):
            self._last = last if requirement.need is Need.VALUES else None
            return last.copy
        del last
        copy = self._decode(value, requirement)
        self.scratch = max(self.scratch, copy.untyped_storage().nbytes())
        return copy

    def _decode(self, value: StoredValue, requirement: Requirement) -> torch.Tensor:
        if requirement.need is Need.SIGN:
            return self._bits(value, Need.SIGN, value.dtype)
        if requirement.need is Need.INSIDE:
            assert requirement.limits is not None
            inside = self._bits(value, requirement.limits, torch.bool)
            between, outside = _representatives(*requirement.limits, value.dtype)
            copy = torch.full(inside.shape, outside, dtype=value.dtype, device=value.device)
            return copy.masked_fill_(inside, between)
        if requirement.windows is not None:
            packed = value.exact[requirement.windows]
            return pool_indices.unpack(
                packed, value.dense_shape, requirement.windows, value.channels_last
            )
        signs = value.exact.get(Need.SIGN) if value.exact else None
        if value.stored is None:
            return self._rebuilt(value, signs)
        copy = value.stored.values(signs)
        if value.exact and Need.ZEROS in value.exact:
            copy.masked_fill_(self._bits(value, Need.ZEROS, torch.bool), 0)
        if signs is not None:
            self._remember(value, copy)
        return copy

    def _rebuilt(self, value: StoredValue, signs: torch.Tensor | None) -> torch.Tensor:
        assert value.rebuilt is not None
        copy = computed(value.rebuilt, self._whole_copy).view(value.dense_shape)
        return copy if signs is None else self._backend.packing_for(copy).restore_signs(copy, signs)

    def _whole_copy(self, value: StoredValue) -> torch.Tensor:
        return self.copy_of(value, EXACTLY).view(-1)

    def _bits(self, value: StoredValue, key: object, dtype: torch.dtype) -> torch.Tensor:
        packed = value.exact[key]
        packing = self._backend.packing_for(packed)
        return packing.sign_unpack(packed, value.dense_shape, dtype)

    def _remember(self, value: StoredValue, copy: torch.Tensor) -> None:
        """The backward of a ReLU comes right after that of the function that its result went to,
        and is content with the same copy. Only inside a backward pass, whose end forgets it."""
        if torch._C._current_graph_task_id() == -1:
            return
        self._last = LastCopy(weakref.ref(value), copy)
        torch.autograd.Variable._execution_engine.queue_callback(self._forget)

    def _forget(self) -> None:
        self._last = None

    # ---- Quality ----------------------------------------------------------------------------

    def measure(
        self, value: StoredValue, tensor: torch.Tensor, record: Activation, everything: bool
    ) -> None:
        """Error and sparsity for the record, of all values or of some of them."""
        assert value.stored is not None
        if tensor.is_meta:
            return
        some, stored = value.dense(tensor), value.stored
        if not everything and some.numel() > SAMPLE and stored.codec.local:
            some = some.view(-1)[:SAMPLE]
            sample = self._store(stored.codec, some)
            if sample is None:
                return
            stored = sample
        copy = stored.values()
        difference = (copy.double() - some.double()).abs()
        norm = float(some.double().norm())
        record.error = float(difference.norm()) / (norm or 1.0)
        record.max_error = float(difference.max()) if difference.numel() else 0.0
        record.sparsity = float((some == 0).double().mean())


@functools.lru_cache(maxsize=256)
def _described(codec: TensorCodec) -> str:
    return codec.describe()


def describe(value: StoredValue) -> str:
    """'sign + quantize bits=4'"""
    if value.kept is not None:
        return "keep"
    parts = [_exact_form(key) for key in value.exact]
    if value.stored is not None:
        parts.append(_described(value.stored.codec))
    if value.rebuilt is not None:
        parts.append("rebuilt")
    return " + ".join(parts) or "shape"


def _representatives(low: float, high: float, dtype: torch.dtype) -> tuple[float, float]:
    """A number between two limits, and one that is not. The limits may be infinite, and a type with
    few bits may round them inwards."""
    most = torch.finfo(dtype).max
    between = 0.5 * max(low, -most) + 0.5 * min(high, most)
    return between, -math.inf if low > -math.inf else math.inf


def _on_their_sides(
    copy: torch.Tensor, inside: torch.Tensor, low: float, high: float
) -> torch.Tensor:
    """Values moved between two limits, or onto the limit beyond which they are."""
    margin = (high - low) * torch.finfo(copy.dtype).eps
    moved = copy.clamp(low + margin, high - margin)
    below = copy < (low + high) / 2
    moved.masked_fill_(below & ~inside, low)
    return moved.masked_fill_(~below & ~inside, high)


def _exact_form(key: object) -> str:
    if isinstance(key, pool_indices.Windows):
        return f"index in {key.kernel[0]}x{key.kernel[1]}"
    return str(key.value) if isinstance(key, Need) else "inside"


def _zeros_among_both_signs(dense: torch.Tensor) -> bool:
    """Whether zeros mean something and quantizing would move them: in groups of values above 0
    they stay by themselves, and single ones are values like others. Asks 512 values."""
    if dense.is_meta:
        return False
    step = max(1, dense.numel() // 512)
    count = (dense.numel() + step - 1) // step
    some = dense.as_strided((count,), (step,))
    zeros = count - int(torch.count_nonzero(some))
    return 20 * zeros >= count and bool((some < 0).any())
