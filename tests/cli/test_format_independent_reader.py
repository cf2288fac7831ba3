"""A second reader of .tpz, written from docs/format.md alone: if it agrees, the page is enough to write a third.

It looks at everything but the checksums, which need XXH3.
"""

import itertools
import pathlib
import re
import struct

import numpy as np
import pytest

FORMAT_PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "format.md"
ELEMENT_TYPES = {1: "<f4", 2: "<f8", 3: "<f2", 5: "<u1", 6: "<i2"}


class Fields:
    """Numbers and strings one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def string(self):
        (length,) = self.take("H")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def end(self):
        assert self.at == len(self.data)


def sections(stream):
    """Every section as (offset, type, flags, number, payload)."""
    magic, version, zero = struct.unpack_from("<8sII", stream)
    assert (magic, version, zero) == (b"\x89TPZ\r\n\x1a\n", 1, 0)
    at = 16
    while at < len(stream) - 16:
        kind, flags, number, size, _checksum = struct.unpack_from("<4sIQQQ", stream, at)
        payload = stream[at + 32 : at + 32 + size]
        padded = -(-size // 8) * 8
        assert not any(stream[at + 32 + size : at + 32 + padded])
        yield at, kind, flags, number, payload
        at += 32 + padded


def read_head(payload):
    fields = Fields(payload)
    element_type, rank, *zeros = fields.take("BBHI")
    assert zeros == [0, 0]
    shape, chunk_shape = fields.take(f"{rank}Q"), fields.take(f"{rank}Q")
    codec = fields.string()
    parameters = {fields.string(): fields.string() for _ in range(fields.take("H")[0])}
    fields.end()
    return ELEMENT_TYPES[element_type], shape, chunk_shape, codec, parameters


def read_foot(payload):
    fields = Fields(payload)
    index = [fields.take("QQ") for _ in range(fields.take("Q")[0])]
    statistics = {fields.string(): fields.take("d")[0] for _ in range(fields.take("H")[0])}
    fields.end()
    return index, statistics


def inverse_dct_chop(payload, shape, chop_factor):
    """The square layout with f32 coefficients."""
    height, width = shape[-2:]
    planes, rows, columns = int(np.prod(shape[:-2])), -(-height // 8), -(-width // 8)
    stored = np.frombuffer(payload, "<f4").reshape(planes, rows, chop_factor, columns, chop_factor)
    coefficients = np.zeros((planes, rows, columns, 8, 8))
    coefficients[..., :chop_factor, :chop_factor] = stored.swapaxes(2, 3)
    u, i = np.mgrid[0:8, 0:8]
    transform = np.sqrt(np.where(u == 0, 1, 2) / 8) * np.cos((2 * i + 1) * u * np.pi / 16)
    blocks = transform.T @ coefficients @ transform
    return blocks.swapaxes(2, 3).reshape(planes, rows * 8, columns * 8)[:, :height, :width].reshape(shape)


def inverse_quantize(payload, dtype, count, bits, group):
    """Any number of bits and any group; f32 arithmetic as the page says."""
    values, at, per_block = [], 0, 256 // bits
    for first in range(0, count, group):
        size = min(group, count - first)
        blocks = -(-size // per_block)
        (header,) = struct.unpack_from("<I", payload, at)
        minimum = np.array(header >> 13 << 13, "<u4").view("<f4")
        scale = np.array((header & 0x1FFF) << 18, "<u4").view("<f4")
        words = np.frombuffer(payload, "<u4", 8 * blocks, at + 4).reshape(blocks, 1, 8)
        codes = words >> (bits * np.arange(32 // bits, dtype="u4").reshape(1, -1, 1)) & (2**bits - 1)
        decoded = (codes.reshape(-1).astype("f4") * scale).astype("f4") + minimum
        assert not codes.reshape(-1)[size:].any()
        values.append(decoded[:size])
        at += 4 + 32 * blocks
    assert at == len(payload)
    together = np.concatenate(values) if values else np.empty(0, "f4")
    return np.clip(together, -65504, 65504).astype("<f2") if dtype == "<f2" else together.astype(dtype)


def inverse_cast(payload, dtype, to):
    if to == "bf16":
        return (np.frombuffer(payload, "<u2").astype("<u4") << 16).view("<f4").astype(dtype)
    if to == "f16":
        return np.frombuffer(payload, "<f2").astype(dtype)
    codes = np.frombuffer(payload, "u1")
    if to == "e5m2":
        return (codes.astype("<u2") << 8).view("<f2").astype(dtype)
    exponent, fraction = codes >> 3 & 15, codes & 7
    assert not np.any((exponent == 15) & (fraction == 7))
    magnitude = np.where(exponent > 0, (8.0 + fraction) * 2.0 ** (exponent - 10.0), fraction * 2.0**-9)
    return np.where(codes >= 128, -magnitude, magnitude).astype(dtype)


def inverse_mask(payload, dtype, count):
    pattern = np.frombuffer(payload[: np.dtype(dtype).itemsize], dtype)
    bits = np.unpackbits(np.frombuffer(payload, "u1", offset=8), bitorder="little")
    assert not bits[count:].any()
    unsigned = pattern.view(f"<u{pattern.itemsize}")
    return (bits[:count].astype(unsigned.dtype) * unsigned).view(dtype)


def decode_chunk(payload, dtype, shape, codec, parameters):
    count = int(np.prod(shape))
    if codec == "dct-chop":
        return inverse_dct_chop(payload, shape, int(parameters["cf"]))
    if codec == "quantize":
        values = inverse_quantize(payload, dtype, count, int(parameters["bits"]), int(parameters["group"]))
    elif codec == "cast":
        values = inverse_cast(payload, dtype, parameters["to"])
    else:
        assert codec == "mask"
        values = inverse_mask(payload, dtype, count)
    return values.reshape(shape)


def read_tpz(stream):
    found = list(sections(stream))
    assert found[0][1] == b"HEAD" and found[-1][1] == b"FOOT"
    assert stream[-16:] == struct.pack("<Q", found[-1][0]) + b"TPZ-END\n"
    dtype, shape, chunk_shape, codec, parameters = read_head(found[0][4])
    chunks = [section for section in found if section[1] == b"CHNK"]
    index, statistics = read_foot(found[-1][4])
    assert index == [(offset, len(payload)) for offset, _, _, _, payload in chunks]

    tensor = np.empty(shape, dtype)
    grid = itertools.product(*(range(0, extent, step) for extent, step in zip(shape, chunk_shape)))
    for expected, (corner, (_, _, flags, number, payload)) in enumerate(zip(grid, chunks, strict=True)):
        assert number == expected
        box = tuple(slice(start, start + step) for start, step in zip(corner, chunk_shape))
        if flags == 1:
            tensor[box] = np.frombuffer(payload, dtype).reshape(tensor[box].shape)
        else:
            tensor[box] = decode_chunk(payload, dtype, tensor[box].shape, codec, parameters)
    return tensor, statistics


@pytest.mark.parametrize("shape", [(8, 8), (3, 20, 33), (2, 2, 16, 48)])
def test_a_reader_written_from_the_format_page_gets_the_tensor_back(tensorpress, smooth, shape):
    original = smooth(shape)
    np.save(tensorpress.directory / "x.npy", original)
    chunk_shape = "x".join(map(str, (1,) * (len(shape) - 2) + (8, 16)))
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--cf", 8, "--chunk-shape", chunk_shape, "--attr", "unit=K")
    tensor, statistics = read_tpz((tensorpress.directory / "x.tpz").read_bytes())
    # All coefficients are kept, and rounded to f32: values below 255 * 8, 64 of them added up.
    assert np.abs(tensor - original).max() < 1e-3
    assert 0 < statistics["l2_error"] < 1e-3 * np.sqrt(original.size)


def test_a_chopped_stream_decodes_to_what_the_program_says(tensorpress, smooth):
    np.save(tensorpress.directory / "x.npy", smooth((3, 30, 41)))
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--cf", 3)
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    tensor, _ = read_tpz((tensorpress.directory / "x.tpz").read_bytes())
    assert np.abs(tensor - np.load(tensorpress.directory / "y.npy")).max() < 1e-3


def test_raw_chunks_hold_the_elements(tensorpress, smooth):
    original = smooth((4, 5), "u1")
    np.save(tensorpress.directory / "x.npy", original)
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--cf", 8)
    tensor, statistics = read_tpz((tensorpress.directory / "x.tpz").read_bytes())
    assert statistics["raw_chunks"] > 0
    assert np.array_equal(tensor, original)


PACKED = [
    ("f4", ["--bits", 4]),
    ("f4", ["--bits", 1]),
    ("f4", ["--bits", 2, "--rounding", "stochastic", "--seed", 9, "--group", 384]),
    ("f8", ["--bits", 8, "--group", 96]),
    ("f2", ["--bits", 4, "--rounding", "stochastic"]),
    ("f4", ["--to", "bf16"]),
    ("f4", ["--to", "f16"]),
    ("f4", ["--to", "e4m3"]),
    ("f2", ["--to", "e5m2"]),
    ("f4", ["--codec", "mask"]),
    ("u1", ["--codec", "mask"]),
]


@pytest.mark.parametrize("dtype, flags", PACKED, ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else value)
def test_packed_codecs_decode_to_the_programs_bits(tensorpress, smooth, dtype, flags):
    original = smooth((3, 30, 41), dtype)
    if "mask" in flags:
        original = np.where(original > 128, original.dtype.type(3), original.dtype.type(0))
    np.save(tensorpress.directory / "x.npy", original)
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--chunk-shape", "2x30x41", *flags)
    tensorpress("decompress", "x.tpz", "-o", "y.npy")
    tensor, statistics = read_tpz((tensorpress.directory / "x.tpz").read_bytes())
    decoded = np.load(tensorpress.directory / "y.npy")
    assert np.array_equal(tensor, decoded)
    assert statistics["raw_chunks"] == 0
    difference = np.sqrt(np.sum((decoded.astype("f8") - original.astype("f8")) ** 2))
    assert difference == pytest.approx(statistics["l2_error"], rel=1e-6)


def test_the_roundings_on_the_format_page_are_what_the_program_does(tensorpress):
    """Stochastic codes, recomputed from the page: 2 bits, two chunks, f32."""
    bits, group, seed, rows, width = 2, 128, 12345678901234567890, 4, 300
    original = np.random.default_rng(5).standard_normal((rows, width)).astype("f4")
    np.save(tensorpress.directory / "x.npy", original)
    tensorpress("compress", "x.npy", "-o", "x.tpz", "--bits", bits, "--group", group, "--rounding", "stochastic",
                "--seed", seed, "--chunk-shape", f"2x{width}")  # fmt: skip
    word = 2**64 - 1

    def mix(z):
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & word
        z = (z ^ z >> 27) * 0x94D049BB133111EB & word
        return z ^ z >> 31

    def fraction(i, key):
        x = (8 * (i // 16) + i % 8) ^ key & 0xFFFFFFFF
        x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
        x = ((x ^ x >> 15) + (key >> 32)) * 0x846CA68B & 0xFFFFFFFF
        x ^= x >> 16
        return x % 2**14 if i % 16 < 8 else x >> 18

    tensor, _ = read_tpz((tensorpress.directory / "x.tpz").read_bytes())
    for first_row in (0, 2):
        own_seed = seed if first_row == 0 else mix(seed ^ mix(8 * first_row + 0))
        key = mix(own_seed + 0x9E3779B97F4A7C15 & word)
        values = original[first_row : first_row + 2].reshape(-1)
        decoded = tensor[first_row : first_row + 2].reshape(-1)
        for g in range(0, values.size, group):
            part = values[g : g + group]
            least = part.min()
            raw = int(least.view("u4")) + (0x1FFF if least < 0 else 0)
            minimum = np.array(raw >> 13 << 13, "u4").view("f4")
            exact = int(((part.max() - minimum) / np.float32(3)).view("u4"))
            scale = np.array((exact + 0x3FFFF) >> 18 << 18, "u4").view("f4")
            t = np.rint(np.minimum((part - minimum) * (np.float32(1) / scale * np.float32(2**14)), np.float32(3 * 2**14)))
            codes = [int(t[i]) + fraction(g + i, key) >> 14 for i in range(part.size)]
            assert np.array_equal(np.array(codes, "f4") * scale + minimum, decoded[g : g + group])


def test_the_stream_on_the_format_page_is_what_the_program_writes(tensorpress):
    lines = re.findall(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} ?){1,16})", FORMAT_PAGE.read_text(), re.MULTILINE)
    printed = bytes.fromhex(" ".join(lines))
    np.save(tensorpress.directory / "tiny.npy", np.arange(64, dtype="f4").reshape(8, 8))
    tensorpress("compress", "tiny.npy", "--cf", 1, "--attr", "unit=K")
    assert (tensorpress.directory / "tiny.tpz").read_bytes() == printed
    assert np.allclose(read_tpz(printed)[0], 31.5)
