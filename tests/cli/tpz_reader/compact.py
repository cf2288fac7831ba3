"""Version 2: sections of a letter, records of chunks without padding, an index of runs."""

import struct
from typing import NamedTuple

import tpz_bytes

from .fields import Fields, unzigzag
from .stream import ELEMENT_TYPES, Contents

LARGE, SHORT = 4096, 32
RAW, REPEAT, CODED = 1, 2, 3


def word(fields: Fields) -> str:
    first = fields.one("B")
    if first == 255:
        return fields.string()
    if first == 254:
        return repr(fields.one("d"))
    if first >= 128:
        return tpz_bytes.WORDS[first - 128]
    return bytes(fields.take(f"{first}B")).decode()


def check(fields: Fields, payload: bytes, covered: bytes):
    """The checksum that comes next, of 4 or 8 bytes."""
    stored, bits = (fields.one("Q"), 64) if len(payload) >= LARGE else (fields.one("I"), 32)
    if tpz_bytes.xxh3_available():
        assert stored == tpz_bytes.xxh3(covered, tpz_bytes.xxh3(payload)) % 2**bits


def take(fields: Fields, size: int) -> bytes:
    assert size <= len(fields.data) - fields.at
    fields.at += size
    return fields.data[fields.at - size : fields.at]


def short_varint(fields: Fields) -> int:
    begin = fields.at
    value = fields.varint()
    assert value < 2**64 and (fields.at == begin + 1 or fields.data[fields.at - 1] != 0)
    return value


def section(fields: Fields) -> tuple[str, bytes]:
    letter = fields.one("B")
    payload = take(fields, short_varint(fields))
    check(fields, payload, struct.pack("<BQ", letter, len(payload)))
    return chr(letter), payload


def sections_before(fields: Fields, end: bytes) -> list[tuple[str, bytes]]:
    """All up to the one with this letter."""
    found = []
    while fields.data[fields.at : fields.at + 1] != end:
        found.append(section(fields))
    return found


def read_head(payload: bytes):
    fields = Fields(payload)
    first = fields.one("B")
    rank = first >> 4
    assert rank <= 8
    shape = tuple(fields.varint() for _ in range(rank))
    chunk_shape = tuple(fields.varint() for _ in range(rank))
    codec = word(fields)
    parameters = tpz_bytes.DEFAULTS[codec] | {
        word(fields): word(fields) for _ in range(fields.varint())
    }
    fields.end()
    return ELEMENT_TYPES[first & 15], shape, chunk_shape, codec, parameters


def read_attributes(payload: bytes) -> dict[str, str]:
    fields = Fields(payload)
    attributes = {word(fields): word(fields) for _ in range(fields.varint())}
    fields.end()
    return attributes


class Record(NamedTuple):
    code: int
    payload: bytes
    #: Of the payload in the stream, or of the record if that is a repeat.
    place: int


def read_records(fields: Fields, raw_sizes: list[int]) -> list[Record]:
    records, repeated = [], None
    for number, raw_size in enumerate(raw_sizes):
        code = short_varint(fields)
        assert code > 0
        if code == REPEAT:
            assert repeated is not None
            records.append(Record(code, repeated, fields.at - 1))
            continue
        size = raw_size if code == RAW else code - CODED
        assert size < LARGE or take(fields, 4) == b"CHNK"
        place = fields.at
        payload = take(fields, size)
        check(fields, payload, struct.pack("<QQ", number, code))
        if code != RAW and size <= SHORT:
            repeated = payload
        records.append(Record(code, payload, place))
    return records


def read_index(fields: Fields, count: int) -> list[tuple[int, bytes | None]]:
    """The code of every chunk, and of repeats the payload."""
    codes, last, short, repeated = [], 0, None, None
    while len(codes) < count:
        n, kind = divmod(fields.varint(), 4)
        if kind == 0:
            repeated = take(fields, short) if repeated is None else repeated
            codes += [(REPEAT, repeated)] * n
        elif kind == 1:
            codes += [(RAW, None)] * n
        else:
            last, n = (last + unzigzag(n), 1) if kind == 3 else (last, n)
            codes += [(CODED + last, None)] * n
            if last <= SHORT:
                short, repeated = last, None
        assert n > 0
    assert len(codes) == count
    return codes


def contents(stream: bytes) -> Contents:
    fields = Fields(stream)
    magic, version = fields.take("8sI")
    assert (magic, version) == (b"\x89TPZ\r\n\x1a\n", 2)
    (letter, head), *others = sections_before(fields, b"C")
    assert letter == "H" and all(letter.islower() for letter, _ in others)
    attributes = [read_attributes(payload) for letter, payload in others if letter == "a"]
    assert len(attributes) <= 1
    take(fields, 1)
    statistics = {}

    def chunks(raw_sizes: list[int]) -> list[tuple[bool, bytes]]:
        records = read_records(fields, raw_sizes)
        assert all(
            letter.islower() and letter != "a" for letter, _ in sections_before(fields, b"F")
        )
        begin = fields.at
        foot = Fields(section(fields)[1])
        assert stream[fields.at :] == struct.pack("<Q", begin) + b"TPZ\n"
        index = read_index(foot, len(records))
        assert index == [
            (record.code, record.payload if record.code == REPEAT else None) for record in records
        ]
        statistics.update({word(foot): foot.one("d") for _ in range(foot.varint())})
        foot.end()
        statistics["raw_chunks"] = float(sum(record.code == RAW for record in records))
        return [(record.code == RAW, record.payload) for record in records]

    return Contents(
        *read_head(head),
        chunks=chunks,
        attributes=attributes[0] if attributes else {},
        statistics=lambda: statistics,
    )


def payload_places(stream: bytes, raw_sizes: list[int]) -> list[int]:
    """Where payloads begin in a stream whose chunks have these sizes uncompressed."""
    fields = Fields(stream)
    fields.take("12B")
    sections_before(fields, b"C")
    take(fields, 1)
    return [record.place for record in read_records(fields, raw_sizes)]
