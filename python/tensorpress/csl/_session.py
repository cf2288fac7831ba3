"""A running program: requests and answers over the pipe of ``tensorpress-csl``."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def program() -> str:
    """The path of tensorpress-csl: TENSORPRESS_CSL, or the first one on PATH."""
    found = os.environ.get("TENSORPRESS_CSL") or shutil.which("tensorpress-csl")
    if not found:
        raise FileNotFoundError(
            "tensorpress-csl was not found: set TENSORPRESS_CSL to its path, or put it on PATH"
        )
    return found


class Session:
    """One compiled program and its machine; ``arguments`` are those of ``tensorpress-csl``."""

    def __init__(self, arguments: Sequence[str], folder: str | Path = ".") -> None:
        self._process = subprocess.Popen(
            [program(), *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.messages = self._answer().decode()

    def _answer(self) -> bytes:
        line = self._process.stdout.readline().split()
        if len(line) != 2:
            raise RuntimeError("tensorpress-csl ended without an answer")
        words = self._process.stdout.read(int(line[1]))
        if line[0] != b"ok":
            raise RuntimeError(words.decode(errors="replace").rstrip())
        return words

    def request(self, *words: object, values: np.ndarray | None = None) -> bytes:
        """Sends a request and returns the bytes of its answer."""
        line = " ".join(str(word) for word in words) + "\n"
        data = b"" if values is None else values.astype("<u4", copy=False).tobytes()
        self._process.stdin.write(line.encode() + data)
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """Ends the machine."""
        if self._process.poll() is None:
            self._process.stdin.close()
            self._process.wait()
        self._process.stdout.close()
