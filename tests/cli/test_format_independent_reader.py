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


def read_tpz(stream):
    found = list(sections(stream))
    assert found[0][1] == b"HEAD" and found[-1][1] == b"FOOT"
    assert stream[-16:] == struct.pack("<Q", found[-1][0]) + b"TPZ-END\n"
    dtype, shape, chunk_shape, codec, parameters = read_head(found[0][4])
    assert codec == "dct-chop"
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
            tensor[box] = inverse_dct_chop(payload, tensor[box].shape, int(parameters["cf"]))
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


def test_the_stream_on_the_format_page_is_what_the_program_writes(tensorpress):
    lines = re.findall(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} ?){1,16})", FORMAT_PAGE.read_text(), re.MULTILINE)
    printed = bytes.fromhex(" ".join(lines))
    np.save(tensorpress.directory / "tiny.npy", np.arange(64, dtype="f4").reshape(8, 8))
    tensorpress("compress", "tiny.npy", "--cf", 1, "--attr", "unit=K")
    assert (tensorpress.directory / "tiny.tpz").read_bytes() == printed
    assert np.allclose(read_tpz(printed)[0], 31.5)
