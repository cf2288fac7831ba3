"""Prologue, sections, trailer; chunks into a tensor."""

import itertools
import math
import struct
from dataclasses import dataclass, field

import numpy as np
import tpz_bytes

from . import bounded, chop, packed
from .fields import Fields

#: Of an element as it is in the tensor. NumPy has no bf16: its bits.
ELEMENT_TYPES = {1: "f32", 2: "f64", 3: "f16", 4: "bf16", 5: "u8", 6: "i16"}
NUMPY_TYPES = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "bf16": "<u2", "u8": "<u1", "i16": "<i2"}
DECODERS = {
    "dct-chop": chop.decode,
    "ceresz": bounded.decode,
    "ceresz2": bounded.decode,
    "dense": bounded.decode,
    "quantize": packed.decode_quantize,
    "cast": packed.decode_cast,
    "mask": packed.decode_mask,
}


@dataclass
class Chunk:
    """What a decoder is told besides the payload."""

    codec: str
    parameters: dict[str, str]
    dtype: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def numpy_type(self) -> str:
        return NUMPY_TYPES[self.dtype]


@dataclass
class Tensor:
    dtype: str
    elements: np.ndarray
    codec: str
    parameters: dict[str, str]
    attributes: dict[str, str] = field(default_factory=dict)
    statistics: dict[str, float] = field(default_factory=dict)


def sections(stream: bytes):
    """Every section as (offset, type, flags, number, payload)."""
    magic, version, zero = struct.unpack_from("<8sII", stream)
    assert (magic, version, zero) == (b"\x89TPZ\r\n\x1a\n", 1, 0)
    at = 16
    while at < len(stream) - 16:
        kind, flags, number, size, checksum = struct.unpack_from("<4sIQQQ", stream, at)
        payload = stream[at + 32 : at + 32 + size]
        assert len(payload) == size
        if tpz_bytes.xxh3_available():
            assert checksum == tpz_bytes.xxh3(stream[at : at + 24], tpz_bytes.xxh3(payload))
        padded = -(-size // 8) * 8
        assert not any(stream[at + 32 + size : at + 32 + padded])
        yield at, kind, flags, number, payload
        at += 32 + padded
    assert at == len(stream) - 16


def read_head(payload: bytes):
    fields = Fields(payload)
    element_type, rank, *zeros = fields.take("BBHI")
    assert zeros == [0, 0] and rank <= 8
    shape, chunk_shape = fields.take(f"{rank}Q"), fields.take(f"{rank}Q")
    codec = fields.string()
    parameters = {fields.string(): fields.string() for _ in range(fields.one("H"))}
    fields.end()
    return ELEMENT_TYPES[element_type], shape, chunk_shape, codec, parameters


def read_attributes(payload: bytes) -> dict[str, str]:
    fields = Fields(payload)
    attributes = {fields.string(): fields.string() for _ in range(fields.one("I"))}
    fields.end()
    return attributes


def read_foot(payload: bytes):
    fields = Fields(payload)
    index = [fields.take("QQ") for _ in range(fields.one("Q"))]
    statistics = {fields.string(): fields.one("d") for _ in range(fields.one("H"))}
    fields.end()
    return index, statistics


def check_order(kinds: list[bytes]):
    """HEAD, ancillary sections, chunks, ancillary sections but attr, FOOT."""
    assert kinds[0] == b"HEAD" and kinds[-1] == b"FOOT"
    assert kinds.count(b"HEAD") == kinds.count(b"FOOT") == 1 and kinds.count(b"attr") <= 1
    ancillary = [kind for kind in kinds if kind not in (b"HEAD", b"CHNK", b"FOOT")]
    assert all(kind[:1].islower() for kind in ancillary)
    if b"CHNK" in kinds:
        first, last = kinds.index(b"CHNK"), len(kinds) - 1 - kinds[::-1].index(b"CHNK")
        assert set(kinds[first : last + 1]) == {b"CHNK"}
        assert b"attr" not in kinds[last:]


def read(stream: bytes) -> Tensor:
    found = list(sections(stream))
    check_order([kind for _, kind, _, _, _ in found])
    assert stream[-16:] == struct.pack("<Q", found[-1][0]) + b"TPZ-END\n"
    dtype, shape, chunk_shape, codec, parameters = read_head(found[0][4])
    chunks = [section for section in found if section[1] == b"CHNK"]
    index, statistics = read_foot(found[-1][4])
    assert index == [(offset, len(payload)) for offset, _, _, _, payload in chunks]

    elements = np.empty(shape, NUMPY_TYPES[dtype])
    grid = itertools.product(
        *(range(0, extent, step) for extent, step in zip(shape, chunk_shape, strict=True))
    )
    corners = list(grid) if elements.size else []
    for expected, (corner, (_, _, flags, number, payload)) in enumerate(
        zip(corners, chunks, strict=True)
    ):
        assert number == expected and flags in (0, 1)
        box = tuple(
            slice(start, start + step) for start, step in zip(corner, chunk_shape, strict=True)
        )
        chunk = Chunk(codec, parameters, dtype, elements[box].shape)
        if flags == 1:
            assert len(payload) == chunk.count * elements.itemsize
            values = np.frombuffer(payload, elements.dtype)
        else:
            values = DECODERS[codec](payload, chunk)
        elements[box] = values.reshape(chunk.shape)
    attributes = [read_attributes(payload) for _, kind, _, _, payload in found if kind == b"attr"]
    return Tensor(
        dtype, elements, codec, parameters, attributes[0] if attributes else {}, statistics
    )
