"""A map-style dataset whose samples have several parts: dicts and tuples of tokens, masks, floats
and anything else. Whole numbers are stored exactly in as few bits as they need, floats with a
codec, and the rest as it is."""

from __future__ import annotations

import bisect
import itertools
import json
import operator
import os
import pathlib
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from ... import _core
from ..._codec import Codec, Parameter, codec_from
from ..._reader import checked_threads
from .integers import TYPES, IntegerShard
from .labels import check_labels, load_labels, save_labels
from .samples import FLOATS
from .shards import Shard

DESCRIPTION = "records.json"
OTHERS = "others.pt"
# What torch.load raises for files that make no sense.
DAMAGE = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, LookupError, TypeError)

Part = torch.Tensor | Any


class CompressedRecords(Dataset[Any]):
    """The samples of another dataset, part by part.

    source:   a map-style dataset of dicts, tuples, tensors or NumPy arrays, all of one structure
    codec:    of floats, as for tensorpress.compress, with its parameters as keywords; without it
              they are stored exactly. `codecs` has others by key, or None for exactly.
    folder:   writes files there instead of keeping the samples in memory

    Whole numbers and booleans are stored exactly and may have any sizes; floats with a codec have
    one shape each. What is no tensor comes back as it was.

    >>> texts = [{"input_ids": torch.randint(0, 32000, (n,)), "label": n} for n in (50, 70, 90)]
    >>> data = CompressedRecords(texts)
    >>> bool((data[1]["input_ids"] == texts[1]["input_ids"]).all()), data[2]["label"]
    (True, 90)
    >>> data.ratio > 3
    True
    """

    def __init__(
        self,
        source: Any,
        codec: str | Codec | None = None,
        *,
        codecs: Mapping[str, Codec | None] | None = None,
        folder: str | os.PathLike[str] | None = None,
        shard_bytes: int = 64 << 20,
        threads: int = 1,
        **parameters: Parameter | None,
    ) -> None:
        default = None if codec is None else codec_from(codec, parameters)
        if codec is None and parameters:
            raise ValueError(f"{', '.join(parameters)} belong to a codec, and none is given")
        home = None if folder is None else _new_folder(pathlib.Path(folder).absolute())
        if not hasattr(source, "__getitem__") or not hasattr(source, "__len__"):
            raise TypeError(
                f"a {type(source).__name__} is not a map-style dataset, which has len() and [index]"
            )
        if len(source) == 0:
            raise ValueError("the source is empty: there is nothing to store")
        first, self._structure = _parts_of(source[0], 0)
        unknown = set(codecs or ()) - set(first)
        if unknown:
            raise ValueError(f"codecs has {sorted(unknown)[0]!r}; samples have {', '.join(first)}")
        chosen = {name: default for name in first} | dict(codecs or {})
        threads = checked_threads(threads)
        self._columns = {
            name: _new_column(part, chosen[name], home, number, shard_bytes, threads)
            for number, (name, part) in enumerate(first.items())
        }
        for place in range(len(source)):
            parts, structure = (
                _parts_of(source[place], place) if place else (first, self._structure)
            )
            if structure != self._structure or parts.keys() != first.keys():
                raise ValueError(
                    f"sample {place} is a {structure} of {', '.join(parts)}, and the first is a "
                    f"{self._structure} of {', '.join(first)}"
                )
            for name, part in parts.items():
                self._columns[name].add(part, f"{name} of sample {place}")
        for column in self._columns.values():
            column.finish()
        self._length = len(source)
        if home is not None:
            self._describe(home)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> CompressedRecords:
        """What was written with folder=, from any process."""
        home = pathlib.Path(folder).absolute()
        path = home / DESCRIPTION
        if not path.is_file():
            raise FileNotFoundError(
                f"{home} holds no {DESCRIPTION}: nothing was written there, or writing was "
                "interrupted; write it with CompressedRecords(source, folder=...)"
            )
        self = cls.__new__(cls)
        others = load_labels(home / OTHERS)
        try:
            fields = json.loads(path.read_text())
            self._structure, self._length = fields["structure"], int(fields["length"])
            self._columns = {
                name: _column_of(kind, home, number, others)
                for number, (name, kind) in enumerate(fields["columns"].items())
            }
            if self._structure not in STRUCTURES:
                raise ValueError(f"samples are {self._structure!r}")
        except DAMAGE as error:
            raise _core.CorruptError(f"{path} is damaged: {error!r}") from error
        if any(len(column) != self._length for column in self._columns.values()):
            raise _core.CorruptError(f"{home} has not {self._length} values of every part")
        return self

    def _describe(self, home: pathlib.Path) -> None:
        """Last and at once: a folder without a description is not finished."""
        others = [each.values for each in self._columns.values() if isinstance(each, _Others)]
        save_labels(others, home / OTHERS)
        fields = {
            "structure": self._structure,
            "length": self._length,
            "columns": {name: column.describe() for name, column in self._columns.items()},
        }
        draft = home / (DESCRIPTION + ".part")
        draft.write_text(json.dumps(fields, indent=1))
        draft.replace(home / DESCRIPTION)

    def __len__(self) -> int:
        return self._length

    @property
    def stored_bytes(self) -> int:
        """Of all tensors; what is no tensor does not count."""
        return sum(column.nbytes for column in self._columns.values())

    @property
    def original_bytes(self) -> int:
        """Of the same tensors in the source."""
        return sum(column.plain_bytes for column in self._columns.values())

    @property
    def ratio(self) -> float:
        return self.original_bytes / self.stored_bytes if self.stored_bytes else 1.0

    def __getitem__(self, index: int) -> Any:
        place = operator.index(index)
        if not -self._length <= place < self._length:
            raise IndexError(f"index {index} is out of range for {self._length} samples")
        place %= self._length
        parts = {name: column.read(place) for name, column in self._columns.items()}
        return STRUCTURES[self._structure](parts)

    def __repr__(self) -> str:
        return (
            f"<CompressedRecords of {len(self)} samples of {', '.join(self._columns)}, "
            f"{self.stored_bytes} bytes, {self.ratio:.2f} times smaller>"
        )


