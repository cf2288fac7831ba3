"""Version 1: sections with frames of 32 bytes, one for each chunk."""

import struct

import tpz_bytes

from .fields import Fields
from .stream import ELEMENT_TYPES, Contents


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


def contents(stream: bytes) -> Contents:
    found = list(sections(stream))
    check_order([kind for _, kind, _, _, _ in found])
    assert stream[-16:] == struct.pack("<Q", found[-1][0]) + b"TPZ-END\n"
    chunks = [section for section in found if section[1] == b"CHNK"]
    index, statistics = read_foot(found[-1][4])
    assert index == [(offset, len(payload)) for offset, _, _, _, payload in chunks]
    assert all(number == i and flags in (0, 1) for i, (_, _, flags, number, _) in enumerate(chunks))
    attributes = [read_attributes(payload) for _, kind, _, _, payload in found if kind == b"attr"]
    return Contents(
        *read_head(found[0][4]),
        chunks=lambda sizes: [(flags == 1, payload) for _, _, flags, _, payload in chunks],
        attributes=attributes[0] if attributes else {},
        statistics=lambda: statistics,
    )
