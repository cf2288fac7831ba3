"""Numbers, strings and varints one after the other."""

import pathlib
import struct

import numpy as np

# Tables that docs/format.md names by their files.
CODECS = pathlib.Path(__file__).resolve().parents[3] / "src" / "codecs"


class Fields:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, layout: str) -> tuple:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def one(self, layout: str):
        (value,) = self.take(layout)
        return value

    def array(self, dtype: str, count: int) -> np.ndarray:
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def string(self) -> str:
        length = self.one("H")
        self.at += length
        assert self.at <= len(self.data)
        return self.data[self.at - length : self.at].decode()

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.one("B")
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed_varint(self) -> int:
        return unzigzag(self.varint())

    def rest(self) -> bytes:
        rest = self.data[self.at :]
        self.at = len(self.data)
        return rest

    def end(self):
        assert self.at == len(self.data)


def unzigzag(code: int) -> int:
    """0, 1, 2, 3 ... are 0, -1, 1, -2 ..."""
    return code >> 1 if code % 2 == 0 else -(code >> 1) - 1


def wrap(value: int, bits: int) -> int:
    """A whole number of any size as a signed one of so many bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
