"""Training with compressed activations: one line around the forward pass, or around the loop.

    with tensorpress.torch.compress_activations(model, "balanced") as run:
        for images, labels in loader:
            loss = criterion(model(images), labels)
            loss.backward()
            ...
    print(run.report())

Built on torch.autograd.graph.saved_tensors_hooks. What autograd saves is stored as its backward
needs it (saved_by.py), once for each value (stored_value.py), with the codec that the policy says
(plan.py). docs/guide/activations.md tells users what to expect.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch.autograd.graph import saved_tensors_hooks

from . import pool_indices, saved_by
from .activation_report import Activation, ActivationReport, Peak, megabytes
from .budget import Choice, Observed, choose, parse_bytes
from .module_names import ModuleNames
from .peak_memory import measured_peak
from .plan import EIGHT, KEEP, LEVELS, Plan
from .saved_by import Call, Need
from .stored_value import Span, StoredValue, ValueTable, VersionCounter
from .tensor_codecs import DctChop, Mask, Quantize, TensorCodec, packing_for

MASK = Mask()
SAMPLE = 1 << 16  # values that an error or a sparsity is taken from, outside measured steps
# What only gives parameters another shape or type, such as autocast does.
OF_PARAMETERS = ("ToCopy", "T", "Transpose", "Permute", "View", "UnsafeView", "Reshape", "Clone")


def compress_activations(
    model: torch.nn.Module,
    policy: Any = None,
    *,
    budget: int | str | None = None,
    seed: int = 0,
    portable: bool = False,
) -> CompressedActivations:
    """Stores what autograd saves in fewer bytes, from entering `with` to leaving it.

    policy:    off, lossless, safe (8 bits), balanced (4 bits, the default) or max (2 bits), or a
               plan: a dict, JSON or the path of a JSON file (docs/plan.md)
    budget:    bytes that may be held between forward and backward, such as "2GiB": the first step
               shows the sizes, then every activation gets as many bits as fit. With a policy, no
               more than it says.
    seed:      of stochastic rounding
    portable:  pack with PyTorch's own operations, as on devices other than the CPU

    Only forward has to run inside; backward may run inside or after. The run that `with` gives has
    report() and measure().

    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 8, 3))
    >>> with compress_activations(model, "balanced") as run:
    ...     model(torch.randn(8, 3, 32, 32)).sum().backward()
    >>> run.report().ratio > 3
    True
    """
    limit = None if budget is None else parse_bytes(budget)
    return CompressedActivations(model, policy, limit, seed=seed, portable=portable)


class Wish(NamedTuple):
    """What one function's backward asks of a value."""

    need: Need
    codec: TensorCodec = KEEP
    limits: tuple[float, float] | None = None
    windows: pool_indices.Windows | None = None
    sign: bool = False  # beside the values


EXACTLY = Wish(Need.VALUES)


class Handle:
    """What autograd holds instead of a tensor. A weight is held itself."""

    __slots__ = ("shape", "start", "strides", "value", "version", "weight", "wish")

    def __init__(
        self, tensor: torch.Tensor, wish: Wish, value: StoredValue | None, weight: bool = False
    ) -> None:
        self.wish = wish
        self.value = value
        self.weight = tensor.detach() if weight else None
        self.version = VersionCounter(tensor)
        if not weight:
            self.shape = tensor.shape
            self.strides = tensor.stride()
            self.start = tensor.storage_offset()


class LastCopy(NamedTuple):
    of: weakref.ref[StoredValue]
    copy: torch.Tensor


