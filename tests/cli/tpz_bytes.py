"""Makes .tpz bytes from docs/format.md alone, checksums and all, so that streams can lie on
purpose: of version 1 by `prologue` to `foot`, of version 2 by `compact_stream`."""

import ctypes
import ctypes.util
import struct

MAGIC = b"\x89TPZ\r\n\x1a\n"
END_MARK = b"TPZ-END\n"
PARAMETERS = [("cf", "4"), ("layout", "square"), ("transform", "dct"), ("coefficients", "f32")]


#: The words of version 2, in their order.
WORDS = """
dense ceresz2 ceresz dct-chop quantize cast mask
bound limit fill effort codebook cf layout transform coefficients form serialize
bits group rounding seed to
normal best fast default square triangle dct zfp f32 bf16 f16 e4m3 e5m2 block matmul
nearest stochastic 1 2 4 8
l2_error raw_chunks netcdf tensorpress_history units long_name
""".split()

#: What version 2 leaves out.
DEFAULTS = {
    "dense": {"effort": "normal"},
    "ceresz2": {"codebook": "default"},
    "ceresz": {},
    "dct-chop": {
        "cf": "4",
        "layout": "square",
        "transform": "dct",
        "coefficients": "f32",
        "form": "block",
        "serialize": "1",
    },
    "quantize": {"bits": "4", "group": "256", "rounding": "nearest", "seed": "0"},
    "cast": {"to": "bf16"},
    "mask": {},
}


def xxh3_available():
    return ctypes.util.find_library("xxhash") is not None


def xxh3(data, seed=0):
    function = ctypes.CDLL(ctypes.util.find_library("xxhash")).XXH3_64bits_withSeed
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    function.restype = ctypes.c_uint64
    return function(data, len(data), seed)


def prologue(version=1):
    return MAGIC + struct.pack("<II", version, 0)


def section(kind, payload, flags=0, number=0, claimed_bytes=None):
    """A frame, the payload and its padding; the frame may claim another number of bytes."""
    size = len(payload) if claimed_bytes is None else claimed_bytes
    fields = kind + struct.pack("<IQQ", flags, number, size)
    return (
        fields + struct.pack("<Q", xxh3(fields, xxh3(payload))) + payload + bytes(-len(payload) % 8)
    )


def text(value):
    return struct.pack("<H", len(value)) + value.encode()


def head(shape, chunk_shape, dtype=1, codec="dct-chop", parameters=PARAMETERS):
    payload = struct.pack("<BBHI", dtype, len(shape), 0, 0)
    payload += b"".join(struct.pack("<Q", extent) for extent in (*shape, *chunk_shape))
    payload += text(codec) + struct.pack("<H", len(parameters))
    payload += b"".join(text(name) + text(value) for name, value in parameters)
    return section(b"HEAD", payload)


def foot(index, at, statistics=(("l2_error", 0.0), ("raw_chunks", 0.0)), claimed_chunks=None):
    """The footer and the trailer of a stream whose chunks end at byte `at`."""
    payload = struct.pack("<Q", len(index) if claimed_chunks is None else claimed_chunks)
    payload += b"".join(struct.pack("<QQ", *entry) for entry in index)
    payload += struct.pack("<H", len(statistics))
    payload += b"".join(text(name) + struct.pack("<d", value) for name, value in statistics)
    return section(b"FOOT", payload) + struct.pack("<Q", at) + END_MARK


def varint(value):
    data = b""
    while value >= 128:
        data += bytes([value % 128 + 128])
        value //= 128
    return data + bytes([value])


def word(value):
    if value in WORDS:
        return bytes([128 + WORDS.index(value)])
    return bytes([len(value)]) + value.encode()


def checksum(fields, payload):
    return struct.pack("<Q", xxh3(fields, xxh3(payload)))[: 8 if len(payload) >= 4096 else 4]


def compact_section(letter, payload, claimed_bytes=None):
    """A section of version 2, which may claim another number of bytes."""
    size = len(payload) if claimed_bytes is None else claimed_bytes
    sum_ = checksum(letter + struct.pack("<Q", size % 2**64), payload)
    return letter + varint(size) + payload + sum_


def compact_head(shape, chunk_shape, dtype=1, codec="dct-chop", parameters=()):
    payload = bytes([dtype + 16 * len(shape)])
    payload += b"".join(varint(extent) for extent in (*shape, *chunk_shape))
    payload += word(codec) + varint(len(parameters))
    return payload + b"".join(word(name) + word(value) for name, value in parameters)


def compact_stream(head_payload, records, index):
    """Records are (code, payload), of repeats (2, b""); the index is tokens and what they carry."""
    data = MAGIC + struct.pack("<I", 2) + compact_section(b"H", head_payload) + b"C"
    for number, (code, payload) in enumerate(records):
        data += varint(code)
        if code != 2:
            data += b"CHNK" if len(payload) >= 4096 else b""
            data += payload + checksum(struct.pack("<QQ", number, code), payload)
    footer = compact_section(b"F", index + b"\x01" + word("l2_error") + struct.pack("<d", 0.0))
    return data + footer + struct.pack("<Q", len(data)) + b"TPZ\n"
