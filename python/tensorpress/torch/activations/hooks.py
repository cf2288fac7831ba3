"""What autograd calls when it saves a tensor and when it wants it back."""

from __future__ import annotations

import time

import torch

from ..module_names import ModuleNames
from ..policy import saved_by
from ..policy.levels import KEEP
from ..policy.saved_by import Need
from .budget import Budget
from .checkpoint_inputs import CheckpointInputs
from .ledger import Ledger
from .local_shards import Shard, local_of
from .memory_errors import note_what_was_unpacked, ran_out_of_memory
from .origins import Rebuilding
from .report import Activation
from .requirements import EXACTLY, Requirement, Requirements
from .running_again import Hooks, pack_what_runs_again
from .stored_value import StoredValue, VersionCounter, has_plain_memory
from .value_coder import ValueCoder


class Handle:
    """What autograd holds instead of a tensor. A weight, and what has no plain memory, is held
    itself."""

    __slots__ = (
        "of_checkpoint",
        "of_loss",
        "requirement",
        "shape",
        "shard",
        "start",
        "strides",
        "value",
        "version",
        "weight",
    )

    def __init__(
        self,
        tensor: torch.Tensor,
        requirement: Requirement,
        value: StoredValue | None,
        call: saved_by.Call,
        shard: Shard | None = None,
        whole: torch.Tensor | None = None,
    ) -> None:
        weight = value is None
        self.requirement = requirement
        self.value = value
        self.shard = shard  # if the tensor is what this process holds of a DTensor
        self.weight = tensor.detach() if weight else None
        self.of_checkpoint = call is saved_by.CHECKPOINT
        self.of_loss = call.name in saved_by.AT_THE_END
        # What a checkpointed part takes may be packed later.
        kept = value is None or (value.kept is not None and not self.of_checkpoint)
        if whole is None:
            self.version = VersionCounter(tensor, held=kept)
        else:
            self.version = VersionCounter(whole, wrapper=True)
        if not weight:
            self.shape = tensor.shape
            self.strides = tensor.stride()
            self.start = tensor.storage_offset()

    def check_version(self) -> None:
        """Raises what autograd raises for a tensor that was changed after it was saved."""
        version = self.version
        if version.now != version.saved:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: {self._describe()} is at version {version.now}; expected "
                f"version {version.saved} instead. Hint: enable anomaly detection to find the "
                "operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True)."
            )

    def _describe(self) -> str:
        if self.weight is not None:
            return f"[{self.weight.type()} {list(self.weight.shape)}]"
        assert self.value is not None
        return f"[{self.value.dtype} {list(self.shape)}]"


