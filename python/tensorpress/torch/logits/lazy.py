"""Logits that are not computed until something other than a cross entropy asks for them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F

from .function import linear_cross_entropy


class LazyLogits:
    """What a head gives instead of logits (..., classes): the hidden states and the layer.

    Shapes, types and slices of rows stay lazy, and F.cross_entropy of a matrix and labels is
    computed in slices. Everything else computes all logits, with a warning, and goes on with them,
    so that results are always those of the logits.
    """

    def __init__(
        self,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        dtype: torch.dtype,
        *,
        z_loss: float = 0.0,
        slice_bytes: int | None = None,
    ) -> None:
        self.hidden = hidden
        self.weight = weight
        self.bias = bias
        self.dtype = dtype
        self.z_loss = z_loss
        self.slice_bytes = slice_bytes

    # ---- What stays lazy --------------------------------------------------------------------

    @property
    def shape(self) -> torch.Size:
        return torch.Size((*self.hidden.shape[:-1], self.weight.shape[0]))

    @property
    def device(self) -> torch.device:
        return self.hidden.device

    @property
    def ndim(self) -> int:
        return self.hidden.dim()

    @property
    def requires_grad(self) -> bool:
        return self.hidden.requires_grad or self.weight.requires_grad

    def dim(self) -> int:
        return self.hidden.dim()

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def float(self) -> LazyLogits:
        return self._with(self.hidden, torch.float32)

    def contiguous(self) -> LazyLogits:
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Another type, or the device where it is."""
        if len(args) == 1 and not kwargs:
            if isinstance(args[0], torch.dtype) and args[0].is_floating_point:
                return self._with(self.hidden, args[0])
            if isinstance(args[0], (str, torch.device)) and torch.device(args[0]) == self.device:
                return self
        return self.full("to").to(*args, **kwargs)

    def view(self, *shape: Any) -> Any:
        return self._reshaped("view", shape)

    def reshape(self, *shape: Any) -> Any:
        return self._reshaped("reshape", shape)

    def _reshaped(self, name: str, shape: tuple[Any, ...]) -> Any:
        sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if sizes and sizes[-1] == self.weight.shape[0]:
            return self._with(self.hidden.reshape(*sizes[:-1], self.hidden.shape[-1]))
        return getattr(self.full(name), name)(*shape)

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Any:
        last = end_dim % self.dim()
        if last < self.dim() - 1:
            return self._with(self.hidden.flatten(start_dim, last))
        return self.full("flatten").flatten(start_dim, end_dim)

    def __getitem__(self, index: Any) -> Any:
        rows = _index_of_rows(index, self.dim())
        return self.full("[]")[index] if rows is None else self._with(self.hidden[rows])

    def _with(self, hidden: torch.Tensor, dtype: torch.dtype | None = None) -> LazyLogits:
        return LazyLogits(
            hidden,
            self.weight,
            self.bias,
            dtype or self.dtype,
            z_loss=self.z_loss,
            slice_bytes=self.slice_bytes,
        )

    # ---- What does not ----------------------------------------------------------------------

    def full(self, why: str | None = None) -> torch.Tensor:
        """All logits. `why` is what asks for them, for the warning."""
        if why is not None:
            warnings.warn(
                f"all logits are computed, because '{why}' is applied to them; fuse_logits spares "
                "them only for torch.nn.functional.cross_entropy(logits.view(-1, classes), labels)",
                stacklevel=3,
            )
        return F.linear(self.hidden, self.weight, self.bias).to(self.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "hidden" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.full(name), name)

    def __len__(self) -> int:
        return len(self.hidden)

    def __repr__(self) -> str:
        return f"LazyLogits{tuple(self.shape)}"

    @classmethod
    def __torch_function__(
        cls,
        function: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if function is F.cross_entropy:
            loss = _sliced_loss(*args, **kwargs)
            if loss is not None:
                return loss
        name = getattr(function, "__name__", str(function))
        leaves, form = torch.utils._pytree.tree_flatten((args, kwargs))
        leaves = [each.full(name) if isinstance(each, cls) else each for each in leaves]
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, form)
        return function(*args, **kwargs)


def _sliced_loss(
    input: Any,
    target: Any,
    weight: torch.Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> torch.Tensor | None:
    """F.cross_entropy, or None for what only all logits can do."""
    if not isinstance(input, LazyLogits) or not isinstance(target, torch.Tensor):
        return None
    old_names = size_average is not None or reduce is not None
    if input.dim() > 2 or target.is_floating_point() or old_names:
        return None
    loss = linear_cross_entropy(
        input.hidden,
        input.weight,
        target,
        linear_bias=input.bias,
        weight=weight,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        z_loss=input.z_loss,
        slice_bytes=input.slice_bytes,
    )
    return loss.to(torch.promote_types(loss.dtype, input.dtype))


def _index_of_rows(index: Any, dim: int) -> tuple[int | slice, ...] | None:
    """An index that takes all classes, without their axis; None if it is not one."""
    indices = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(each, (int, slice)) or each is ... for each in indices):
        return None
    if ... in indices:
        place = indices.index(...)
        between = (slice(None),) * (dim - len(indices) + 1)
        indices = indices[:place] + between + indices[place + 1 :]
    if len(indices) == dim:
        if indices[-1] != slice(None):
            return None
        indices = indices[:-1]
    return indices if all(isinstance(each, (int, slice)) for each in indices) else None


def _with_all_logits(name: str) -> Any:
    def operator(self: LazyLogits, *others: Any) -> Any:
        return getattr(self.full(name), name)(*others)

    operator.__name__ = name
    return operator


# Python looks operators up in the class, where __getattr__ is not asked.
for _each in "add sub mul truediv pow matmul radd rsub rmul rtruediv neg lt le gt ge".split():
    setattr(LazyLogits, f"__{_each}__", _with_all_logits(f"__{_each}__"))
