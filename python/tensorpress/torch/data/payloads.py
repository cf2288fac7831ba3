"""Where the payloads of a stream lie (docs/format.md), for a codec with a fixed rate whose chunks
all have one shape and none of which is raw: then they are rows at one distance."""

from __future__ import annotations

import struct

import numpy as np
import torch

FRAME = struct.Struct("<4sIQQQ")  # version 1: type, flags, number, payload bytes, checksum
REPEAT = 2
FIRST_CODED = 3
SHORT, LARGE = 32, 4096


def payload_rows(stream: np.ndarray, count: int) -> torch.Tensor:
    """(count, bytes), without a copy unless they are so short that some may repeat others."""
    (version,) = struct.unpack_from("<I", stream, 8)
    return _framed(stream, count) if version == 1 else _records(stream, count)


def _framed(stream: np.ndarray, count: int) -> torch.Tensor:
    (foot,) = struct.unpack_from("<Q", stream, stream.size - 16)
    offset, size = struct.unpack_from("<QQ", stream, foot + FRAME.size + 8)
    return _rows(stream, count, offset, FRAME.size + -(-size // 8) * 8, FRAME.size, size)


def _records(stream: np.ndarray, count: int) -> torch.Tensor:
    offset = _first_record(stream)
    code, payload = _varint(stream, offset)
    size = code - FIRST_CODED
    if size <= SHORT:
        return _short_records(stream, count, offset)
    head = payload - offset + (4 if size >= LARGE else 0)
    return _rows(stream, count, offset, head + size + (8 if size >= LARGE else 4), head, size)


def _rows(
    stream: np.ndarray, count: int, offset: int, distance: int, head: int, size: int
) -> torch.Tensor:
    window = torch.from_numpy(stream)[offset : offset + distance * count]
    return window.reshape(count, distance)[:, head : head + size]


def _short_records(stream: np.ndarray, count: int, at: int) -> torch.Tensor:
    rows: list[np.ndarray] = []
    for _ in range(count):
        code, at = _varint(stream, at)
        if code == REPEAT:
            rows.append(rows[-1])
            continue
        size = code - FIRST_CODED
        rows.append(stream[at : at + size])
        at += size + 4
    return torch.from_numpy(np.stack(rows))


def _first_record(stream: np.ndarray) -> int:
    """Behind the letter C, which follows sections of a letter, a size, a payload, a checksum."""
    at = 12
    while stream[at] != ord("C"):
        size, at = _varint(stream, at + 1)
        at += size + (8 if size >= LARGE else 4)
    return at + 1


def _varint(stream: np.ndarray, at: int) -> tuple[int, int]:
    """The number, and where it ends."""
    value = shift = 0
    while True:
        byte = int(stream[at])
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
