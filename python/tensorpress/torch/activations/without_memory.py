"""Estimates: a model on the device meta runs without memory, and saves what it would on the CPU.

PyTorch chooses attention by device, and has no fused one for meta: there, what runs would save all
probabilities. So calls that the CPU answers with its fused attention go to that one, which has
shapes for meta. Everything else saves the same.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

ATTENTION = F.scaled_dot_product_attention
CALLS_IT = F.multi_head_attention_forward
NOTE = (
    "estimated without values: they are taken as finite, and zeros among values of both signs and "
    "masks that are computed would take more or less"
)


def is_without_memory(model: torch.nn.Module) -> bool:
    return any(tensor.is_meta for tensor in itertools.chain(model.parameters(), model.buffers()))


class AttentionAsOnTheCpu(TorchFunctionMode):
    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if function is ATTENTION:
            return _attention(*args, **(kwargs or {}))
        if function is CALLS_IT:  # by its name, and where no mode sees it
            with _called_by_name():
                return function(*args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))


@contextlib.contextmanager
def _called_by_name() -> Iterator[None]:
    before = vars(F)[ATTENTION.__name__]
    setattr(F, ATTENTION.__name__, _attention)
    try:
        yield
    finally:
        setattr(F, ATTENTION.__name__, before)


def _attention(*args: Any, **kwargs: Any) -> torch.Tensor:
    """PyTorch's own for tensors with memory, which other threads may have."""
    fused = _fused(*args, **kwargs)
    return ATTENTION(*args, **kwargs) if fused is None else fused


def _fused(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor | None:
    """Nothing where the CPU would compute products and a softmax."""
    parts = (query, key, value)
    if not query.is_meta or any(part.dim() != 4 or part.stride(-1) != 1 for part in parts):
        return None
    alike = len({part.shape[:2] for part in parts}) == 1 == len({part.shape[3] for part in parts})
    empty = any(part.numel() == 0 for part in parts)
    if dropout_p > 0 or not alike or empty or not torch.backends.cuda.flash_sdp_enabled():
        return None
    if attn_mask is not None:
        if attn_mask.requires_grad:
            return None
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.empty_like(attn_mask, dtype=query.dtype)
    attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    found: torch.Tensor = attend(
        query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
    )[0]
    return found