STRUCTURES: dict[str, Any] = {
    "dict": dict,
    "tuple": lambda parts: tuple(parts.values()),
    "list": lambda parts: list(parts.values()),
    "tensor": lambda parts: parts["tensor"],
}


def _parts_of(sample: Any, place: int) -> tuple[dict[str, Any], str]:
    if isinstance(sample, Mapping):
        if not all(isinstance(key, str) for key in sample):
            raise TypeError(f"sample {place} has keys that are no texts")
        return dict(sample), "dict"
    if isinstance(sample, (tuple, list)):
        kind = "list" if isinstance(sample, list) else "tuple"
        return {str(number): part for number, part in enumerate(sample)}, kind
    return {"tensor": sample}, "tensor"


def _as_tensor(part: Any) -> torch.Tensor | None:
    """A tensor on the CPU in memory of its own, or nothing for what is none."""
    if isinstance(part, np.ma.MaskedArray):
        raise TypeError("a masked array has a mask, which is not stored: pass array.filled(value)")
    if isinstance(part, np.ndarray) and part.dtype.kind in "bifu":
        native = part.astype(part.dtype.newbyteorder("="), copy=False)
        try:
            return torch.from_numpy(np.array(native, order="C"))
        except TypeError:
            return None
    if isinstance(part, torch.Tensor) and part.layout is torch.strided and not part.is_meta:
        return part.detach().cpu().resolve_conj().resolve_neg()
    return None


def _new_column(
    part: Any,
    codec: Codec | None,
    home: pathlib.Path | None,
    number: int,
    shard_bytes: int,
    threads: int,
) -> _Column:
    tensor = _as_tensor(part)
    if tensor is not None and tensor.dtype in TYPES:
        return _Integers(home, number, shard_bytes)
    if tensor is not None and tensor.dtype in FLOATS and codec is not None and tensor.numel():
        return _Floats(home, number, shard_bytes, codec, threads)
    return _Others(home)


