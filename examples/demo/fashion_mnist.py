"""Fashion-MNIST from Debian's package dataset-fashion-mnist: pictures of clothes, and what they
show."""

from __future__ import annotations

import gzip
import pathlib

import numpy as np

FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")


def read_idx(name: str, count: int | None = None) -> np.ndarray:
    """The first `count` entries of an IDX file of bytes: a big-endian header, then the bytes."""
    path = FOLDER / f"{name}-ubyte.gz"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: apt-get install dataset-fashion-mnist")
    with gzip.open(path) as file:
        magic = int.from_bytes(file.read(4), "big")
        axes = magic & 0xFF
        if magic >> 8 != 0x8 or not 1 <= axes <= 4:
            raise ValueError(f"{path} is not an IDX file of bytes")
        shape = [int.from_bytes(file.read(4), "big") for _ in range(axes)]
        if count is not None:
            shape[0] = min(shape[0], count)
        content = file.read(int(np.prod(shape)))
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)
