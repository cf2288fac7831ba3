"""Whole numbers, exactly and in as few bits as their range needs: tokens, masks, class maps.

A shard holds the numbers of some samples, of any sizes. All are stored less the smallest of the
shard, in the bits of the largest difference; each sample begins at a byte and has a CRC-32. Tokens
of a vocabulary of 32000 take 15 bits instead of 64, a mask of ones takes none.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ... import _core

TYPES = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
PADDING = 8  # zeros behind the last sample, so that whole words can be read
WORD = 56  # bits of a number that a word holds wherever in a byte it begins


class IntegerShard:
    """`sizes` has a row for each sample: its shape."""

    def __init__(
        self,
        packed: torch.Tensor,
        sums: torch.Tensor,
        sizes: torch.Tensor,
        low: int,
        width: int,
        dtype: torch.dtype,
    ) -> None:
        self.packed, self.sums, self.sizes = packed, sums, sizes
        self.low, self.width, self.dtype = low, width, dtype
        counts = np.prod(sizes.numpy(), 1, dtype=np.int64)
        self._ends = np.cumsum((counts * width + 7) // 8)
        self._counts = counts

    @classmethod
    def of(cls, samples: Sequence[torch.Tensor]) -> IntegerShard:
        dtype = samples[0].dtype
        numbers = [sample.reshape(-1).numpy().astype(np.int64, copy=False) for sample in samples]
        low = min((int(each.min()) for each in numbers if each.size), default=0)
        high = max((int(each.max()) for each in numbers if each.size), default=0)
        width = (high - low).bit_length()
        parts = [_packed(each, low, width) for each in numbers]
        sums = torch.tensor([zlib.crc32(part) for part in parts], dtype=torch.int64)
        joined = b"".join(parts) + bytes(PADDING)
        sizes = torch.tensor([list(each.shape) for each in samples], dtype=torch.int64)
        sizes = sizes.view(len(samples), samples[0].dim())
        packed = torch.frombuffer(bytearray(joined), dtype=torch.uint8)
        return cls(packed, sums.to(torch.uint32), sizes, low, width, dtype)

    @property
    def count(self) -> int:
        return len(self.sums)

    @property
    def nbytes(self) -> int:
        return int(self.packed.nbytes + self.sums.nbytes + self.sizes.nbytes)

    @property
    def plain_bytes(self) -> int:
        return int(self._counts.sum()) * self.dtype.itemsize

    def read(self, index: int) -> torch.Tensor:
        begin = int(self._ends[index - 1]) if index else 0
        end, count = int(self._ends[index]), int(self._counts[index])
        content = self.packed[begin : end + PADDING].numpy()
        if zlib.crc32(content[: end - begin]) != int(self.sums[index]):
            raise _core.CorruptError(
                "a sample of whole numbers is corrupt: its checksum is another"
            )
        numbers = _unpacked(content, count, self.width, self.low)
        plain = numbers.astype(_numpy(self.dtype), copy=False)
        return torch.from_numpy(plain).view(self.sizes[index].tolist())

    def fields(self) -> dict[str, Any]:
        """What a file holds of it."""
        tensors = {"packed": self.packed, "sums": self.sums, "sizes": self.sizes}
        name = str(self.dtype).removeprefix("torch.")
        return {**tensors, "low": self.low, "width": self.width, "dtype": name}

    @classmethod
    def of_fields(cls, fields: Any) -> IntegerShard:
        """The shard of a file, whose claims fit together and into the bytes that are there."""
        packed, sums, sizes = fields["packed"], fields["sums"], fields["sizes"]
        low, width, dtype = fields["low"], fields["width"], getattr(torch, fields["dtype"])
        kinds = (packed.dtype, sums.dtype, sizes.dtype)
        if kinds != (torch.uint8, torch.uint32, torch.int64) or dtype not in TYPES:
            raise ValueError(f"the types are {kinds} and {dtype}")
        if type(low) is not int or type(width) is not int or not 0 <= width <= 64:
            raise ValueError(f"numbers from {low!r} on have {width!r} bits")
        if sizes.dim() != 2 or len(sizes) != len(sums) or packed.dim() != 1:
            raise ValueError("the tables of samples do not fit together")
        total = 0
        for size in sizes.tolist():
            if min(size, default=0) < 0:
                raise ValueError(f"a sample has the shape {size}")
            total += (math.prod(size) * width + 7) // 8
            if total + PADDING > packed.numel() or math.prod(size) > 1 << 40:
                raise ValueError(f"{packed.numel()} bytes are too few for the samples")
        return cls(packed.contiguous(), sums, sizes.contiguous(), low, width, dtype)


def _packed(numbers: np.ndarray[Any, Any], low: int, width: int) -> bytes:
    """The lowest bits first. Differences of int64 are right as uint64, whatever wraps around."""
    above = (numbers.astype(np.uint64) - np.uint64(low % 2**64)).astype("<u8")
    bits = np.unpackbits(above.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return np.packbits(bits[:, :width].reshape(-1), bitorder="little").tobytes()


def _unpacked(
    content: np.ndarray[Any, Any], count: int, width: int, low: int
) -> np.ndarray[Any, Any]:
    if width == 0:
        above = np.zeros(count, np.uint64)
    elif width <= WORD:
        content = np.ascontiguousarray(content)
        words = np.ndarray((len(content) - 7,), "<u8", content.data, strides=(1,))
        places = np.arange(count, dtype=np.int64) * width
        shifted = words[places >> 3] >> (places & 7).astype(np.uint64)
        above = shifted & np.uint64((1 << width) - 1)
    else:
        bits = np.unpackbits(content, count=count * width, bitorder="little").reshape(-1, width)
        whole = np.zeros((count, 64), np.uint8)
        whole[:, :width] = bits
        above = np.packbits(whole, axis=1, bitorder="little").view("<u8").reshape(-1)
    return (above + np.uint64(low % 2**64)).view(np.int64)


def _numpy(dtype: torch.dtype) -> Any:
    return torch.empty(0, dtype=dtype).numpy().dtype
