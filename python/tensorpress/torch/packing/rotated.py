"""Quantized after a rotation of each group, for values of which a few are large.

A group of 256 is multiplied by a Hadamard matrix with random signs before it is quantized, and by
the inverse after. A single large value, which would have set the group's step alone, is spread over
the group (Ashkboos et al. 2024, QuaRot). Products such as SwiGLU's are like that: the gradients of
the layer behind one have 0.3 of the error at the same bits. Values that are normally distributed
gain nothing (ADR 0083), and the rotation takes longer than the packing.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import torch

from ... import _core
from .backend import Packing
from .codecs import HALF_AND_SINGLE, Quantize, Stored, TensorCodec

GROUP = 256
SIGNS_SEED = 0x52A7


@dataclasses.dataclass(frozen=True)
class Rotated(TensorCodec):
    """`bits` bits a value, and a minimum and a scale for every 256.

    >>> values = torch.randn(4096)
    >>> values[::256] *= 50
    >>> errors = [
    ...     float((codec.store(values, seed=1).values() - values).norm())
    ...     for codec in (Quantize(bits=4), Rotated(bits=4))
    ... ]
    >>> errors[1] < 0.6 * errors[0]
    True
    """

    name = "rotated"
    bits: int = 4
    rounding: str = "nearest"

    def __post_init__(self) -> None:
        Quantize(self.bits, GROUP, self.rounding)  # says what is wrong

    @property
    def fidelity(self) -> float:
        return float(self.bits)

    def takes(self, values: torch.Tensor) -> bool:
        return values.dtype in HALF_AND_SINGLE

    def stored_bytes(self, shape: Sequence[int], dtype: torch.dtype) -> int:
        return _core.quantize_size(_padded(math.prod(shape)), self.bits, GROUP)

    def pack(self, values: torch.Tensor, seed: int, packing: Packing) -> torch.Tensor | None:
        flat = values.detach().reshape(-1).float()
        flat = torch.nn.functional.pad(flat, (0, _padded(flat.numel()) - flat.numel()))
        matrix = _rotation(flat.device)
        turned = flat.view(-1, GROUP) @ matrix
        return packing.quantize_pack(turned.view(-1), self.bits, GROUP, self.rounding, seed)

    def unpack(self, stored: Stored) -> torch.Tensor:
        count = math.prod(stored.shape)
        turned = stored.packing.quantize_unpack(
            stored.packed, (_padded(count),), torch.float32, self.bits, GROUP
        )
        back = turned.view(-1, GROUP) @ _rotation(turned.device).T
        values = back.view(-1)[:count].view(tuple(stored.shape)).to(stored.dtype)
        return values if values.numel() == back.numel() else values.clone()


def _padded(count: int) -> int:
    return (count + GROUP - 1) // GROUP * GROUP


@functools.lru_cache(maxsize=16)
def _rotation(device: torch.device) -> torch.Tensor:
    """Orthogonal: random signs, then a Hadamard matrix."""
    matrix = torch.ones(1, 1)
    while len(matrix) < GROUP:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    generator = torch.Generator().manual_seed(SIGNS_SEED)
    signs = 2.0 * torch.randint(0, 2, (GROUP, 1), generator=generator) - 1.0
    return (signs * matrix / math.sqrt(GROUP)).to(device)