def _column_of(kind: Mapping[str, Any], home: pathlib.Path, number: int, others: Any) -> _Column:
    counts = [int(count) for count in kind.get("counts", ())]
    if kind["kind"] == "integers":
        return _Integers.open(home, number, counts)
    if kind["kind"] == "floats":
        return _Floats.open(home, number, counts, kind)
    column = _Others(home)
    column.values = others.pop(0)
    return column


class _Column:
    """One part of all samples, in shards of some megabytes."""

    def __init__(self, home: pathlib.Path | None, number: int, shard_bytes: int) -> None:
        self.home, self.number, self.shard_bytes = home, number, shard_bytes
        self.begins: list[int] = [0]
        self._waiting: list[torch.Tensor] = []
        self._bytes = 0

    def __len__(self) -> int:
        return self.begins[-1]

    def add(self, part: Any, where: str) -> None:
        tensor = _as_tensor(part)
        if tensor is None:
            raise TypeError(f"{where} is a {type(part).__name__}, and the first one is a tensor")
        self.check(tensor, where)
        self._waiting.append(tensor)
        self._bytes += tensor.nbytes
        if self._bytes >= self.shard_bytes:
            self.finish()

    def finish(self) -> None:
        if self._waiting:
            self.store(self._waiting)
            self.begins.append(self.begins[-1] + len(self._waiting))
            self._waiting, self._bytes = [], 0

    def place(self, index: int) -> tuple[int, int]:
        """The shard, and the sample in it."""
        shard = bisect.bisect_right(self.begins, index) - 1
        return shard, index - self.begins[shard]

    def path(self, shard: int, suffix: str) -> pathlib.Path | None:
        return None if self.home is None else self.home / f"{self.number}-{shard:06}{suffix}"

    def counts(self) -> list[int]:
        return [after - before for before, after in itertools.pairwise(self.begins)]

    def check(self, tensor: torch.Tensor, where: str) -> None:
        raise NotImplementedError

    def store(self, tensors: list[torch.Tensor]) -> None:
        raise NotImplementedError

    def read(self, index: int) -> Any:
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        raise NotImplementedError

    @property
    def plain_bytes(self) -> int:
        raise NotImplementedError


class _Integers(_Column):
    def __init__(self, home: pathlib.Path | None, number: int, shard_bytes: int) -> None:
        super().__init__(home, number, shard_bytes)
        self._shards: list[IntegerShard] = []
        self._kind: tuple[torch.dtype, int] | None = None

    @classmethod
    def open(cls, home: pathlib.Path, number: int, counts: Sequence[int]) -> _Integers:
        self = cls(home, number, 0)
        self.begins = list(itertools.accumulate(counts, initial=0))
        for shard, count in enumerate(counts):
            path = self.path(shard, ".integers")
            assert path is not None
            try:
                opened = torch.load(path, mmap=True, weights_only=True)
                self._shards.append(IntegerShard.of_fields(opened))
            except DAMAGE as error:
                raise _core.CorruptError(f"{path} is damaged: {error}") from None
            if self._shards[-1].count != count:
                raise _core.CorruptError(f"{path} has not {count} samples")
        return self

    def check(self, tensor: torch.Tensor, where: str) -> None:
        kind = tensor.dtype, tensor.dim()
        self._kind = self._kind or kind
        if kind != self._kind:
            raise ValueError(
                f"{where} is {tensor.dtype} with {tensor.dim()} axes, and the first is "
                f"{self._kind[0]} with {self._kind[1]}"
            )

    def store(self, tensors: list[torch.Tensor]) -> None:
        shard = IntegerShard.of(tensors)
        path = self.path(len(self._shards), ".integers")
        if path is not None:
            with path.open("xb") as file:
                torch.save(shard.fields(), file)
                file.flush()
                os.fsync(file.fileno())
            shard = IntegerShard.of_fields(torch.load(path, mmap=True, weights_only=True))
        self._shards.append(shard)

    def read(self, index: int) -> torch.Tensor:
        shard, place = self.place(index)
        return self._shards[shard].read(place)

    def describe(self) -> dict[str, Any]:
        return {"kind": "integers", "counts": self.counts()}

    @property
    def nbytes(self) -> int:
        return sum(shard.nbytes for shard in self._shards)

    @property
    def plain_bytes(self) -> int:
        return sum(shard.plain_bytes for shard in self._shards)


