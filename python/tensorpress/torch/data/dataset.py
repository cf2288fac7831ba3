"""A map-style dataset whose samples are stored compressed; labels are kept as they are."""

from __future__ import annotations

import bisect
import itertools
import json
import math
import operator
import os
import pathlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import Dataset, default_collate

from ... import _core
from ..._codec import Codec, Parameter, codec_from
from ..._reader import checked_threads
from ..._value_settings import ValueSettings
from .labels import check_labels, load_labels, save_labels
from .samples import Normalization, Normalizer, as_tensor, check_like, check_planes
from .shards import Shard

DESCRIPTION = "dataset.json"
LABELS = "labels.pt"


class CompressedDataset(Dataset[Any]):
    """The samples of another dataset, compressed.

    source:    a map-style dataset of tensors or NumPy arrays, or of tuples that begin with one;
               what follows (labels, targets) is not touched
    codec:     as for tensorpress.compress, with its parameters as keywords
    folder:    writes .tpz files there instead of keeping the samples in memory; labels are then
               tensors, arrays, numbers, texts, and lists and dicts of them
    normalize: (means, standard deviations) a channel, applied before compression. Samples of
               uint8 become float32 and are divided by 255 first, also without normalize.
    fill_values, value_range, whole_range: as for tensorpress.compress

    >>> samples = torch.utils.data.TensorDataset(torch.rand(20, 3, 32, 32), torch.arange(20))
    >>> data = CompressedDataset(samples, "dct-chop", cf=4)
    >>> image, label = data[7]
    >>> image.shape, int(label), 3.8 < data.ratio < 4
    (torch.Size([3, 32, 32]), 7, True)
    """

    def __init__(
        self,
        source: Any,
        codec: str | Codec = "dct-chop",
        *,
        folder: str | os.PathLike[str] | None = None,
        normalize: Normalization | None = None,
        shard_bytes: int = 64 << 20,
        fill_values: float | Iterable[float] = (),
        value_range: tuple[float, float] | None = None,
        whole_range: bool = False,
        threads: int = 1,
        **parameters: Parameter | None,
    ) -> None:
        self.codec = codec_from(codec, parameters)
        about_values = ValueSettings.checked(fill_values, value_range, whole_range).keywords()
        threads = checked_threads(threads)
        normalizer = Normalizer(normalize)
        home = None if folder is None else _new_folder(pathlib.Path(folder).absolute())
        self._shards: list[Shard] = []
        rows: list[tuple[Any, ...]] = []
        began = time.perf_counter()
        samples = _samples(source, rows, normalizer, self.codec.name)
        first, self.original_bytes, self.normalization = next(samples)
        self.sample_shape, self.dtype = tuple(first.shape), first.dtype
        if home is not None and rows:
            check_labels(rows[0], home)
        per_shard = max(1, shard_bytes // (first.numel() * first.element_size()))
        for batch in _batched(itertools.chain([first], samples), per_shard):
            path = None if home is None else home / f"{len(self._shards):06}.tpz"
            try:
                shard = Shard.of(torch.stack(batch), self.codec, path, threads, **about_values)
            except ValueError as error:
                begin = per_shard * len(self._shards)
                error.args = (f"in the samples from number {begin} on, {error}",)
                raise
            self._shards.append(shard)
        self.labelled = bool(rows)
        self._columns = [_column(list(column)) for column in zip(*rows, strict=True)]
        self.original_bytes *= sum(shard.count for shard in self._shards)
        self.compression_seconds = time.perf_counter() - began
        self._index()
        if home is not None:
            self._describe(home)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> CompressedDataset:
        """What was written with folder=, from any process."""
        home = pathlib.Path(folder).absolute()  # files are opened later, and again by workers
        if not (home / DESCRIPTION).is_file():
            raise FileNotFoundError(
                f"{home} holds no {DESCRIPTION}: nothing was written there, or writing was "
                "interrupted; write it with CompressedDataset(source, folder=...)"
            )
        self = cls.__new__(cls)
        try:
            self._take(json.loads((home / DESCRIPTION).read_text()), home)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _core.CorruptError(f"{home / DESCRIPTION} is damaged: {error!r}") from error
        self._columns = load_labels(home / LABELS)
        for shard in self._shards:
            shape = shard.info()["shape"]
            if shape != (shard.count, *self.sample_shape):
                raise ValueError(f"{shard.source} holds {shape}, which {DESCRIPTION} does not say")
        self._index()
        if any(len(column) != len(self) for column in self._columns):
            raise _core.CorruptError(f"{home / LABELS} has not one label for each sample")
        return self

    def _take(self, fields: dict[str, Any], home: pathlib.Path) -> None:
        self.codec = Codec.from_dict(fields["codec"])
        self.sample_shape, self.dtype = tuple(fields["shape"]), getattr(torch, fields["dtype"])
        self.original_bytes, self.normalization = fields["original_bytes"], fields["normalization"]
        self.compression_seconds = 0.0
        self.labelled = fields["labelled"]
        self._shards = [Shard(home / f"{i:06}.tpz", n) for i, n in enumerate(fields["counts"])]

    def _index(self) -> None:
        counts = [shard.count for shard in self._shards]
        self._begins = list(itertools.accumulate(counts, initial=0))[:-1]
        self._length = sum(counts)

    def _describe(self, home: pathlib.Path) -> None:
        """The description comes last and at once: a folder without one is not finished."""
        save_labels(self._columns, home / LABELS)
        fields = {
            "codec": self.codec.to_dict(),
            "shape": list(self.sample_shape),
            "dtype": str(self.dtype).removeprefix("torch."),
            "counts": [shard.count for shard in self._shards],
            "original_bytes": self.original_bytes,
            "normalization": self.normalization,
            "labelled": self.labelled,
        }
        draft = home / (DESCRIPTION + ".part")
        draft.write_text(json.dumps(fields, indent=1))
        draft.replace(home / DESCRIPTION)

    def __len__(self) -> int:
        return self._length

    @property
    def decompressed_bytes(self) -> int:
        """Of all samples as the network takes them."""
        width = torch.empty(0, dtype=self.dtype).element_size()
        return len(self) * math.prod(self.sample_shape) * width

    @property
    def stored_bytes(self) -> int:
        """Of all streams, with their frames and checksums."""
        return sum(shard.nbytes for shard in self._shards)

    @property
    def ratio(self) -> float:
        return self.decompressed_bytes / self.stored_bytes

    def inputs(self, indices: Sequence[int]) -> torch.Tensor:
        """These samples, decompressed into one tensor; neighbours in one call."""
        indices = [_checked_index(index, len(self)) for index in indices]
        out = torch.empty((len(indices), *self.sample_shape), dtype=self.dtype)
        for place, shard, first, count in self._runs(indices):
            shard.read(first, out[place : place + count])
        return out

    def coefficients(self, indices: Sequence[int]) -> torch.Tensor:
        """What is stored of these samples, one row each, for a ChopDecompressor to bring back."""
        indices = [_checked_index(index, len(self)) for index in indices]
        rows = [
            shard.payloads()[first : first + count]
            for _, shard, first, count in self._runs(indices)
        ]
        payloads = torch.cat(rows or [self._shards[0].payloads()[:0]])
        return payloads.view(self._shards[0].coefficient_type())

    def labels(self, indices: Sequence[int]) -> list[Any]:
        """What follows the samples, collated as PyTorch's own loader does."""
        return [
            column[list(indices)]
            if isinstance(column, torch.Tensor)
            else default_collate([column[index] for index in indices])
            for column in self._columns
        ]

    def _row(self, index: int) -> list[Any]:
        return [column[index] for column in self._columns]

    def __getitem__(self, index: int) -> Any:
        index = _checked_index(index, len(self))
        (sample,) = self.inputs([index])
        return (sample, *self._row(index)) if self.labelled else sample

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """PyTorch's DataLoader asks this way; a CompressedLoader saves the second copy."""
        checked = [_checked_index(index, len(self)) for index in indices]
        samples = self.inputs(checked)
        if not self.labelled:
            return list(samples)
        return [(s, *self._row(i)) for s, i in zip(samples, checked, strict=True)]

    def close(self) -> None:
        """Gives the files back; reading opens them again."""
        for shard in self._shards:
            shard.close()

    def __enter__(self) -> CompressedDataset:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<CompressedDataset of {len(self)} samples {self.sample_shape}, {self.codec!r}, "
            f"{self.stored_bytes} bytes, {self.ratio:.2f} times smaller>"
        )

    def _runs(self, indices: Sequence[int]) -> Iterator[tuple[int, Shard, int, int]]:
        """(place in the batch, shard, first sample in it, how many) of neighbours."""
        place = 0
        while place < len(indices):
            number = bisect.bisect_right(self._begins, indices[place]) - 1
            shard, begin = self._shards[number], self._begins[number]
            first, count = indices[place] - begin, 1
            while (
                place + count < len(indices)
                and indices[place + count] == indices[place] + count
                and first + count < shard.count
            ):
                count += 1
            yield place, shard, first, count
            place += count


