"""quantize, cast and mask: elements in fewer bits."""

import struct

import numpy as np

from .rounding import as_elements, bf16_values

LARGEST = {"f16": np.float32(65504), "bf16": np.float32((2 - 2**-7) * 2.0**127)}


def decode_quantize(payload: bytes, chunk) -> np.ndarray:
    bits, group = int(chunk.parameters["bits"]), int(chunk.parameters["group"])
    values, at = [np.empty(0, "<f4")], 0
    for first in range(0, chunk.count, group):
        size = min(group, chunk.count - first)
        words = ((size + 7) // 8 * bits + 31) // 32
        (header,) = struct.unpack_from("<I", payload, at)
        minimum = np.array(header >> 13 << 13, "<u4").view("<f4")
        scale = np.array((header & 0x1FFF) << 18, "<u4").view("<f4")
        columns = np.frombuffer(payload, "<u4", 8 * words, at + 4).reshape(words, 8).T
        stream = np.unpackbits(columns.copy().view("u1"), axis=1, bitorder="little")
        rows = stream.shape[1] // bits
        fields = stream[:, : rows * bits].reshape(8, rows, bits)
        codes = (fields @ 2 ** np.arange(bits)).T.reshape(-1)
        assert not codes[size:].any() and not stream[:, rows * bits :].any()
        values.append((codes[:size].astype("<f4") * scale).astype("<f4") + minimum)
        at += 4 + 32 * words
    assert at == len(payload)
    together = np.concatenate(values)
    if chunk.dtype in LARGEST:
        together = np.clip(together, -LARGEST[chunk.dtype], LARGEST[chunk.dtype])
    return as_elements(together, chunk.dtype)


def decode_cast(payload: bytes, chunk) -> np.ndarray:
    to = chunk.parameters["to"]
    if to == "bf16":
        values = bf16_values(np.frombuffer(payload, "<u2"))
    elif to == "f16":
        values = np.frombuffer(payload, "<f2").astype("<f4")
    elif to == "e5m2":
        values = (np.frombuffer(payload, "u1").astype("<u2") << 8).view("<f2").astype("<f4")
    else:
        codes = np.frombuffer(payload, "u1")
        exponent, fraction = (codes >> 3 & 15).astype("f8"), (codes & 7).astype("f8")
        assert not np.any((exponent == 15) & (fraction == 7))
        magnitude = np.where(
            exponent > 0, (8 + fraction) * 2.0 ** (exponent - 10), fraction * 2.0**-9
        )
        values = np.where(codes >= 128, -magnitude, magnitude).astype("<f4")
    assert values.size == chunk.count
    return as_elements(values, chunk.dtype)


def decode_mask(payload: bytes, chunk) -> np.ndarray:
    size = np.dtype(chunk.numpy_type).itemsize
    (pattern,) = struct.unpack_from("<Q", payload)
    assert len(payload) == 8 + -(-chunk.count // 8)
    bits = np.unpackbits(np.frombuffer(payload, "u1", offset=8), bitorder="little")
    assert not bits[chunk.count :].any()
    unsigned = np.array([0, pattern & (1 << 8 * size) - 1], "<u8").astype(f"<u{size}")
    return unsigned[bits[: chunk.count]].view(chunk.numpy_type)