class _Floats(_Column):
    def __init__(
        self, home: pathlib.Path | None, number: int, shard_bytes: int, codec: Codec, threads: int
    ) -> None:
        super().__init__(home, number, shard_bytes)
        self.codec, self.threads = codec, threads
        self._shards: list[Shard] = []
        self._shape: tuple[int, ...] | None = None
        self._dtype = torch.float32

    @classmethod
    def open(
        cls, home: pathlib.Path, number: int, counts: Sequence[int], fields: Mapping[str, Any]
    ) -> _Floats:
        self = cls(home, number, 0, Codec.from_dict(fields["codec"]), 1)
        self.begins = list(itertools.accumulate(counts, initial=0))
        self._shape = tuple(int(extent) for extent in fields["shape"])
        self._dtype = getattr(torch, fields["dtype"])
        if self._dtype not in FLOATS:
            raise ValueError(f"floats are {self._dtype}")
        for number_of, count in enumerate(counts):
            path = self.path(number_of, ".tpz")
            assert path is not None
            shard = Shard(path, count)
            if shard.info()["shape"] != (count, *self._shape):
                raise _core.CorruptError(f"{path} holds another shape than the description says")
            self._shards.append(shard)
        return self

    def check(self, tensor: torch.Tensor, where: str) -> None:
        if self._shape is None:
            self._shape, self._dtype = tuple(tensor.shape), tensor.dtype
        if tuple(tensor.shape) != self._shape or tensor.dtype != self._dtype:
            raise ValueError(
                f"{where} is {tensor.dtype} {tuple(tensor.shape)}, and the first is {self._dtype} "
                f"{self._shape}: floats with a codec have one shape; pad them, or leave them exact "
                "with codecs={name: None}"
            )

    def store(self, tensors: list[torch.Tensor]) -> None:
        path = self.path(len(self._shards), ".tpz")
        self._shards.append(Shard.of(torch.stack(tensors), self.codec, path, self.threads))

    def read(self, index: int) -> torch.Tensor:
        shard, place = self.place(index)
        assert self._shape is not None
        out = torch.empty((1, *self._shape), dtype=self._dtype)
        self._shards[shard].read(place, out)
        return out[0]

    def describe(self) -> dict[str, Any]:
        assert self._shape is not None
        return {
            "kind": "floats",
            "counts": self.counts(),
            "codec": self.codec.to_dict(),
            "shape": list(self._shape),
            "dtype": str(self._dtype).removeprefix("torch."),
        }

    @property
    def nbytes(self) -> int:
        return sum(shard.nbytes for shard in self._shards)

    @property
    def plain_bytes(self) -> int:
        return len(self) * int(np.prod(self._shape)) * self._dtype.itemsize


class _Others(_Column):
    """What is stored as it is: floats without a codec, numbers, texts."""

    def __init__(self, home: pathlib.Path | None) -> None:
        super().__init__(home, 0, 0)
        self.values: list[Any] = []

    def __len__(self) -> int:
        return len(self.values)

    def add(self, part: Any, where: str) -> None:
        if self.home is not None and not self.values:
            check_labels((part,), self.home)
        self.values.append(part)

    def finish(self) -> None:
        pass

    def read(self, index: int) -> Any:
        return self.values[index]

    def describe(self) -> dict[str, Any]:
        return {"kind": "others"}

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self.values if isinstance(each, torch.Tensor))

    @property
    def plain_bytes(self) -> int:
        return self.nbytes


def _new_folder(home: pathlib.Path) -> pathlib.Path:
    home.mkdir(parents=True, exist_ok=True)
    if any(home.iterdir()):
        raise FileExistsError(f"{home} is not empty; CompressedRecords.open(folder) reads it")
    return home
