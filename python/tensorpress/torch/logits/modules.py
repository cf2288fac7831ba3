"""Cross entropy over a linear layer as a module, and in models that compute their own loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..module_names import without_wrapper
from .function import linear_cross_entropy, product_type
from .lazy import LazyLogits


class LinearCrossEntropy(nn.Module):
    """The loss of a linear layer's logits, which are never all there. The layer stays as it is,
    with its weight, which an embedding may share. Options are those of linear_cross_entropy.

    >>> embedding, head = nn.Embedding(100, 8), nn.Linear(8, 100, bias=False)
    >>> head.weight = embedding.weight
    >>> criterion = LinearCrossEntropy(head, z_loss=1e-4)
    >>> tokens = torch.randint(0, 100, (2, 6))
    >>> criterion(embedding(tokens[:, :-1]), tokens[:, 1:]).backward()
    """

    def __init__(self, linear: nn.Module, weight: torch.Tensor | None = None, **options: Any):
        super().__init__()
        if (
            not isinstance(getattr(linear, "weight", None), torch.Tensor)
            or linear.weight.dim() != 2
        ):
            raise TypeError(f"a {type(linear).__name__} has no weight (classes, features)")
        self.linear = linear
        self.options = options
        self.register_buffer("weight", weight)  # of the classes

    def forward(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return linear_cross_entropy(
            input,
            self.linear.weight,
            target,
            linear_bias=getattr(self.linear, "bias", None),
            weight=self.weight,
            **self.options,
        )

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


def fuse_logits(
    model: nn.Module,
    head: str | None = None,
    *,
    z_loss: float = 0.0,
    slice_bytes: int | None = None,
) -> FusedLogits:
    """Makes a language model compute its own loss in slices of logits, while it trains.

    head:         the name of the linear layer that gives logits; else model.get_output_embeddings()
                  or model.lm_head
    z_loss:       added to the loss; see linear_cross_entropy
    slice_bytes:  of the logits that are there at a time; see there too

    In training mode with gradients the layer gives LazyLogits. The model's loss and yours stay as
    they are: a cross entropy of logits (rows, classes) is computed in slices. Weights, their names
    and their sharing do not change. remove(), or leaving `with`, takes it back.

    >>> class Model(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.embedding, self.lm_head = nn.Embedding(100, 8), nn.Linear(8, 100)
    ...     def forward(self, tokens, labels):
    ...         logits = self.lm_head(self.embedding(tokens))
    ...         return nn.functional.cross_entropy(logits.view(-1, 100), labels.reshape(-1))
    >>> model, tokens = Model(), torch.randint(0, 100, (2, 6))
    >>> with fuse_logits(model):
    ...     model(tokens[:, :-1], tokens[:, 1:]).backward()
    """
    return FusedLogits(_find_head(model, head), z_loss, slice_bytes)


class FusedLogits:
    """A head that gives LazyLogits, until remove()."""

    def __init__(self, head: nn.Linear, z_loss: float, slice_bytes: int | None) -> None:
        self.head = head
        head.lazy_logits = {"z_loss": z_loss, "slice_bytes": slice_bytes}  # type: ignore[assignment]
        # Copies and pickles of the model have the class too; a function of the object would be
        # bound to the weight of the original.
        head.__class__ = LazyLinear

    def remove(self) -> None:
        if isinstance(self.head, LazyLinear):
            self.head.__class__ = nn.Linear
            del self.head.lazy_logits

    def __enter__(self) -> FusedLogits:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


class LazyLinear(nn.Linear):
    """A linear layer whose results are lazy in training."""

    lazy_logits: dict[str, Any]

    def forward(self, input: torch.Tensor) -> Any:
        if not self.training or not torch.is_grad_enabled():
            return super().forward(input)
        return LazyLogits(input, self.weight, self.bias, product_type(input), **self.lazy_logits)


def _find_head(model: nn.Module, name: str | None) -> nn.Linear:
    model = without_wrapper(model)
    if name is not None:
        head = model.get_submodule(name)
    else:
        getter = getattr(model, "get_output_embeddings", None)
        head = getter() if callable(getter) else None
        head = getattr(model, "lm_head", None) if head is None else head
    if head is None:
        raise ValueError(
            f"{type(model).__name__} has neither get_output_embeddings() nor lm_head; name the "
            "layer that gives logits: fuse_logits(model, 'output')"
        )
    if isinstance(head, LazyLinear):
        raise ValueError("the logits of this model are fused already; remove() the first")
    if type(head) is not nn.Linear:
        raise TypeError(
            f"the head is a {type(head).__name__}, and only a torch.nn.Linear can be fused; use "
            "linear_cross_entropy in the model's own loss"
        )
    return head
