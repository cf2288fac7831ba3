"""Chunks into a tensor, from a stream of either version."""

import itertools
import math
import struct
from dataclasses import dataclass, field

import numpy as np

from . import bounded, chop, compact, framed, packed
from .stream import Contents

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


def contents(stream: bytes) -> Contents:
    version = struct.unpack_from("<I", stream, 8)[0]
    return {1: framed.contents, 2: compact.contents}[version](stream)


def boxes(found: Contents) -> list[tuple[slice, ...]]:
    """Where the chunks lie in the tensor."""
    if 0 in found.shape:
        return []
    corners = itertools.product(
        *(
            range(0, extent, step)
            for extent, step in zip(found.shape, found.chunk_shape, strict=True)
        )
    )
    return [
        tuple(
            slice(start, start + step)
            for start, step in zip(corner, found.chunk_shape, strict=True)
        )
        for corner in corners
    ]


def payload_places(stream: bytes) -> list[int]:
    """Where the payloads of chunks begin in a stream of version 2; of repeats, their byte."""
    found = contents(stream)
    elements = np.empty(found.shape, NUMPY_TYPES[found.dtype])
    return compact.payload_places(stream, [elements[box].nbytes for box in boxes(found)])


def read(stream: bytes) -> Tensor:
    found = contents(stream)
    elements = np.empty(found.shape, NUMPY_TYPES[found.dtype])
    payloads = found.chunks([elements[box].nbytes for box in boxes(found)])
    for box, (raw, payload) in zip(boxes(found), payloads, strict=True):
        chunk = Chunk(found.codec, found.parameters, found.dtype, elements[box].shape)
        if raw:
            assert len(payload) == chunk.count * elements.itemsize
            values = np.frombuffer(payload, elements.dtype)
        else:
            values = DECODERS[found.codec](payload, chunk)
        elements[box] = values.reshape(chunk.shape)
    return Tensor(
        found.dtype,
        elements,
        found.codec,
        found.parameters,
        found.attributes,
        found.statistics(),
    )
