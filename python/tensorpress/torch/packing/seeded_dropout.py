"""Dropout that a seed decides: the backward pass drops the same values again, and keeps no mask.

>>> import torch
>>> ones = torch.ones(6)
>>> torch.equal(dropout_(ones.clone(), 0.5, seed=3), dropout_(ones.clone(), 0.5, seed=3))
True
"""

from __future__ import annotations

import torch

from ... import _core


def dropout_(values: torch.Tensor, keep: float, seed: int) -> torch.Tensor:
    """Changes `values`, on the CPU: a share `keep` of them is divided by it, the others are zero.
    Which ones, follows from the seed and their places, whatever the strides are."""
    direct = values.is_contiguous() and values.dtype in (torch.float32, torch.float64)
    wide = torch.float64 if values.dtype == torch.float64 else torch.float32
    factors = values if direct else torch.ones(values.shape, dtype=wide)
    _core.dropout(factors.detach().view(-1), keep, seed % 2**64, torch.get_num_threads())
    return values if direct else values.mul_(factors)