class CompressedActivations:
    """A run of compress_activations: entered by `with`, asked for reports."""

    def __init__(
        self, model: torch.nn.Module, policy: Any, budget: int | None, *, seed: int, portable: bool
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"model is a {type(model).__name__}, not a torch.nn.Module")
        self.plan = Plan.read("balanced" if policy is None else policy)
        self._budget = budget
        self._best = math.inf if policy is None else self.plan.level.linear.fidelity
        if budget is not None:
            self.plan = dataclasses.replace(self.plan, level=LEVELS["max"])
        self._observed: dict[str, Observed] = {}
        self._choice: Choice | None = None
        self.plan.check(model)
        self._seed = int(seed)
        self._portable = portable
        self._modules = ModuleNames(model, self._forward_begins)
        self._functions = saved_by.WatchedFunctions()
        self._table = ValueTable()
        self._weights: set[int] = set()
        self._inputs: list[weakref.ref[torch.Tensor]] = []
        self._stack: contextlib.ExitStack | None = None
        self._last: LastCopy | None = None
        self._measuring = False
        self._peak: Peak | None = None
        self._quality: dict[str, tuple[float | None, float | None, float | None]] = {}
        self._notes: dict[str, str] = {}  # and where it happened first
        self._held = 0
        self._encodings = 0
        self._steps = 0
        self._begin_step()

    # ---- Entering and leaving ---------------------------------------------------------------

    def __enter__(self) -> CompressedActivations:
        if self._stack is not None:
            raise RuntimeError("this run has been entered already; make another for a second one")
        with contextlib.ExitStack() as stack:
            stack.callback(self._modules.detach)
            self._modules.attach()
            self._note_weights()
            stack.enter_context(self._functions)
            stack.enter_context(saved_tensors_hooks(self._pack, self._unpack))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()

    def _forward_begins(self, args: Any, kwargs: Any) -> None:
        if self._held == 0:
            self._begin_step()
        self._note_weights()
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        self._inputs = [weakref.ref(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def _begin_step(self) -> None:
        if getattr(self, "_records", None):
            self._steps += 1
            self._choose_for_budget()
        self._observed = {}
        self._records: dict[str, Activation] = {}
        self._saved = self._most_held = self._scratch = 0

    def _choose_for_budget(self) -> None:
        """From the sizes of the step that is over; again if a later one holds more."""
        if self._budget is None or (self._choice and self._most_held <= self._budget):
            return
        lossy = sum(
            record.bytes_lossy for name, record in self._records.items() if name in self._observed
        )
        fixed = self._most_held - lossy
        self._choice = choose(self._observed, fixed, self._budget, self._best)
        if self._choice.bytes > self._budget:
            message = (
                f"the budget of {megabytes(self._budget)} cannot be reached: the least that this "
                f"model and batch take is {megabytes(self._choice.bytes)}; use a smaller batch"
            )
            if message not in self._notes:
                warnings.warn(message, RuntimeWarning, stacklevel=2)
            self._notes[message] = ""

    def _note_weights(self) -> None:
        model = self._modules.model
        tensors = (*model.parameters(), *model.buffers())
        self._weights = {
            tensor.untyped_storage()._cdata for tensor in tensors if tensor.layout is torch.strided
        }

    # ---- Saving -----------------------------------------------------------------------------

    def _pack(self, tensor: torch.Tensor) -> Handle:
        if tensor.layout is not torch.strided or tensor.is_meta or self._is_weight(tensor):
            return Handle(tensor, EXACTLY, None, weight=True)
        call, running = self._functions.call, self._modules.running
        name = self._modules.name_for(call.name or "value")
        span = Span.of(tensor)
        value = self._table.find(tensor, span)
        if value is None:
            value = self._new_value(tensor, span, name)
        record = self._record_of(value, name)
        record.saves += 1
        wish = self._wish_for(tensor, call, name, self.plan.rule_for(name, running))
        if self._budget is not None:
            wish = self._within_budget(value, wish, self.plan.rule_for(name, running))
        began, before = time.perf_counter(), value.held
        wish = self._store(value, tensor, wish, record)
        record.encode_seconds += time.perf_counter() - began
        value.held = value.bytes_now()
        record.bytes_after += value.held - before
        self._held += value.held - before
        self._most_held = max(self._most_held, self._held)
        if value.codec is not None and (record.error is None or self._measuring):
            self._measure_quality(value, value.dense(tensor), record)
        return Handle(tensor, wish, value)

    def _is_weight(self, tensor: torch.Tensor) -> bool:
        """A parameter or buffer, or one in another shape or type."""
        if isinstance(tensor, torch.nn.Parameter) or (tensor.is_leaf and tensor.requires_grad):
            return True
        if tensor.untyped_storage()._cdata in self._weights:
            return True
        node = tensor.grad_fn
        while node is not None and node.name().removesuffix("Backward0") in OF_PARAMETERS:
            node = node.next_functions[0][0]
            if node is not None and node.name() == "torch::autograd::AccumulateGrad":
                return isinstance(node.variable, torch.nn.Parameter)
        return False

    def _new_value(self, tensor: torch.Tensor, span: Span, name: str) -> StoredValue:
        value = StoredValue(tensor, span, self._freed)
        value.name = name
        known = self._table.of_storage(tensor)
        size = tensor.numel() if span.gaps else value.elements
        before = 0 if any(_overlap(value, other) for other in known) else size * value.dtype.itemsize
        self._saved += before
        record = self._record_of(value, name)
        record.bytes_before += before
        self._table.add(tensor, value)
        return value

    def _record_of(self, value: StoredValue, name: str) -> Activation:
        record = self._records.get(value.name)
        if record is None:
            dtype = str(value.dtype).removeprefix("torch.")
            record = Activation(value.name, value.shape, dtype)
            quality = self._quality.get(value.name, (None, None, None))
            record.error, record.max_error, record.sparsity = quality
            self._records[value.name] = record
        if name not in record.saved_by:
            record.saved_by.append(name)
        return record

    def _wish_for(
        self, tensor: torch.Tensor, call: Call, name: str, rule: TensorCodec | None
    ) -> Wish:
        exact_forms = self.plan.level.exact_forms or rule is not None
        small = tensor.numel() * tensor.element_size() < self.plan.min_bytes
        if small or rule == KEEP or not exact_forms:
            return EXACTLY
        if not tensor.is_floating_point():
            if tensor.dtype == torch.bool:
                return Wish(Need.VALUES, MASK)
            windows = pool_indices.windows_of(call) if tensor.dtype == torch.int64 else None
            on_cpu = tensor.device.type == "cpu" and tensor.is_contiguous()
            return Wish(Need.WINDOW, windows=windows) if windows and on_cpu else EXACTLY
        need = saved_by.need_of(call, tensor)
        if need is not Need.VALUES:
            return Wish(need, limits=saved_by.limits_of(call))
        if self._may_be_mask(tensor):
            return Wish(Need.VALUES, MASK)
        codec = rule or self._codec_of_level(tensor, call)
        if not codec.takes(tensor):
            codec = self._instead_of(codec, tensor, name, rule)
        return Wish(Need.VALUES, codec, sign=call.name in saved_by.SMOOTH_BESIDE_ZERO)

    def _within_budget(
        self, value: StoredValue, wish: Wish, rule: TensorCodec | None
    ) -> Wish:
        """Values that the level would quantize are stored as the budget allows."""
        if rule is not None or wish.need is not Need.VALUES or not isinstance(wish.codec, Quantize):
            return wish
        seen = self._observed.get(value.name)
        if seen is None or value.codec is None and value.kept is None:
            elements = value.elements + (seen.elements if seen else 0)
            floor = wish.codec if seen is None else max(seen.floor, wish.codec, key=_fidelity)
            self._observed[value.name] = Observed(elements, value.dtype, floor)
        if self._choice is None or value.name not in self._choice.codecs:
            return wish
        return wish._replace(codec=self._choice.codecs[value.name])

    def _codec_of_level(self, tensor: torch.Tensor, call: Call) -> TensorCodec:
        size = tensor.numel() * tensor.element_size()
        # A linear layer flattens (batch, token, feature), which are no last features.
        base = tensor._base if tensor._is_view() else tensor
        flat = tensor.dim() <= 2 and (base is None or base.dim() != 3)
        if flat and size <= self.plan.exact_2d_bytes:
            return KEEP
        # The loop holds the batch anyway: a copy would be on top of it.
        if tensor.grad_fn is None and any(each() is tensor for each in self._inputs):
            return KEEP
        return self.plan.codec_for(call.name)

    def _may_be_mask(self, tensor: torch.Tensor) -> bool:
        """Whether 64 of the values are 0 or one other: dropout's noise, an attention mask."""
        if tensor.grad_fn is not None or tensor.device.type == "meta":
            return False
        flat = tensor.detach().as_strided((min(64, tensor.numel()),), (1,))
        return flat.unique().numel() == 2 and bool((flat == 0).any())

    def _instead_of(
        self, codec: TensorCodec, tensor: torch.Tensor, name: str, rule: TensorCodec | None
    ) -> TensorCodec:
        if isinstance(codec, DctChop) and EIGHT.takes(tensor):
            return EIGHT  # maps too small for it
        if codec == MASK and EIGHT.takes(tensor):
            return EIGHT
        what = f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device.type}"
        advice = "convert the model with .float(), or use codec dense on the CPU, or keep"
        if rule is not None:
            raise TypeError(f"{name} is {what}, which codec {codec.name} does not take; {advice}")
        self._notes.setdefault(f"values of {what} are kept as they are: {advice}", name)
        return KEEP

    def _store(
        self, value: StoredValue, tensor: torch.Tensor, wish: Wish, record: Activation
    ) -> Wish:
        """Adds to the value what the wish lacks; the wish that was fulfilled."""
        if value.kept is not None:
            return EXACTLY
        if wish.need is Need.SHAPE:
            return wish
        dense = value.dense(tensor)
        packing = packing_for(dense, self._portable)
        if wish.need is Need.SIGN or wish.sign:
            if Need.SIGN not in value.exact:
                value.exact[Need.SIGN] = packing.sign_pack(dense)
        if wish.need is Need.INSIDE:
            assert wish.limits is not None
            if wish.limits not in value.exact:
                low, high = wish.limits
                value.exact[wish.limits] = packing.sign_pack((dense > low) & (dense < high))
        if wish.need is Need.WINDOW and wish.windows not in value.exact:
            assert wish.windows is not None
            packed = pool_indices.pack(dense, wish.windows)
            if packed is None:
                value.keep(tensor)
            else:
                value.exact[wish.windows] = packed
        if wish.need is Need.VALUES:
            self._store_values(value, tensor, dense, wish.codec, record)
        record.codec = _described(value)
        return wish if value.kept is None else EXACTLY

    def _store_values(
        self,
        value: StoredValue,
        tensor: torch.Tensor,
        dense: torch.Tensor,
        codec: TensorCodec,
        record: Activation,
    ) -> None:
        if value.codec is not None and value.codec.fidelity >= codec.fidelity:
            return
        payload = None
        if codec != KEEP:
            self._encodings += 1
            payload = codec.encode(dense, self._seed_now(), self._portable)
            if payload is None and codec == MASK:  # not a mask after all
                codec = self._codec_of_level(tensor, self._functions.call)
                if codec != KEEP and codec.takes(tensor):
                    payload = codec.encode(dense, self._seed_now(), self._portable)
        if payload is None:
            if codec != KEEP:
                record.nonfinite += 1
            value.keep(tensor)
            record.bytes_lossy += value.bytes_now()
            return
        value.codec, value.payload = codec, payload
        if isinstance(codec, Quantize) and _zeros_among_both_signs(dense):
            value.exact[Need.ZEROS] = packing_for(dense, self._portable).sign_pack(dense == 0)
        record.bytes_lossy += sum(part.untyped_storage().nbytes() for part in payload)

    def _seed_now(self) -> int:
        return (self._seed * 0x9E3779B97F4A7C15 + self._encodings) % 2**64

    def _measure_quality(
        self, value: StoredValue, dense: torch.Tensor, record: Activation
    ) -> None:
        """Of all values in a measured step; otherwise, the first time, of some of them."""
        assert value.codec is not None
        flat = dense.reshape(-1)
        if self._measuring or flat.numel() <= SAMPLE or not value.codec.local:
            some = dense
            copy = value.codec.decode(
                value.payload, value.dense_shape, value.dtype, None, self._portable
            )
        else:
            some = flat[:SAMPLE]
            payload = value.codec.encode(some, self._seed_now(), self._portable)
            if payload is None:
                return
            copy = value.codec.decode(payload, some.shape, value.dtype, None, self._portable)
        if some.dtype == torch.bool:
            record.error = record.max_error = 0.0
        else:
            difference = (copy.double() - some.double()).abs()
            norm = some.double().norm()
            record.error = float(difference.norm() / norm) if norm > 0 else float(difference.norm())
            record.max_error = float(difference.max()) if difference.numel() else 0.0
        record.sparsity = float((some == 0).double().mean())
        self._quality[record.name] = (record.error, record.max_error, record.sparsity)

    def _freed(self, held: int) -> None:
        self._held -= held

    # ---- Bringing back ----------------------------------------------------------------------

    def _unpack(self, handle: Handle) -> torch.Tensor:
        version = handle.version
        if version.now != version.saved:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: {_text_of(handle)} is at version {version.now}; expected "
                f"version {version.saved} instead. Hint: enable anomaly detection to find the "
                "operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True)."
            )
        if handle.weight is not None:
            return handle.weight
        value = handle.value
        assert value is not None
        if value.kept is not None:
            return value.view_of_kept(handle.shape, handle.strides, handle.start)
        began = time.perf_counter()
        copy = self._decoded(value, handle)
        record = self._records.get(value.name)
        if record is not None:
            record.decode_seconds += time.perf_counter() - began
        return copy

    def _decoded(self, value: StoredValue, handle: Handle) -> torch.Tensor:
        need = handle.wish.need
        if need is Need.SHAPE:
            one = torch.zeros((), dtype=value.dtype, device=value.device)
            return one.expand(handle.shape)
        last, self._last = self._last, None  # freed before the next is made
        if last is not None and last.of() is value and need in (Need.SIGN, Need.VALUES):
            self._last = last if need is Need.VALUES else None
            return value.view_of_copy(last.copy, handle.shape, handle.strides, handle.start)
        del last
        if need is Need.SIGN:
            bits = value.exact[Need.SIGN]
            copy = packing_for(bits, self._portable).sign_unpack(bits, value.dense_shape, value.dtype)
        elif need is Need.INSIDE:
            low, high = handle.wish.limits or (0.0, 0.0)
            bits = value.exact[handle.wish.limits]
            copy = packing_for(bits, self._portable).sign_unpack(bits, value.dense_shape, value.dtype)
            copy = copy.mul_(0.5 * (high - low)).add_(low)
        elif need is Need.WINDOW:
            windows = handle.wish.windows
            assert windows is not None
            copy = pool_indices.unpack(value.exact[windows], value.dense_shape, windows)
        else:
            assert value.codec is not None
            signs = value.exact.get(Need.SIGN)
            copy = value.codec.decode(
                value.payload, value.dense_shape, value.dtype, signs, self._portable
            )
            if Need.ZEROS in value.exact:
                bits = value.exact[Need.ZEROS]
                packing = packing_for(bits, self._portable)
                copy.masked_fill_(packing.sign_unpack(bits, value.dense_shape, torch.bool), 0)
            if signs is not None:
                self._remember(value, copy)
        self._scratch = max(self._scratch, copy.untyped_storage().nbytes())
        return value.view_of_copy(copy, handle.shape, handle.strides, handle.start)

    def _remember(self, value: StoredValue, copy: torch.Tensor) -> None:
        """The backward of a ReLU comes right after that of the function that its result went to,
        and is content with the same copy. Only inside a backward pass, whose end forgets it."""
        if torch._C._current_graph_task_id() == -1:
            return
        self._last = LastCopy(weakref.ref(value), copy)
        torch.autograd.Variable._execution_engine.queue_callback(self._forget)

    def _forget(self) -> None:
        self._last = None

    @property
    def held_bytes(self) -> int:
        """What is stored for backward at this moment."""
        return self._held

    # ---- Reporting --------------------------------------------------------------------------

    @contextlib.contextmanager
    def measure(self, quality: bool = False) -> Iterator[None]:
        """Around one whole step: PyTorch's profiler counts what it allocates, for the report.

        With quality=True errors and sparsities are taken of all values of the step instead of
        some; decoding them then takes memory and time that other steps do not.
        """
        self._measuring = quality
        try:
            with measured_peak(self._modules.model) as peaks:
                yield
        finally:
            self._measuring = False
        self._peak = peaks[0]

    def report(self) -> ActivationReport:
        """Of the last step: the forward passes since nothing was held any more."""
        records = list(self._records.values())
        return ActivationReport(
            policy=self.plan.level.name if self._budget is None else "budget",
            steps=self._steps + 1,
            saved_bytes=self._saved,
            stored_bytes=self._most_held,
            scratch_bytes=self._scratch,
            seconds=sum(record.seconds for record in records),
            activations=records,
            peak=self._peak,
            budget=self._budget,
            notes=self._all_notes(),
        )

    def _all_notes(self) -> list[str]:
        notes = [f"{note} (first: {name})" if name else note for note, name in self._notes.items()]
        return [*notes, f"the budget chose {self._choice.describe()}"] if self._choice else notes


