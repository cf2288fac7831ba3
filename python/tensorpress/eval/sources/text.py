"""Text as bytes, cut into windows whose targets are the same bytes one further on.

Found in DIR/text/NAME: every file below it that holds UTF-8, in the order of their names, joined.
Every tenth block of 16 KiB is for tests, so that both parts have something of everything. Without
DIR the text is what every Python has: its help, and the source of one of its packages.
"""

from __future__ import annotations

import email
import pathlib
from collections.abc import Iterable, Iterator

import torch

from ..benchmark import Data, DataError

BLOCK = 1 << 14
TEST_EVERY = 10
SEED = 25  # of the choice of windows, which is the same for every run


def load(folder: pathlib.Path | None, name: str, length: int, train: int, test: int) -> Data:
    """Windows of `length` bytes: as many as asked for, or all there are."""
    if folder is None:
        text, source = _of_python(name)
    else:
        text, source = _of_files(folder / "text" / name)
    parts: tuple[list[bytes], list[bytes]] = ([], [])
    for number, start in enumerate(range(0, len(text), BLOCK)):
        parts[number % TEST_EVERY == TEST_EVERY - 1].append(text[start : start + BLOCK])
    generator = torch.Generator().manual_seed(SEED)
    chosen = []
    for part, count in zip(parts, (train, test), strict=True):
        windows = _windows(part, length)
        if len(windows) == 0:
            raise DataError(
                f"{source}: {len(text)} bytes are too few; {TEST_EVERY * BLOCK} or more are needed"
            )
        chosen.append(windows[torch.randperm(len(windows), generator=generator)[:count]])
    first, second = chosen
    return Data(first[:, :-1], first[:, 1:], second[:, :-1], second[:, 1:], source)


def _windows(blocks: Iterable[bytes], length: int) -> torch.Tensor:
    """Each begins where the one before it ends, with the byte that was its last target."""
    rows = [
        torch.frombuffer(bytearray(block), dtype=torch.uint8).unfold(0, length + 1, length)
        for block in blocks
        if len(block) > length
    ]
    return torch.cat(rows).long() if rows else torch.empty(0, length + 1, dtype=torch.long)


def _of_files(folder: pathlib.Path) -> tuple[bytes, str]:
    if not folder.is_dir():
        raise DataError(
            f"{folder} is not a directory: it is where the text is looked for. Without --data, "
            "Python's own help and sources are the text"
        )
    texts = list(_texts(folder))
    if not texts:
        raise DataError(f"{folder} holds no text in UTF-8")
    text = b"\n".join(texts)
    return text, f"{len(texts)} files of {folder.name} text, {len(text)} bytes"


def _texts(folder: pathlib.Path) -> Iterator[bytes]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            try:
                content.decode()
            except UnicodeDecodeError:
                continue
            if b"\0" not in content:
                yield content


def _of_python(name: str) -> tuple[bytes, str]:
    if name == "pretrain":
        from pydoc_data.topics import topics

        return "\n".join(topics.values()).encode(), "the help topics of this Python"
    library = pathlib.Path(email.__file__).parent.parent
    names = sorted((library / "asyncio").glob("*.py")) + sorted((library / "email").glob("*.py"))
    text = b"\n".join(path.read_bytes() for path in names)
    return text, "the source of this Python's packages asyncio and email"
