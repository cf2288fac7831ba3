"""Writes a checkpoint: rules give each storage its codec, and the file takes its name when it is
complete and on the disk; until then the old one stays."""

from __future__ import annotations

import collections
import contextlib
import os
import zipfile
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

import torch

from ... import _core
from ..._codec import Codec
from ..._compression import codecs as all_codecs
from ..._reader import checked_threads
from . import coding
from .coding import Coded
from .parts import DOCUMENT
from .replacing import replacing
from .report import CheckpointReport, StorageReport
from .storages import Rules, Storage, View, with_effort
from .tree import encode, to_text

EXACT_PART_BYTES = 1 << 20  # small exact storages share a part of about this size


def save(
    obj: Any,
    path: str | os.PathLike[str],
    codec: str | Codec = "dense",
    *,
    absolute: float | None = None,
    relative: float | None = None,
    pointwise_relative: float | None = None,
    psnr: float | None = None,
    ratio: float | None = None,
    bounds: Mapping[str, Any] | None = None,
    min_elements: int = 1024,
    check: bool = True,
    threads: int = 1,
    **parameters: Any,
) -> CheckpointReport:
    """Writes a nested object of dicts, lists, numbers, texts and tensors, and returns a report.

    Floating-point tensors of at least `min_elements` are compressed with `codec` under the bound
    that is given as for tensorpress.compress; others and all zeros, NaN and infinities are exact.
    `dense` works at effort="fast" if no other is given: weights look like noise, and "normal" finds
    a few percent more in three times the time or more.
    `bounds` has exceptions by name, the first that matches: {"model.fc.*": "exact",
    "model.*": {"relative": 1e-4}, "*": tensorpress.Codec("cast", to="bf16")}; with `bounds` and no
    other bound everything else is exact. Names are the keys joined by points, and * is anything;
    small tensors need a pattern that is their whole name.

    A relative bound of what optimizers divide by (exp_avg_sq and the like, running_var) is kept
    relative to each value instead of to their range; other kinds of bounds leave these exact.
    Values that were not negative stay so. With `check` every stream is read again before the file
    is given its name.

    >>> report = tensorpress.torch.save({"w": torch.randn(64, 64), "step": 5}, path, relative=1e-2)
    >>> report.ratio > 2, sorted(tensorpress.torch.load(path))
    (True, ['step', 'w'])
    """
    rules = rules_of(
        codec,
        absolute=absolute,
        relative=relative,
        pointwise_relative=pointwise_relative,
        psnr=psnr,
        ratio=ratio,
        bounds=bounds,
        min_elements=min_elements,
        **parameters,
    )
    return write(obj, path, rules, check=check, threads=threads)


def rules_of(
    codec: str | Codec = "dense",
    *,
    bounds: Mapping[str, Any] | None = None,
    min_elements: int = 1024,
    **given: Any,
) -> Rules:
    """What the arguments of `save` say about tensors."""
    return Rules(_default(codec, given, bool(bounds)), bounds, min_elements)


def write(
    obj: Any,
    path: str | os.PathLike[str],
    rules: Rules,
    *,
    check: bool = True,
    threads: int = 1,
    every_pattern: bool = True,
) -> CheckpointReport:
    """`every_pattern` of the rules must be that of a tensor."""
    threads = checked_threads(threads)
    views = _Views()
    tree = encode(obj, views.put)
    codecs = [rules.of(storage) for storage in views.settled()]
    if every_pattern:
        rules.check_patterns(rules.matched)
    with replacing(path) as file:
        writer = _Writer(file, check, threads)
        try:
            writer.add_all(list(zip(views.storages, codecs, strict=True)))
            writer.finish(tree, views.views)
        finally:
            writer.close()
    return CheckpointReport(writer.entries, os.path.getsize(path))


def _default(codec: str | Codec, given: dict[str, Any], others: bool) -> Codec | None:
    """The codec of tensors without a rule of their own; None is exact."""
    wanted = {key: each for key, each in given.items() if each is not None}
    if isinstance(codec, Codec):
        if wanted:
            raise ValueError(f"{codec!r} already says how; give {', '.join(wanted)} to it instead")
        return codec
    if codec == "exact":
        if wanted:
            raise ValueError(f'"exact" takes no {", ".join(wanted)}')
        return None
    if others and not wanted and all_codecs().get(codec, {}).get("error_bounded"):
        return None
    if isinstance(codec, str) and codec not in all_codecs():
        raise ValueError(f"there is no codec {codec!r}; use exact, {', '.join(all_codecs())}")
    return Codec.from_dict(with_effort({"codec": codec, **wanted}))


class _Views:
    """Tensors as they are met, and the storages behind them."""

    def __init__(self) -> None:
        self.views: list[View] = []
        self.storages: list[Storage] = []
        self._seen: dict[int, int] = {}
        self._of_storage: dict[int, int] = {}
        self._kept: list[torch.Tensor] = []  # so that no id is given twice

    def put(self, tensor: torch.Tensor, name: str) -> int:
        if id(tensor) in self._seen:
            number = self._seen[id(tensor)]
            self.views[number].names.append(name)
            return number
        _check(tensor, name)
        self._kept.append(tensor)
        plain = tensor.resolve_conj().resolve_neg()
        key = plain.untyped_storage()._cdata
        storage = self._of_storage.setdefault(key, len(self.storages))
        if storage == len(self.storages):
            self.storages.append(Storage())
        self.views.append(View([name], plain, storage))
        self.storages[storage].views.append(self.views[-1])
        self._seen[id(tensor)] = len(self.views) - 1
        return len(self.views) - 1

    def settled(self) -> list[Storage]:
        for storage in self.storages:
            storage.settle()
        return self.storages


