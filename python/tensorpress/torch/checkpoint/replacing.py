"""A file that is the old one until the new one is complete and on the disk."""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when it is complete and on the disk."""
    target = pathlib.Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(f"{os.fspath(path)} is not a file that can be replaced")
    temporary = target.parent / f".{target.name[:100]}.{secrets.token_hex(8)}"
    try:
        created = temporary.open("xb")
    except OSError as error:  # names the temporary file, which the caller does not know
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with created as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
