"""The parts of a checkpoint file, read when they are asked for and never trusted.

Everything that a file claims is compared with the bytes that are there before memory is taken for
it. Whatever does not fit is a CorruptError that names the part.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from ... import _core
from ..._compression import info
from ..._reader import checked_threads
from .coding import check_size, decode
from .tree import DTYPES, from_text

DOCUMENT = "checkpoint.json"
VERSIONS = (1, 2)
MAX_DOCUMENT_BYTES = 1 << 28
MAX_AXES = 64

# What zipfile, json and PyTorch raise for bytes that make no sense.
SYMPTOMS = (
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


class Parts:
    """The archive, its document, and tensors made of them."""

    def __init__(self, path: str | os.PathLike[str], threads: int, max_bytes: int) -> None:
        self.path = os.fspath(path)
        self.threads = checked_threads(threads)
        self.max_bytes = max_bytes
        self._exact: tuple[str, bytes] = ("", b"")
        file = open(path, "rb")
        try:
            self.writer = "an unknown program"
            with self.trouble("the list of its parts"):
                self.archive = zipfile.ZipFile(file)
                self.sizes = self._sizes()
            document = self._document()
            with self.trouble(DOCUMENT):
                self._check_document(document)
        except BaseException:
            file.close()
            raise
        self._file = file

    def close(self) -> None:
        self.archive.close()
        self._file.close()

    # ---- The archive ----

    def _sizes(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for part in self.archive.infolist():
            as_it_is = part.compress_type == zipfile.ZIP_STORED
            if not as_it_is and part.filename.startswith(("streams/", "exact/")):
                raise ValueError(f"{part.filename} is not stored as it is")
            if as_it_is and part.compress_size != part.file_size:
                raise ValueError(f"{part.filename} has two sizes")
            if part.filename in sizes:
                raise ValueError(f"{part.filename} is there twice")
            sizes[part.filename] = part.file_size
        return sizes

    def _document(self) -> dict[str, Any]:
        if DOCUMENT not in self.sizes:
            by_torch = any(name.endswith("data.pkl") for name in self.sizes)
            hint = "; torch.save wrote it, so use torch.load" if by_torch else ""
            raise _core.CorruptError(f"{self.path} is not a Tensorpress checkpoint{hint}")
        if self.sizes[DOCUMENT] > MAX_DOCUMENT_BYTES:
            raise _core.TooLargeError(f"{DOCUMENT} of {self.path} has {self.sizes[DOCUMENT]} bytes")
        with self.trouble(DOCUMENT):
            document = from_text(self._read(DOCUMENT))
            if document["format"] != "tensorpress-checkpoint":
                raise ValueError(f"the format is {document['format']!r}")
            self.writer = str(document["writer"])
            version = int(document["version"])
        if version not in VERSIONS:
            raise _core.UnsupportedError(
                f"{self.path} is a checkpoint of version {version}, written by {self.writer}; "
                f"tensorpress {_core.__version__} reads versions up to {VERSIONS[-1]}: use a newer "
                "one"
            )
        return dict(document)

    def _check_document(self, document: dict[str, Any]) -> None:
        self.tree = document["object"]
        self.storages: list[dict[str, Any]] = document["storages"]
        self.tensors: list[dict[str, Any]] = document["tensors"]
        total = sum(_count(storage["bytes"]) for storage in self.storages)
        if total > self.max_bytes:
            raise _core.TooLargeError(
                f"the tensors of {self.path} take {total} bytes, more than {self.max_bytes=}"
            )
        for storage in self.storages:
            size, end = self.sizes[storage["part"]], _count(storage.get("offset", 0))
            if "offset" in storage and end + storage["bytes"] > size:
                raise ValueError(f"{storage['part']} has {size} bytes, too few for a tensor in it")
        for tensor in self.tensors:
            _check_tensor(tensor, self.storages)

    def _read(self, name: str) -> bytes:
        with self.archive.open(name) as part:
            data = part.read(self.sizes[name])
            if len(data) != self.sizes[name] or part.read(1):  # the last read checks the CRC
                raise ValueError(f"it has not the {self.sizes[name]} bytes that it should have")
        return data

    # ---- Tensors ----

    def tensor(
        self,
        number: int,
        devices: Mapping[str, torch.device],
        storages: dict[int, torch.Tensor],
    ) -> torch.Tensor:
        """A tensor; those that are given the same `storages` share memory where they did."""
        with self.trouble("the structure"):
            if type(number) is not int or not 0 <= number < len(self.tensors):
                raise ValueError(f"there is no tensor {number!r}")
            entry = self.tensors[number]
        at = entry["storage"]
        if at not in storages:
            memory = self._storage(at, DTYPES[entry["dtype"]], self.threads)
            storages[at] = memory.to(devices[entry["device"]])
        with self.trouble(entry["names"][0]):
            memory = storages[at]
            tensor = torch.empty(0, dtype=DTYPES[entry["dtype"]], device=memory.device)
            tensor.set_(memory.untyped_storage(), entry["offset"], entry["shape"], entry["stride"])
            if entry["parameter"]:
                return torch.nn.Parameter(tensor, bool(entry["requires_grad"]))
            return tensor.requires_grad_(bool(entry["requires_grad"]))

    def describe(self, number: int) -> dict[str, Any]:
        entry = self.tensors[number]
        storage = self.storages[entry["storage"]]
        fields = {key: entry[key] for key in ("names", "dtype", "shape", "device")}
        if "offset" in storage:
            return {**fields, "codec": "exact", "bytes_out": storage["bytes"]}
        with self.trouble(storage["part"]):
            told = info(self._read(storage["part"]))
        kept = {key: told[key] for key in ("codec", "parameters", "bytes_out", "ratio")}
        of_bits = {"floats_as_bits": True} if storage.get("floats_as_bits") else {}
        return {**fields, **kept, **of_bits}

    def streams(self, devices: Mapping[str, torch.device]) -> dict[int, torch.Tensor]:
        """The storages that are streams, read by all threads at once."""
        wanted = {
            entry["storage"]: entry
            for entry in self.tensors
            if "offset" not in self.storages[entry["storage"]]
        }
        inner = max(1, self.threads // max(1, len(wanted)))

        def read(entry: dict[str, Any]) -> torch.Tensor:
            memory = self._storage(entry["storage"], DTYPES[entry["dtype"]], inner)
            return memory.to(devices[entry["device"]])

        with ThreadPoolExecutor(self.threads) as pool:
            return dict(zip(wanted, pool.map(read, wanted.values()), strict=True))

    def _storage(self, at: int, dtype: torch.dtype, threads: int) -> torch.Tensor:
        """The memory of a storage, whole."""
        storage = self.storages[at]
        part = storage["part"]
        with self.trouble(part):
            if "offset" in storage:
                return self._exact_bytes(part, storage["offset"], storage["bytes"])
            stream = self._read(part)
            check_size(stream, storage["bytes"])
            values = torch.empty(storage["bytes"] // dtype.itemsize, dtype=dtype)
            bits = storage.get("floats_as_bits", False)
            decode(stream, values, bits, storage["nonnegative"], threads)
            return values

    def _exact_bytes(self, part: str, offset: int, size: int) -> torch.Tensor:
        name, content = self._exact
        if name != part:  # tensors in one part are mostly read one after the other
            content = self._read(part)
            self._exact = (part, content)
        memory = torch.empty(size, dtype=torch.uint8)
        if size:
            memory.numpy()[:] = np.frombuffer(content, np.uint8, size, offset)
        return memory

    @contextlib.contextmanager
    def trouble(self, part: str) -> Iterator[None]:
        """Turns what goes wrong in the block into an error that names the file and the part."""
        try:
            yield
        except _core.UnsupportedError as error:
            raise _core.UnsupportedError(
                f"{part} of {self.path}, written by {self.writer}, cannot be read by tensorpress "
                f"{_core.__version__}: {error}"
            ) from None
        except (_core.TooLargeError, _core.CorruptError) as error:
            if self.path in str(error):
                raise
            raise type(error)(f"{part} of {self.path}: {error}") from None
        except (*SYMPTOMS, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise  # the disk's own trouble; EINVAL comes from seeking to where a file says
            raise _core.CorruptError(
                f"{self.path} is damaged, or no checkpoint: {part}: {error or type(error).__name__}"
            ) from error


def _check_tensor(tensor: Mapping[str, Any], storages: list[dict[str, Any]]) -> None:
    """Everything that a tensor touches must lie in its storage."""
    names, shape, stride = tensor["names"], tensor["shape"], tensor["stride"]
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"a tensor has the names {names!r}")
    storage = storages[_count(tensor["storage"])]
    if len(shape) != len(stride) or len(shape) > MAX_AXES:
        raise ValueError(f"{names[0]} has {len(shape)} axes and {len(stride)} strides")
    extents, steps = [_count(each) for each in shape], [_count(each) for each in stride]
    last = _count(tensor["offset"])
    if 0 not in extents:
        last += 1 + sum((n - 1) * step for n, step in zip(extents, steps, strict=True))
    if last * DTYPES[tensor["dtype"]].itemsize > storage["bytes"]:
        raise ValueError(f"{names[0]} goes beyond its {storage['bytes']} bytes")
    torch.device(tensor["device"])
    for key in ("requires_grad", "parameter"):
        if not isinstance(tensor[key], bool):
            raise ValueError(f"{key} of {names[0]} is {tensor[key]!r}")


def _count(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 1 << 62:
        raise ValueError(f"{number!r} is not a size")
    return number