class SavedTensorHooks:
    """The pair of torch.autograd.graph.saved_tensors_hooks for a run. With `measuring` errors and
    sparsities are taken of all values."""

    def __init__(
        self,
        modules: ModuleNames,
        requirements: Requirements,
        coder: ValueCoder,
        ledger: Ledger,
        budget: Budget | None,
    ) -> None:
        self.functions = saved_by.WatchedFunctions()
        self.measuring = False
        self._modules = modules
        self._requirements = requirements
        self._coder = coder
        self._ledger = ledger
        self._budget = budget
        self._weights: set[int] = set()
        self._packs_what_runs_again = requirements.policy.level.exact_forms
        self._checkpoint_inputs = CheckpointInputs(self.functions, self._store, requirements.notes)
        self._rebuilding = Rebuilding(ledger.values, self._outlives_step, requirements.policy.level)
        if self._rebuilding.wanted:
            self.functions.on_rebuildable = self._rebuilding.note

    def note_weights(self) -> None:
        model = self._modules.model
        tensors = (*model.parameters(), *model.buffers())
        self._weights = {
            tensor.untyped_storage()._cdata for tensor in tensors if tensor.layout is torch.strided
        }

    def pack(self, tensor: torch.Tensor) -> Handle | torch.Tensor:
        if torch.compiler.is_compiling():  # and traced into: see docs/guide/activations.md
            return tensor
        with torch._C.DisableTorchFunction():  # what runs here is not the model's
            return self._pack(tensor)

    def _pack(self, tensor: torch.Tensor) -> Handle:
        whole, shard = tensor, None
        plain = has_plain_memory(tensor)
        if not plain and not _is_parameter(tensor):
            found = local_of(tensor)
            if found is not None:
                tensor, shard = found
                plain = has_plain_memory(tensor)
        if not plain and not _is_parameter(tensor):
            self._requirements.note_type(tensor, self._modules.running.name)
        if not plain or self._is_weight(tensor):
            return Handle(whole, EXACTLY, None, saved_by.NO_CALL)
        self._checkpoint_inputs.settle()
        if self._ledger.step_begins():
            self._begin_step()
        call, running = self.functions.saving, self._modules.running
        name = self._modules.name_for(call.name or "value")
        value = self._ledger.value_of(tensor, name, whole)
        record = self._ledger.record_of(value, name)
        record.saves += 1
        rule = self._requirements.policy.rule_for(name, value.name, running)
        requirement = self._requirements.requirement_of(
            tensor, value.plain_bytes, call, name, rule, whole
        )
        if saved_by.is_outline_of_loss(call, value.is_empty) and requirement.codec != KEEP:
            requirement = Requirement(Need.SHAPE)
        roomy = self._budget is not None and self._budget.is_roomy
        by_level = rule is None and call is not saved_by.CHECKPOINT
        if by_level and shard is None and not roomy:
            self._rebuilding.consider(value, tensor, requirement, call)
        if self._budget is not None and rule is None and value.rebuilt is None:
            requirement = self._budget.requirement_within(value, requirement)
        if call is saved_by.CHECKPOINT and rule is None and requirement.codec != KEEP:
            if value.is_empty:
                self._checkpoint_inputs.wait(value, requirement, record)
            self._store(value, tensor, EXACTLY, record)
        else:
            requirement = self._store(value, tensor, requirement, record)
            if self._budget is not None:
                self._budget.has_stored(value)
        self._rebuilding.has_stored(value, tensor, requirement, call)
        if requirement.need is Need.VALUES:
            value.readers += 1
        if shard is None:
            return Handle(tensor, requirement, value, call)
        return Handle(tensor, requirement, value, call, shard=shard, whole=whole)

    def _store(
        self, value: StoredValue, tensor: torch.Tensor, requirement: Requirement, record: Activation
    ) -> Requirement:
        began = time.perf_counter()
        try:
            requirement = self._coder.store(value, tensor, requirement, record)
        except (MemoryError, RuntimeError) as error:
            if not ran_out_of_memory(error):
                raise
            requirement = self._keep(value, tensor, record)
        record.encode_seconds += time.perf_counter() - began
        self._ledger.update(value, record)
        if value.stored is not None and (record.error is None or self.measuring):
            self._measure(value, tensor, record)
        return requirement

    def _measure(self, value: StoredValue, tensor: torch.Tensor, record: Activation) -> None:
        """Takes memory for a copy; without that, there are no figures yet."""
        try:
            self._coder.measure(value, tensor, record, self.measuring)
        except (MemoryError, RuntimeError) as error:
            if not ran_out_of_memory(error):
                raise
        else:
            self._ledger.remember_quality(record)

    def _keep(self, value: StoredValue, tensor: torch.Tensor, record: Activation) -> Requirement:
        """Needs no memory, because the tensor is there."""
        value.keep(tensor)
        record.codec, record.lossy = "keep", False
        self._requirements.notes.setdefault(
            "there was no memory left to pack a tensor, which was kept as it is; take a smaller "
            "batch, or pack earlier tensors in fewer bits",
            value.name,
        )
        return EXACTLY

    def unpack(self, handle: Handle | torch.Tensor) -> torch.Tensor:
        if isinstance(handle, torch.Tensor):
            return handle
        handle.check_version()
        self._ledger.step_may_begin = True
        self._checkpoint_inputs.settle()
        if handle.weight is not None:
            return handle.weight
        assert handle.value is not None
        try:
            with torch._C.DisableTorchFunction():
                tensor = self._unpack(handle, handle.value)
        except (MemoryError, RuntimeError) as error:
            note_what_was_unpacked(error, handle.value)
            raise
        return tensor if handle.shard is None else handle.shard.wrap(tensor)

    def _unpack(self, handle: Handle, value: StoredValue) -> torch.Tensor:
        if handle.of_checkpoint and self._packs_what_runs_again:
            pack_what_runs_again(self.functions, Hooks(self.pack, self.unpack, _outline))
        if value.kept is not None:
            return value.view_of_kept(handle.shape, handle.strides, handle.start)
        if handle.requirement.need is Need.SHAPE:
            return _nothing_like(handle, value)
        began = time.perf_counter()
        copy = self._coder.copy_of(value, handle.requirement)
        if handle.of_loss:
            value.give_up(copy)
        record = self._ledger.records.get(value.name)
        if record is not None:
            record.decode_seconds += time.perf_counter() - began
        return value.view_of_copy(copy, handle.shape, handle.strides, handle.start)

    def _begin_step(self) -> None:
        if self._budget is not None:
            self._budget.end_step(self._ledger)
        self._ledger.begin_step()
        self._rebuilding.forget()
        self._coder.scratch = 0

    def _is_weight(self, tensor: torch.Tensor) -> bool:
        """A parameter or buffer, or one in another shape or type."""
        return tensor.untyped_storage()._cdata in self._weights or _is_parameter(tensor)

    def _outlives_step(self, tensor: torch.Tensor) -> bool:
        """A weight, but no leaf that only this step has: the inputs of a part that runs again."""
        leaf = tensor.grad_fn is None and not isinstance(tensor, torch.nn.Parameter)
        if leaf:
            return tensor.untyped_storage()._cdata in self._weights
        return self._is_weight(tensor)


def _outline(handle: Handle | torch.Tensor) -> torch.Tensor:
    """A tensor of the same shape, type and device, and of other values."""
    if isinstance(handle, torch.Tensor):
        return handle
    if handle.weight is not None:
        return handle.weight
    assert handle.value is not None
    tensor = _nothing_like(handle, handle.value)
    return tensor if handle.shard is None else handle.shard.wrap(tensor)


def _nothing_like(handle: Handle, value: StoredValue) -> torch.Tensor:
    one = torch.zeros((), dtype=value.dtype, device=value.device)
    return one.expand(handle.shape)


def _is_parameter(tensor: torch.Tensor) -> bool:
    """A parameter, or one in another shape or type."""
    made_by = tensor.grad_fn
    if made_by is None:
        # isinstance asks a metaclass for parameters, which takes a microsecond.
        own_type = type(tensor) is not torch.Tensor
        return tensor.requires_grad or (own_type and isinstance(tensor, torch.nn.Parameter))
    *_, origin = saved_by.origins(tensor)
    return type(origin) is _OF_LEAF and isinstance(origin.variable, torch.nn.Parameter)


_OF_LEAF = type(torch.zeros((), requires_grad=True).expand(1).grad_fn.next_functions[0][0])