class _Writer:
    """Parts into the archive, and what the document says about them."""

    def __init__(self, file: BinaryIO, check: bool, threads: int) -> None:
        self.archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self.check = check
        self.threads = threads
        self.storages: list[dict[str, Any]] = []
        self.entries: list[StorageReport] = []
        self.exact: list[bytes] = []
        self.exact_bytes = 0
        self.exact_parts = 0
        self.version = 1  # readers of version 1 know nothing of floats as bits

    def add_all(self, work: list[tuple[Storage, Codec | None]]) -> None:
        """In order; while one is written, the next ones are compressed, a thread each. One thread
        works by itself, because two that take turns hinder each other."""
        if self.threads == 1:
            for storage, codec in work:
                self._add(storage, codec, *self._code(storage, codec, 1))
            return
        with ThreadPoolExecutor(self.threads) as pool:
            waiting: collections.deque[Future[tuple[torch.Tensor, Coded | None]]] = (
                collections.deque()
            )
            inner = max(1, self.threads // max(1, sum(codec is not None for _, codec in work)))
            for at, (storage, codec) in enumerate(work):
                while len(waiting) <= self.threads and at + len(waiting) < len(work):
                    waiting.append(pool.submit(self._code, *work[at + len(waiting)], inner))
                memory, coded = waiting.popleft().result()
                self._add(storage, codec, memory, coded)

    def _code(
        self, storage: Storage, codec: Codec | None, threads: int
    ) -> tuple[torch.Tensor, Coded | None]:
        memory = storage.memory()
        if codec is None or not storage.bytes:
            return memory, None
        assert storage.dtype is not None
        values = memory.view(storage.dtype)
        shape = storage.shape(values.numel())
        return memory, coding.encode(values, codec, shape, self.check, threads, storage.names[0])

    def _add(
        self, storage: Storage, codec: Codec | None, memory: torch.Tensor, coded: Coded | None
    ) -> None:
        report = StorageReport(storage.names, str(storage.dtype), storage.bytes, storage.bytes)
        if coded is None:
            entry = self._exact(memory)
        else:
            part = f"streams/{len(self.storages)}.tpz"
            self._write(part, coded.stream)
            entry = {"bytes": storage.bytes, "part": part, "nonnegative": coded.nonnegative}
            if coded.bits:
                entry["floats_as_bits"] = True
                self.version = 2
            report.bytes_out, report.codec = len(coded.stream), repr(codec)
            report.max_abs_error = coded.max_abs_error
            report.max_rel_error = coded.max_rel_error
        self.storages.append(entry)
        self.entries.append(report)

    def _exact(self, memory: torch.Tensor) -> dict[str, Any]:
        if self.exact_bytes and self.exact_bytes + memory.nbytes > EXACT_PART_BYTES:
            self._flush()
        entry = {
            "bytes": memory.nbytes,
            "part": f"exact/{self.exact_parts}",
            "offset": self.exact_bytes,
        }
        self.exact.append(memory.numpy().data)
        self.exact_bytes += memory.nbytes
        padding = -self.exact_bytes % 16
        self.exact.append(bytes(padding))
        self.exact_bytes += padding
        return entry

    def _flush(self) -> None:
        if self.exact:
            self._write(f"exact/{self.exact_parts}", *self.exact)
            self.exact, self.exact_bytes = [], 0
            self.exact_parts += 1

    def _write(self, name: str, *pieces: Any) -> None:
        # A date would make equal checkpoints different files.
        part = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        part.compress_type = zipfile.ZIP_DEFLATED if name == DOCUMENT else zipfile.ZIP_STORED
        with self.archive.open(part, "w", force_zip64=True) as out:
            for piece in pieces:
                out.write(piece)

    def finish(self, tree: Any, views: list[View]) -> None:
        self._flush()
        document = {
            "format": "tensorpress-checkpoint",
            "version": self.version,
            "writer": f"tensorpress {_core.__version__}",
            "object": tree,
            "tensors": [_description(view) for view in views],
            "storages": self.storages,
        }
        self._write(DOCUMENT, to_text(document))
        self.archive.close()

    def close(self) -> None:
        """Lets go of the file also when it could not be finished."""
        with contextlib.suppress(Exception):
            self.archive.close()


def _description(view: View) -> dict[str, Any]:
    tensor = view.tensor
    return {
        "names": view.names,
        "storage": view.storage,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "offset": view.offset,
        "device": str(tensor.device),
        "requires_grad": tensor.requires_grad,
        "parameter": isinstance(tensor, torch.nn.Parameter),
    }


def _check(tensor: torch.Tensor, name: str) -> None:
    reason = None
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        reason = f"a {type(tensor).__name__}; convert it to a plain tensor"
    elif tensor.layout != torch.strided:
        reason = f"a tensor of layout {tensor.layout}; pass its to_dense()"
    elif tensor.is_quantized:
        reason = "a quantized tensor; pass its int_repr() and scales"
    elif tensor.device.type == "meta":
        reason = "on the device meta and has no values; leave it out"
    if reason is not None:
        raise TypeError(f"{name or 'this'} is {reason}")
