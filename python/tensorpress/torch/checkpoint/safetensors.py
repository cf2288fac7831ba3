"""State dicts in safetensors files, some of whose tensors are compressed.

The file is a safetensors file that every reader opens. A tensor that is stored as it is has its own
name, type and shape. A compressed one is a row of bytes (U8) named NAME.tpz, which is a stream of
docs/format.md; the metadata entry `tensorpress` says in JSON what it stands for. A reader that
knows nothing of this therefore misses the tensor by its name instead of misreading it.
"""

from __future__ import annotations

import importlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ... import _core
from ..._codec import Codec
from ..._reader import MAX_BYTES, checked_threads
from . import coding
from .parts import SYMPTOMS
from .replacing import replacing
from .report import CheckpointReport, StorageReport
from .saving import rules_of
from .storages import Storage, View
from .tree import DTYPES

ENTRY = "tensorpress"
SUFFIX = ".tpz"
VERSION = 1


def save_safetensors(
    tensors: Mapping[str, torch.Tensor],
    path: str | os.PathLike[str],
    codec: str | Codec = "dense",
    *,
    metadata: Mapping[str, str] | None = None,
    check: bool = True,
    threads: int = 1,
    **settings: Any,
) -> CheckpointReport:
    """Writes a dict of tensors as a safetensors file, compressed as tensorpress.torch.save would:
    with the same codecs, bounds and exceptions. Read it with load_safetensors.

    >>> weights = {"w": torch.randn(64, 64), "b": torch.ones(3)}
    >>> report = tensorpress.torch.save_safetensors(weights, path, relative=1e-2)
    >>> report.ratio > 2, sorted(tensorpress.torch.load_safetensors(path))
    (True, ['b', 'w'])
    """
    library = _library()
    threads = checked_threads(threads)
    rules = rules_of(codec, **settings)
    kept: dict[str, torch.Tensor] = {}
    said: dict[str, Any] = {}
    reports = []
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}; safetensors holds tensors only")
        values = tensor.detach().cpu().contiguous()
        storage = Storage([View([name], values, 0)])
        storage.settle()
        chosen = rules.of(storage)
        report = StorageReport([name], str(values.dtype), values.nbytes, values.nbytes)
        coded = None
        if chosen is not None and values.numel():
            flat = values.view(-1)
            shape = storage.shape(flat.numel())
            coded = coding.encode(flat, chosen, shape, check, threads, name)
        if coded is None:
            kept[name] = values
        else:
            kept[name + SUFFIX] = torch.frombuffer(bytearray(coded.stream), dtype=torch.uint8)
            said[name] = {
                "dtype": str(values.dtype).removeprefix("torch."),
                "shape": list(values.shape),
                "nonnegative": coded.nonnegative,
                "floats_as_bits": coded.bits,
            }
            report.bytes_out, report.codec = len(coded.stream), repr(chosen)
            report.max_abs_error = coded.max_abs_error
            report.max_rel_error = coded.max_rel_error
        reports.append(report)
    rules.check_patterns(rules.matched)
    if len(kept) != len(tensors):
        raise ValueError(f"names of tensors must not differ by {SUFFIX} alone")
    document = {"version": VERSION, "writer": _core.__version__, "tensors": said}
    content = library.save(kept, {**(metadata or {"format": "pt"}), ENTRY: json.dumps(document)})
    with replacing(path) as file:
        file.write(content)
    return CheckpointReport(reports, os.path.getsize(path))


def load_safetensors(
    path: str | os.PathLike[str],
    device: str | torch.device = "cpu",
    *,
    names: Iterable[str] | None = None,
    threads: int = 1,
    max_bytes: int = MAX_BYTES,
) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, compressed or not, or those of `names` alone."""
    safe_open = importlib.import_module("safetensors").safe_open if _library() else None
    threads = checked_threads(threads)
    try:
        opened = safe_open(os.fspath(path), "pt")
    except OSError:
        raise
    except Exception as error:  # safetensors has an error of its own
        raise _core.CorruptError(f"{os.fspath(path)} is no safetensors file: {error}") from None
    with opened as file:
        said = _said(file.metadata(), path)
        keys: list[str] = file.keys()
        there = [key.removesuffix(SUFFIX) if _compressed(key, said) else key for key in keys]
        missing = sorted(set(names or ()) - set(there))
        if missing:
            raise KeyError(f"{missing[0]!r} is not a tensor of {os.fspath(path)}")
        left = max_bytes
        loaded = {}
        for name in there if names is None else dict.fromkeys(names):
            if name in said:
                tensor = _decoded(file, name, said[name], threads, left, path)
            else:
                tensor = file.get_tensor(name)
            left -= tensor.nbytes
            loaded[name] = tensor.to(device)
        return loaded


def _compressed(key: str, said: Mapping[str, Any]) -> bool:
    return key.endswith(SUFFIX) and key.removesuffix(SUFFIX) in said


def _said(metadata: Mapping[str, str] | None, path: Any) -> dict[str, Any]:
    """What the metadata say of compressed tensors."""
    if not metadata or ENTRY not in metadata:
        return {}
    try:
        document = json.loads(metadata[ENTRY])
        if document["version"] != VERSION:
            raise _core.UnsupportedError(
                f"{os.fspath(path)} has compressed tensors of version {document['version']}, "
                f"written by {document['writer']}; this reads version {VERSION}"
            )
        return dict(document["tensors"])
    except _core.UnsupportedError:
        raise
    except SYMPTOMS as error:
        raise _core.CorruptError(f"the metadata of {os.fspath(path)} are damaged") from error


def _decoded(
    file: Any, name: str, fields: Mapping[str, Any], threads: int, left: int, path: Any
) -> torch.Tensor:
    where = f"{name} of {os.fspath(path)}"
    try:
        stream = file.get_tensor(name + SUFFIX)
        dtype, shape = DTYPES[fields["dtype"]], [int(extent) for extent in fields["shape"]]
        count = math.prod(shape)
        if min(shape, default=0) < 0 or count * dtype.itemsize > left:
            raise _core.TooLargeError(f"{where} claims the shape {shape}, more than max_bytes")
        coding.check_size(stream.numpy(), count * dtype.itemsize)
        values = torch.empty(count, dtype=dtype)
        bits, nonnegative = bool(fields["floats_as_bits"]), bool(fields["nonnegative"])
        coding.decode(stream.numpy(), values, bits, nonnegative, threads)
        return values.view(shape)
    except (_core.TooLargeError, _core.UnsupportedError):
        raise
    except (_core.CorruptError, *SYMPTOMS) as error:
        raise _core.CorruptError(f"{where} is damaged: {error}") from None
    except Exception as error:
        if type(error).__name__ != "SafetensorError":
            raise
        raise _core.CorruptError(f"{where} is damaged: {error}") from None


def _library() -> Any:
    try:
        return importlib.import_module("safetensors.torch")
    except ImportError:
        raise ImportError(
            "this needs safetensors, which is not installed: pip install safetensors"
        ) from None
