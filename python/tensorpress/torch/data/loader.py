"""Batches of a CompressedDataset, decompressed on the worker or on the device, with a report.

On the worker: the library's own kernel decompresses into the batch, sample by sample, or many at
once where neighbours are asked for. On the device: the batch crosses as it is stored, and the
operator chop_unpack of that device brings it back there (codec dct-chop only).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from .. import ops  # noqa: F401  registers chop_unpack
from ..chop import compressed_shape
from .dataset import CompressedDataset
from .report import LoaderReport

PLACES = ("worker", "device")


class _Batches(Dataset[Any]):
    """Gives PyTorch's loader whole batches: (inputs, labels, seconds that they took)."""

    def __init__(self, dataset: CompressedDataset, compressed: bool) -> None:
        self.dataset = dataset
        self.compressed = compressed

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])

    def __getitems__(self, indices: Sequence[int]) -> Any:
        chosen = [int(index) for index in indices]
        began = time.perf_counter()
        fetch = self.dataset.coefficients if self.compressed else self.dataset.inputs
        inputs = fetch(chosen)
        seconds = time.perf_counter() - began
        return inputs, self.dataset.labels(chosen), seconds


def _as_it_is(batch: Any) -> Any:
    return batch


class CompressedLoader:
    """A DataLoader for a CompressedDataset; options not named here go to PyTorch's.

    where:  "worker" or "device"; with num_workers=0 the worker is the training process itself
    device: where batches and labels are moved; without it they stay on the CPU

    >>> samples = torch.utils.data.TensorDataset(torch.rand(20, 3, 32, 32), torch.arange(20))
    >>> loader = CompressedLoader(CompressedDataset(samples, cf=4), batch_size=8, shuffle=True)
    >>> [len(labels) for images, labels in loader]
    [8, 8, 4]
    >>> loader.report().samples
    20
    """

    def __init__(
        self,
        dataset: CompressedDataset,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        *,
        where: str = "worker",
        device: torch.device | str | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(dataset, CompressedDataset):
            raise TypeError(
                f"a CompressedLoader takes a CompressedDataset, not a {type(dataset).__name__}; "
                "make one with CompressedDataset(dataset, cf=4)"
            )
        if where not in PLACES:
            raise ValueError(f"where is {where!r}; it is one of worker, device")
        if "collate_fn" in options:
            raise TypeError("batches are made whole; collate_fn has nothing to do and is not taken")
        if batch_size is None and "batch_sampler" not in options:
            raise ValueError("batch_size is None, and a CompressedLoader makes nothing but batches")
        if "batch_sampler" not in options:
            options["batch_size"] = batch_size
        if shuffle is not None:
            options["shuffle"] = shuffle
        self.dataset = dataset
        self.device = None if device is None else torch.device(device)
        self._check_device()
        self._chopped = self._on_device() if where == "device" else None
        self._loader: DataLoader[Any] = DataLoader(
            _Batches(dataset, where == "device"), collate_fn=_as_it_is, **options
        )
        self._report = LoaderReport(
            codec=repr(dataset.codec),
            normalization=dataset.normalization,
            where=where,
            original_bytes=dataset.original_bytes,
            decompressed_bytes=dataset.decompressed_bytes,
            stored_bytes=dataset.stored_bytes,
        )

    def _check_device(self) -> None:
        if self.device is None or self.device.type == "cpu":
            return
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            raise ValueError(
                f"device {self.device} cannot be used here ({str(error).splitlines()[0]}); leave "
                "device out to train on the CPU"
            ) from None

    def _on_device(self) -> tuple[int, str, str]:
        """CF, layout and transform."""
        codec = self.dataset.codec.to_dict()
        if codec["codec"] != "dct-chop":
            raise ValueError(
                f"codec {codec['codec']} has no portable form that a device could decompress; "
                'use dct-chop, or where="worker"'
            )
        transform = str(codec.get("transform", "dct"))
        return int(codec.get("cf", 4)), str(codec.get("layout", "square")), transform

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        report = self._report
        report.epochs += 1
        batches = iter(self._loader)
        first = True
        while True:
            began = time.perf_counter()
            try:
                inputs, labels, seconds = next(batches)
            except StopIteration:
                return
            inputs, labels, more = self._moved(inputs, labels)
            ready = time.perf_counter()
            report.batches += 1
            report.samples += inputs.shape[0]
            report.decompression_seconds += seconds + more
            if first:
                report.startup_seconds += ready - began
            else:
                report.wait_seconds += ready - began
                report.overlappable_seconds += seconds + more
            first = False
            yield (inputs, *labels) if self.dataset.labelled else inputs
            report.step_seconds += time.perf_counter() - ready

    def _moved(self, inputs: torch.Tensor, labels: Any) -> tuple[torch.Tensor, Any, float]:
        """On the device, decompressed, and the seconds that this took the training process (on an
        accelerator, which works on by itself, those to ask for it)."""
        if self.device is not None:
            inputs = inputs.to(self.device, non_blocking=True)
            labels = [_to(label, self.device) for label in labels]
        if self._chopped is None:
            return inputs, labels, 0.0
        began = time.perf_counter()
        with torch.no_grad():
            shape = (inputs.shape[0], *self.dataset.sample_shape)
            planes = inputs.to(torch.float32).reshape(compressed_shape(shape, *self._chopped))
            unpack = torch.ops.tensorpress.chop_unpack
            inputs = unpack(planes, shape, torch.float32, *self._chopped).to(self.dataset.dtype)
        return inputs, labels, time.perf_counter() - began

    def report(self) -> LoaderReport:
        """What was saved and what it cost until now."""
        return self._report


def _to(label: Any, device: torch.device) -> Any:
    if isinstance(label, torch.Tensor):
        return label.to(device, non_blocking=True)
    if isinstance(label, dict):
        return {key: _to(value, device) for key, value in label.items()}
    if isinstance(label, (list, tuple)):
        return [_to(value, device) for value in label]
    return label
