"""How many bytes packed values take, in arithmetic that symbolic sizes have too."""

from __future__ import annotations

import math

CERESZ_BLOCK = 32


def quantized_size(count: int, bits: int, group: int) -> int:
    """Of records of 4 bytes and words of 8 columns."""
    whole, rest = count // group, count % group
    words = whole * (group * bits // 256) + ((rest + 7) // 8 * bits + 31) // 32
    return 4 * ((count + group - 1) // group) + 32 * words


def blocks_of(bits: int) -> tuple[int, int]:
    """Rows of 8 codes of a block, whose words hold whole codes, and its words in a column."""
    words = math.lcm(bits, 32) // 32
    return 32 * words // bits, words


def cast_itemsize(to: str) -> int:
    return 2 if to in ("bf16", "f16") else 1


def bits_size(count: int) -> int:
    return (count + 7) // 8


def fp8_size(count: int, group: int) -> int:
    """A byte a value, then one a group."""
    return count + (count + group - 1) // group


def ceresz_room(count: int) -> int:
    """What values take at most: a slack, a width a block, and all blocks uncompressed."""
    blocks = (count + CERESZ_BLOCK - 1) // CERESZ_BLOCK
    return 1 + blocks * (1 + 4 * CERESZ_BLOCK)
