"""The random numbers of stochastic rounding, as docs/format.md (codec quantize) says: what a kernel
needs of a seed. Elements beyond 2^33 have another key, so long tensors are packed in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

ONE_KEY = 2**33  # elements
_MASK = 2**64 - 1


class Piece(NamedTuple):
    """Groups `begin` to `end` of a tensor, which share a key; its halves are signed 32-bit."""

    begin: int
    end: int
    first: int
    second: int


def pieces(count: int, group: int, seed: int, stochastic: bool) -> Iterator[Piece]:
    """The key of a group is that of its first value."""
    groups = (count + group - 1) // group
    if not stochastic:
        yield Piece(0, groups, 0, 0)
        return
    begin = 0
    while begin < groups:
        number = begin * group // ONE_KEY
        end = min(groups, -(-(number + 1) * ONE_KEY // group))
        yield Piece(begin, end, *key(seed, number))
        begin = end


def key(seed: int, number: int) -> tuple[int, int]:
    """Of elements number * 2^33 on."""
    mixed = _mix(((seed & _MASK) + (number + 1) * 0x9E3779B97F4A7C15) & _MASK)
    return signed(mixed & 0xFFFFFFFF), signed(mixed >> 32)


def signed(word: int) -> int:
    """The same 32 bits as a number of type int32."""
    return word - 2**32 if word >= 2**31 else word


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)
