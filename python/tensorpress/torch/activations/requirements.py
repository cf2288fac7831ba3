"""What a function's backward requires of a value that it saves: from the function, the policy and
the tensor."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..packing import pool_indices
from ..packing.backend import NATIVE, Backend
from ..packing.codecs import DctChop, Mask, TensorCodec
from ..packing.pool_indices import Windows
from ..policy import saved_by
from ..policy.levels import KEEP, SMALL_PLANES
from ..policy.policy import Policy
from ..policy.saved_by import Call, Need
from .stored_value import Span, has_plain_memory

MASK = Mask()


class Requirement(NamedTuple):
    """What one function's backward needs of a value, and the codec for it."""

    need: Need
    codec: TensorCodec = KEEP
    limits: tuple[float, float] | None = None  # what is inside is needed, perhaps beside values
    windows: Windows | None = None
    sign: bool = False  # beside the values
    mask: bool = False  # if it is one; else the codec


EXACTLY = Requirement(Need.VALUES)


class Requirements:
    """Decides by a policy. `notes` are what users should know, and the value that was first."""

    def __init__(self, policy: Policy, backend: Backend = NATIVE) -> None:
        self.policy = policy
        self._backend = backend
        self._masks: dict[tuple[str, str], bool] = {}  # by names, on devices
        self.notes: dict[str, str] = {}
        self._inputs: list[StorageWeakRef] = []

    def inputs_are(self, args: Any, kwargs: Any) -> None:
        """What the model is called with, which the loop holds anyway."""
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        tensors = (leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        self._inputs = [
            StorageWeakRef(tensor.untyped_storage())
            for tensor in tensors
            if has_plain_memory(tensor)
        ]

    def note_type(self, tensor: torch.Tensor, module: str) -> None:
        """Remarks on a subclass of tensors that is kept because its memory is not its values."""
        if type(tensor) is not torch.Tensor:
            kind = type(tensor).__name__
            self.notes.setdefault(f"tensors of type {kind} are kept and not counted", module)

    def requirement_of(
        self,
        tensor: torch.Tensor,
        size: int,
        call: Call,
        name: str,
        rule: TensorCodec | None,
        whole: torch.Tensor,
    ) -> Requirement:
        """`size` is what the tensor takes as it is. `whole` is what the function saves, which is
        the tensor, or a DTensor that it is the local tensor of."""
        exact_forms = self.policy.level.exact_forms or rule is not None
        if size < self.policy.min_bytes or rule == KEEP or not exact_forms:
            return EXACTLY
        if not tensor.is_floating_point():
            self._note_workspace(tensor, call, name)
            return _requirement_of_whole_numbers(tensor, call, whole)
        if saved_by.is_log_sum(call, whole):
            return EXACTLY
        need, limits = saved_by.need_of(call, tensor), saved_by.limits_of(call)
        if need is not Need.VALUES:
            return Requirement(need, limits=limits)
        codec = rule or self._codec_of_level(tensor, size, call, whole)
        if not codec.takes(tensor):
            codec = self._instead_of(codec, tensor, name, rule)
        sign = call.name in saved_by.SMOOTH_BESIDE_ZERO
        mask = self._may_be_mask(tensor, call, whole, name)
        return Requirement(Need.VALUES, codec, limits=limits, sign=sign, mask=mask)

    def _may_be_mask(
        self, tensor: torch.Tensor, call: Call, whole: torch.Tensor, name: str
    ) -> bool:
        """Whether some of the values are 0 or one other: dropout's noise, an attention mask. A
        device has to wait for the answer: it is asked once a value, in the first step."""
        if whole.grad_fn is not None or not MASK.takes(tensor):
            return False
        if "dropout" in call.name:
            return True
        if tensor.is_meta:
            return False
        if self._backend.packing_for(tensor).asks:
            return _has_two_values(tensor)
        key = (name, call.name)
        if key not in self._masks:
            self._masks[key] = _has_two_values(tensor)
        return self._masks[key]

    def _codec_of_level(
        self, tensor: torch.Tensor, size: int, call: Call, whole: torch.Tensor
    ) -> TensorCodec:
        if _is_flat(whole, call) and size <= self.policy.exact_2d_bytes:
            return KEEP
        if saved_by.is_weight(call, whole):
            return KEEP
        if self._is_input(tensor, whole) or _is_constant_of_checkpoint(whole, call):
            return KEEP
        if saved_by.is_multiplied_in_attention(call, tensor):
            return self.policy.level.multiplied
        return KEEP if saved_by.is_singular(call) else self.policy.codec_for(call.name)

    def _note_workspace(self, tensor: torch.Tensor, call: Call, name: str) -> None:
        if tensor.dtype == torch.uint8 and call.name == "lstm" and tensor.device.type == "cpu":
            self.notes.setdefault(
                "oneDNN's workspace of an LSTM is kept as it is: run forward and backward inside "
                "torch.backends.mkldnn.flags(enabled=False), where there is none",
                name,
            )

    def _is_input(self, tensor: torch.Tensor, whole: torch.Tensor) -> bool:
        """The batch or a view of it: a copy would be on top of it."""
        storage = tensor.untyped_storage()._cdata
        return whole.grad_fn is None and any(each.cdata == storage for each in self._inputs)

    def _instead_of(
        self, codec: TensorCodec, tensor: torch.Tensor, name: str, rule: TensorCodec | None
    ) -> TensorCodec:
        if isinstance(codec, DctChop) and SMALL_PLANES.takes(tensor):
            return SMALL_PLANES
        what = f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device.type}"
        advice = "convert the model with .float(), or use codec dense on the CPU, or keep"
        if rule is not None:
            raise TypeError(f"{name} is {what}, which codec {codec.name} does not take; {advice}")
        self.notes.setdefault(f"values of {what} are kept as they are: {advice}", name)
        return KEEP


def _is_flat(tensor: torch.Tensor, call: Call) -> bool:
    """Features for the last layers. A linear layer flattens (batch, token, feature), which are no
    last features."""
    base = tensor._base if tensor._is_view() else tensor
    tokens = base is not None and base.dim() == 3
    return tensor.dim() <= 2 and not tokens and call.name not in saved_by.BY_ROWS


def _is_constant_of_checkpoint(tensor: torch.Tensor, call: Call) -> bool:
    """Positions, masks and the like, which all parts of a network share."""
    return call is saved_by.CHECKPOINT and tensor.grad_fn is None


def _requirement_of_whole_numbers(
    tensor: torch.Tensor, call: Call, whole: torch.Tensor
) -> Requirement:
    if tensor.dtype == torch.bool:
        return Requirement(Need.VALUES, mask=True)
    if tensor.shape != whole.shape:  # indices count in planes of the whole
        return EXACTLY
    windows = saved_by.windows_of(call) if tensor.dtype == torch.int64 else None
    on_cpu = tensor.device.type in ("cpu", "meta") and pool_indices.has_planes(tensor)
    return Requirement(Need.WINDOW, windows=windows) if windows and on_cpu else EXACTLY


def _has_two_values(tensor: torch.Tensor) -> bool:
    """Of the first few, of which one is 0."""
    span = Span.of(tensor)
    some = tensor.detach().as_strided((min(64, span.stop - span.start),), (1,))
    zeros = some.numel() - int(torch.count_nonzero(some))
    return zeros > 0 and some.unique().numel() == 2