def _samples(
    source: Any, rows: list[tuple[Any, ...]], normalizer: Normalizer, codec: str
) -> Iterator[Any]:
    """The normalized samples one by one; what follows each is added to rows. The first answer is
    (sample, bytes of one in the source, what the normalization was)."""
    if not hasattr(source, "__getitem__") or not hasattr(source, "__len__"):
        raise TypeError(
            f"a {type(source).__name__} is not a map-style dataset, which has len() and [index]; "
            "collect the samples in a list first"
        )
    if len(source) == 0:
        raise ValueError("the source is empty: there is nothing to compress")
    original: torch.Tensor | None = None
    labels = 0
    for place in range(len(source)):
        item = source[place]
        value, *rest = item if isinstance(item, (tuple, list)) else (item,)
        sample = as_tensor(value, place)
        if original is None:
            original, labels = sample, len(rest)
            check_planes(sample, codec)
        check_like(sample, original, place)
        if len(rest) != labels:
            raise ValueError(f"sample {place} has {len(rest)} labels and the first has {labels}")
        if rest:
            rows.append(tuple(rest))
        ready = normalizer(sample)
        if place:
            yield ready
        else:
            size = original.numel() * original.element_size()
            yield ready, size, normalizer.describe(original.dtype)


def _batched(items: Iterator[torch.Tensor], size: int) -> Iterator[list[torch.Tensor]]:
    while batch := list(itertools.islice(items, size)):
        yield batch


def _column(values: list[Any]) -> Any:
    """One tensor of tensors that are alike, because a worker would get each by itself."""
    kinds = {
        (value.shape, value.dtype) if isinstance(value, torch.Tensor) else None for value in values
    }
    return torch.stack(values) if len(kinds) == 1 and None not in kinds else values


def _new_folder(home: pathlib.Path) -> pathlib.Path:
    home.mkdir(parents=True, exist_ok=True)
    if any(home.iterdir()):
        raise FileExistsError(
            f"{home} is not empty; CompressedDataset.open(folder) reads what is there, and a new "
            "dataset takes an empty folder"
        )
    return home


def _checked_index(index: int, length: int) -> int:
    place = operator.index(index)
    if not -length <= place < length:
        raise IndexError(f"index {index} is out of range for {length} samples")
    return place % length
