"""Arrays to .tpz files and back, in one call each."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import stat
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from . import _core
from ._arrays import dtype_of
from ._codec import Codec
from ._compression import compress, decompress
from ._reader import MAX_BYTES, checked_max_bytes, checked_threads, open_core

if TYPE_CHECKING:
    Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

SUFFIX = ".tpz"
# Writes of so many bytes: between two of them Python looks for Ctrl-C.
PIECE = 16 << 20


def save(file: Path | BinaryIO, array: Any, codec: str | Codec = "dense", **keywords: Any) -> None:
    """Compresses an array into a .tpz file, with the arguments of compress().

    `file` is a path or a binary file that is open for writing. As numpy.save appends .npy, a path
    that does not end in .tpz gets that extension. A file of that name is replaced, but only when
    the new one is complete and on the disk: whatever fails before leaves the old one as it was.

    >>> tensorpress.save("field.tpz", field, relative=1e-4)
    >>> tensorpress.load("field.tpz").shape == field.shape
    True
    """
    if "out" in keywords:
        raise TypeError("save() writes to its file and takes no out=")
    if not _is_path(file):
        _check_binary(file, "write", "wb")
        _write_pieces(file, compress(array, codec, **keywords))
        return
    path = os.fsdecode(file)
    if not path.endswith(SUFFIX):
        path += SUFFIX
    _replace(path, compress(array, codec, **keywords))


def load(file: Path | BinaryIO, *, threads: int = 1, max_bytes: int = MAX_BYTES) -> Any:
    """The array in a .tpz file, decompressed.

    `file` is a path, just as it is, or a binary file that is open for reading, which is read to its
    end. Files that claim more than `max_bytes` are refused before anything is allocated. A file
    that is no whole stream raises CorruptError, which is a ValueError.

    >>> tensorpress.save("field.tpz", field, absolute=1e-3)
    >>> bool(abs(tensorpress.load("field.tpz") - field).max() <= 1e-3)
    True
    """
    threads, max_bytes = checked_threads(threads), checked_max_bytes(max_bytes)
    if not _is_path(file):
        _check_binary(file, "read", "rb")
        return decompress(file.read(), threads=threads, max_bytes=max_bytes)
    path = os.fsdecode(file)
    try:
        return _read(path, threads, max_bytes)
    except (_core.CorruptError, _core.TooLargeError, _core.UnsupportedError) as error:
        raise type(error)(f"{path}: {error}") from None


def _read(path: str, threads: int, max_bytes: int) -> np.ndarray[Any, Any]:
    reader = open_core(path)
    try:
        fields = reader.info()
        if fields["bytes_in"] > max_bytes:
            raise _core.TooLargeError(
                f"the stream claims {fields['bytes_in']} bytes, more than max_bytes={max_bytes}"
            )
        dtype = dtype_of(fields["dtype"])
        array: np.ndarray[Any, Any] = np.empty(fields["shape"], dtype)
        is_bf16 = fields["dtype"] == "bf16"
        out = array.view(np.uint16) if is_bf16 else array
        reader.read([0] * array.ndim, out, is_bf16, threads, max_bytes)
        return array
    finally:
        reader.close()


def _is_path(file: Any) -> bool:
    return isinstance(file, (str, bytes, os.PathLike))


def _check_binary(file: Any, verb: str, mode: str) -> None:
    if not hasattr(file, verb):
        raise TypeError(f"file is a path or a binary file, not {file!r}")
    if isinstance(file, io.TextIOBase):
        raise TypeError(f"file is open for text; open it with mode {mode!r}")


def _write_pieces(file: Any, stream: bytes) -> None:
    view = memoryview(stream)
    for at in range(0, len(view), PIECE):
        piece = view[at : at + PIECE]
        while len(piece) > 0:
            # Files without a buffer may write less than all of it.
            written = file.write(piece)
            piece = piece[written if isinstance(written, int) else len(piece) :]


def _replace(path: str, stream: bytes) -> None:
    """Through a temporary file beside it. A link keeps pointing to where it does."""
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    try:
        if mode is not None and not stat.S_ISREG(mode):
            with builtins.open(target, "wb") as file:  # a pipe or a device; a folder is an error
                _write_pieces(file, stream)
            return
        temporary, descriptor = _create_beside(target)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if mode is not None:
                    os.chmod(temporary, stat.S_IMODE(mode))
                _write_pieces(file, stream)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        error.filename, error.filename2 = path, None
        raise


def _create_beside(target: str) -> tuple[str, int]:
    """A new file with the permissions that the process gives to new files."""
    folder, name = os.path.split(target)
    while True:
        temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(4).hex()}.tmp")
        with contextlib.suppress(FileExistsError):
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
            return temporary, os.open(temporary, flags, 0o666)


def _sync_folder(folder: str) -> None:
    """The new name survives a power cut too, where folders can be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
