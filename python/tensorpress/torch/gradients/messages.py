"""What one rank tells the others about one parameter's gradient, and how they read it.

A bucket's message is a table of one signed 64-bit number for each parameter and the parts one
after the other: above zero the size of a .tpz stream, below zero that of plain bytes in the
bucket's type, zero for a gradient of zeros, which takes no bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from ..._compression import decompress


@dataclass
class Message:
    """A parameter's entry in the table and its part; `values` is what the others will read, if it
    is known already."""

    entry: int
    data: bytes
    values: torch.Tensor | None


def exact(gradient: torch.Tensor) -> Message:
    data = gradient.contiguous().view(torch.uint8).numpy().tobytes()
    return Message(-len(data), data, None)


def as_matrix(values: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """As codecs see a parameter: what belongs to one output in one row."""
    return values.view(shape[0], -1) if len(shape) > 1 else values


def read(
    piece: torch.Tensor,
    entry: int,
    plain: torch.dtype,
    working: torch.dtype,
    shape: tuple[int, ...],
    threads: int,
) -> torch.Tensor:
    """The values of a part that is not empty, as one row."""
    if entry < 0:
        return piece.clone().view(plain)
    values = torch.empty(math.prod(shape), dtype=working)
    decompress(piece.numpy(), as_matrix(values, shape), threads=threads)
    return values


def sum_type(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def finite(values: torch.Tensor) -> bool:
    low, high = torch.aminmax(values)  # NaN if there is one
    return math.isfinite(low) and math.isfinite(high)


def all_reduce(buffer: torch.Tensor, group: Any) -> torch.futures.Future[torch.Tensor]:
    buffer.div_(group.size())
    work = dist.all_reduce(buffer, group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])
