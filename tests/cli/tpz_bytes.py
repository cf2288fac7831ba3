"""Makes .tpz bytes from docs/format.md alone, checksums and all, so that streams can lie on
purpose."""

import ctypes
import ctypes.util
import struct

MAGIC = b"\x89TPZ\r\n\x1a\n"
END_MARK = b"TPZ-END\n"
PARAMETERS = [("cf", "4"), ("layout", "square"), ("transform", "dct"), ("coefficients", "f32")]


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
