"""Runs the compressor of a Python package for `tensorpress bench --peers`, one command a line.

The benchmark starts this file with a socket as descriptor 3 and shared memory as descriptor 4: the
field at its start, the copy of it after that. Every command has one line as its answer.

    open sz3                            ready
    prepare f4 12x40x50 0.001           done
    compress                            SECONDS BYTES
    decompress                          SECONDS
Any of them may be answered by `cannot`, a space and the reason.
"""

import mmap
import socket
import time

import numpy as np


class Sz3:
    """pysz, which carries SZ3."""

    def __init__(self):
        import pysz

        self.package = pysz

    def prepare(self, field, bound):
        self.field = field
        self.config = self.package.szConfig(field.shape)
        self.config.errorBoundMode = self.package.szErrorBoundMode.ABS
        self.config.absErrorBound = bound

    def compress(self):
        return self.package.sz.compress(self.field, self.config)[0]

    def decompress(self, packed, copy):
        values, _ = self.package.sz.decompress(packed, self.field.dtype, self.field.shape)
        return values


class Pcodec:
    """pcodec, lossless; it sees a list of numbers without a shape."""

    def __init__(self):
        import pcodec
        from pcodec import standalone

        self.config, self.standalone = pcodec.ChunkConfig(), standalone

    def prepare(self, field, bound):
        self.field = field.reshape(-1)

    def compress(self):
        return self.standalone.simple_compress(self.field, self.config)

    def decompress(self, packed, copy):
        self.standalone.simple_decompress_into(packed, copy.reshape(-1))
        return copy


PEERS = {"sz3": Sz3, "pcodec": Pcodec}


class Worker:
    def open(self, name):
        self.peer = PEERS[name]()
        return "ready"

    def prepare(self, dtype, shape, bound):
        shape = tuple(int(extent) for extent in shape.split("x"))
        count = int(np.prod(shape))
        memory = mmap.mmap(4, 2 * count * np.dtype(dtype).itemsize)
        values = np.frombuffer(memory, dtype).reshape(2, *shape)
        self.copy = values[1]
        self.peer.prepare(values[0], float(bound))
        return "done"

    def compress(self):
        start = time.perf_counter()
        self.packed = self.peer.compress()
        seconds = time.perf_counter() - start
        return f"{seconds!r} {len(self.packed)}"

    def decompress(self):
        start = time.perf_counter()
        values = self.peer.decompress(self.packed, self.copy)
        seconds = time.perf_counter() - start
        if values is not self.copy:
            self.copy[...] = values
        return f"{seconds!r}"


def main():
    worker = Worker()
    commands = socket.socket(fileno=3).makefile("rw")
    for line in commands:
        command, *arguments = line.split()
        try:
            answer = getattr(worker, command)(*arguments)
        except Exception as error:
            answer = "cannot " + " ".join(f"{type(error).__name__}: {error}".split())
        print(answer, file=commands, flush=True)


main()