def _fidelity(codec: TensorCodec) -> float:
    return codec.fidelity


def _overlap(one: StoredValue, other: StoredValue) -> bool:
    return one.span.start < other.span.stop and other.span.start < one.span.stop


def _described(value: StoredValue) -> str:
    if value.kept is not None:
        return "keep"
    parts = [_exact_form(key) for key in value.exact]
    if value.codec is not None:
        parts.append(value.codec.describe())
    return " + ".join(parts) or "shape"


def _exact_form(key: object) -> str:
    if isinstance(key, pool_indices.Windows):
        return f"index in {key.kernel[0]}x{key.kernel[1]}"
    return key.value if isinstance(key, Need) else "inside"


def _zeros_among_both_signs(dense: torch.Tensor) -> bool:
    """Whether zeros mean something and quantizing would move them: in groups of values above 0
    they stay by themselves, and single ones are values like others. Asks 512 values."""
    flat = dense.view(-1)
    some = flat[:: max(1, flat.numel() // 512)]
    zeros = int((some == 0).sum())
    return 20 * zeros >= some.numel() and bool((some < 0).any())


def _text_of(handle: Handle) -> str:
    if handle.weight is not None:
        return f"[{handle.weight.type()} {list(handle.weight.shape)}]"
    return f"[{handle.value.dtype} {list(handle.shape)}]"
