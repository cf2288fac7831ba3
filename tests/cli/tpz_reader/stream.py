"""What a stream says, in whatever version of the format it says it."""

from collections.abc import Callable
from dataclasses import dataclass

#: Of an element as it is in the tensor. NumPy has no bf16: its bits.
ELEMENT_TYPES = {1: "f32", 2: "f64", 3: "f16", 4: "bf16", 5: "u8", 6: "i16"}


@dataclass
class Contents:
    dtype: str
    shape: tuple[int, ...]
    chunk_shape: tuple[int, ...]
    codec: str
    parameters: dict[str, str]
    #: From the uncompressed bytes of every chunk to (raw, payload) of every chunk.
    chunks: Callable[[list[int]], list[tuple[bool, bytes]]]
    attributes: dict[str, str]
    #: To be asked once the chunks have been read.
    statistics: Callable[[], dict[str, float]]
