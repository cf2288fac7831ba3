"""Samples in .tpz streams, one sample a chunk, in memory or as files.

A shard is one stream of some thousand samples, so that a dataset larger than memory can be
written and read. Random access is the container's own: a sample is read, checked and decompressed
alone, and neighbours in one call.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np
import torch

from ... import _core
from ..._codec import Codec
from ..._compression import compress
from ..._reader import MAX_BYTES, open_core
from .payloads import payload_rows

COEFFICIENTS = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


class Shard:
    """`count` samples in one stream: bytes in memory (a tensor, which PyTorch shares with workers
    instead of copying it), or a file. What is open belongs to the process that opened it, so a
    fork or a pickle opens the stream anew."""

    def __init__(self, source: torch.Tensor | pathlib.Path, count: int) -> None:
        self.source = source
        self.count = count
        self._forget()

    @classmethod
    def of(
        cls,
        samples: torch.Tensor,
        codec: Codec,
        path: pathlib.Path | None,
        threads: int,
        **about_values: Any,
    ) -> Shard:
        """Compresses samples (count, ...) into memory, or into a new file."""
        chunk = (1, *samples.shape[1:])
        stream = compress(samples, codec, chunk_shape=chunk, threads=threads, **about_values)
        if path is None:
            return cls(torch.frombuffer(bytearray(stream), dtype=torch.uint8), samples.shape[0])
        with path.open("xb") as file:
            file.write(stream)
            file.flush()
            os.fsync(file.fileno())
        return cls(path, samples.shape[0])

    @property
    def nbytes(self) -> int:
        if isinstance(self.source, torch.Tensor):
            return self.source.numel()
        return self.source.stat().st_size

    def read(self, first: int, out: torch.Tensor) -> None:
        """Decompresses samples from `first` on into all of `out`."""
        origin = [first] + [0] * (out.dim() - 1)
        self._opened().read(origin, out, False, 1, MAX_BYTES)

    def info(self) -> dict[str, object]:
        return self._opened().info()

    def coefficient_type(self) -> torch.dtype:
        kind: dict[str, str] = self.info()["parameters"]
        return COEFFICIENTS[kind["coefficients"]]

    def payloads(self) -> torch.Tensor:
        """Those of a dct-chop stream as they are, (count, bytes): every one has the same size."""
        self._forget_what_moved()
        if self._payloads is None:
            self._payloads = self._find_payloads()
        return self._payloads

    def close(self) -> None:
        if self._reader is not None and self._process == os.getpid():
            self._reader.close()
        self._forget()

    def _forget(self) -> None:
        self._reader: _core.Reader | None = None
        self._payloads: torch.Tensor | None = None
        self._process = 0
        self._address = 0

    def _forget_what_moved(self) -> None:
        """Sending a tensor to another process moves it into shared memory and frees what it was
        in, which an open reader would still look at."""
        address = self.source.data_ptr() if isinstance(self.source, torch.Tensor) else 0
        if address != self._address:
            self._forget()
            self._address = address

    def _opened(self) -> _core.Reader:
        self._forget_what_moved()
        if self._reader is None or self._process != os.getpid():
            where = self.source.numpy() if isinstance(self.source, torch.Tensor) else self.source
            self._reader = open_core(memoryview(where) if where is not self.source else where)
            self._process = os.getpid()
        return self._reader

    def _find_payloads(self) -> torch.Tensor:
        info = self.info()
        if info["statistics"]["raw_chunks"]:
            raise ValueError(
                "some samples are stored as they are, because dct-chop would not make them "
                'smaller; decompress with where="worker", or use a smaller cf'
            )
        if isinstance(self.source, torch.Tensor):
            stream = self.source.numpy()
        else:
            self._check_file(info)
            stream = np.memmap(self.source, np.uint8, "c")
        return payload_rows(stream, self.count)

    def _check_file(self, info: dict[str, object]) -> None:
        """Payloads are used without the reader, so every checksum is looked at once, here."""
        shape: tuple[int, ...] = info["shape"]
        kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
        out = torch.empty((1, *shape[1:]), dtype=kind.get(str(info["dtype"]), torch.float32))
        for sample in range(self.count):
            self.read(sample, out)

    def __getstate__(self) -> dict[str, object]:
        return {"source": self.source, "count": self.count}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._forget()
