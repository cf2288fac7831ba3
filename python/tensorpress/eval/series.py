"""What is compared: the uncompressed baseline, and the same run on decompressed data.

A series takes the samples of a benchmark and gives batches of what is left of them. As in the
paper and its published code, training and test inputs both go through the compressor, targets do
not, and every batch is compressed and decompressed as planes of height x width.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch.utils.data import TensorDataset

from .._codec import Codec
from ..torch.data import CompressedDataset, CompressedLoader

CHOP_FACTORS = range(2, 8)


class Batches(Protocol):
    """Inputs and targets of a part of the data, in any order."""

    def epoch(self, order: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]: ...
    def report(self) -> dict[str, Any] | None: ...


class PlainBatches:
    """Batches of tensors that are in memory as the network takes them."""

    def __init__(self, inputs: torch.Tensor, targets: torch.Tensor, batch: int) -> None:
        self.inputs, self.targets, self.batch = inputs, targets, batch

    def epoch(self, order: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for chosen in order.split(self.batch):
            yield as_floats(self.inputs[chosen]), self.targets[chosen]

    def report(self) -> dict[str, Any] | None:
        return None


class _GivenOrder(torch.utils.data.Sampler[int]):
    def __init__(self, count: int) -> None:
        self.order: list[int] = list(range(count))

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[int]:
        return iter(self.order)


class CompressedBatches:
    """Batches of a CompressedDataset."""

    def __init__(
        self, inputs: torch.Tensor, targets: torch.Tensor, batch: int, codec: Codec, workers: int
    ) -> None:
        self.data = CompressedDataset(TensorDataset(inputs, targets), codec)
        self.sampler = _GivenOrder(len(self.data))
        self.loader = CompressedLoader(self.data, batch, sampler=self.sampler, num_workers=workers)

    def epoch(self, order: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        self.sampler.order = order.tolist()
        return iter(self.loader)

    def report(self) -> dict[str, Any] | None:
        return self.loader.report().as_dict()


@dataclass(frozen=True)
class Series:
    """name: for files; label: for people; ratio: what the codec is asked for, None if that is
    not known before."""

    name: str
    label: str
    ratio: float | None = None
    codec: Codec | None = None

    @property
    def activations(self) -> dict[str, Any] | None:
        """How autograd's values are stored, where that is what is compared."""
        return None

    @contextlib.contextmanager
    def training(self, model: torch.nn.Module, seed: int) -> Iterator[dict[str, Any]]:
        """Around the steps of an epoch; what is yielded holds what was measured, at the end."""
        del model, seed
        yield {}

    def batches(
        self, inputs: torch.Tensor, targets: torch.Tensor, batch: int, workers: int
    ) -> Batches:
        if self.codec is not None:
            return CompressedBatches(inputs, targets, batch, self.codec, workers)
        return PlainBatches(inputs, targets, batch)


@dataclass(frozen=True)
class ZfpSeries(Series):
    """ZFP at a fixed rate through zfpy. Blocks are independent at a fixed rate, so all samples go
    through it once, before training, as they would batch by batch. Planes are stacked to one tall
    plane, whose 4 x 4 blocks never reach from one to the next because heights are made a multiple
    of 4 by repeating the last row."""

    def batches(
        self, inputs: torch.Tensor, targets: torch.Tensor, batch: int, workers: int
    ) -> Batches:
        del workers
        return PlainBatches(self.round_trip(inputs), targets, batch)

    def round_trip(self, inputs: torch.Tensor) -> torch.Tensor:
        import zfpy

        assert self.ratio is not None
        height, width = inputs.shape[-2:]
        planes = as_floats(inputs).reshape(-1, height, width)
        missing = -height % 4
        padded = torch.cat([planes, planes[:, -1:].expand(-1, missing, -1)], 1)
        out = torch.empty_like(padded)
        for part in torch.arange(len(padded)).split(4096):
            tall = padded[part].reshape(-1, width)
            packed = zfpy.compress_numpy(tall.numpy(), rate=32 / self.ratio)
            copy = torch.from_numpy(zfpy.decompress_numpy(packed))
            out[part] = copy.reshape(len(part), height + missing, width)
        return out[:, :height].reshape(inputs.shape)


BASELINE = Series("baseline", "no compression", ratio=1.0)


def as_floats(inputs: torch.Tensor) -> torch.Tensor:
    return inputs.float() / 255 if inputs.dtype == torch.uint8 else inputs


def chop_ratio(cf: int, layout: str) -> float:
    """64 / CF^2, with the triangle 64 / (CF (CF + 1) / 2): the paper's CR."""
    return 64 / (cf * cf if layout == "square" else cf * (cf + 1) / 2)


def all_series(
    codecs: Sequence[str], cfs: Sequence[int], layout: str, serialize: int
) -> list[Series]:
    """The baseline, then each codec at each chop factor. A codec is dct-chop, zfp, or one of ours
    with its parameters (quantize:bits=4); those with an error bound and none given, and zfp, are
    asked for the ratio of each chop factor."""
    found = [BASELINE]
    for text in codecs:
        name, _, rest = text.partition(":")
        parameters = parameters_of(text, rest)
        if name == "zfp":
            found += _zfp(cfs, layout, parameters)
        elif name == "dct-chop":
            found += [_chop(cf, layout, serialize, parameters) for cf in cfs]
        elif _wants_ratio(name, parameters):
            found += [_at_ratio(name, parameters, cf, layout) for cf in cfs]
        else:
            label = " ".join([name, *(f"{key}={value}" for key, value in parameters.items())])
            codec = Codec(name, **parameters)
            found.append(Series(label.replace(" ", "-").replace("=", "-"), label, codec=codec))
    return found


def _chop(cf: int, layout: str, serialize: int, parameters: dict[str, Any]) -> Series:
    if layout != "square":
        parameters = {"layout": layout, **parameters}
    if serialize != 1:
        parameters = {"form": "matmul", "serialize": serialize, **parameters}
    codec = Codec("dct-chop", cf=cf, **parameters)
    ratio = chop_ratio(cf, layout)
    name = f"cf{cf}" + ("" if layout == "square" else f"-{layout}")
    for key in ("coefficients", "transform"):
        name += f"-{parameters[key]}" if key in parameters else ""
    return Series(name, f"DCT+Chop CF {cf}, {ratio:.2f}x", ratio, codec)


def _zfp(cfs: Sequence[int], layout: str, parameters: dict[str, Any]) -> list[Series]:
    given = parameters.pop("ratio", None)
    if parameters or (given is not None and (isinstance(given, str) or not 1 <= given <= 32)):
        raise ValueError(
            "zfp takes ratio=, from 1 to 32, and nothing else; without it its ratio is that of "
            "each --cf"
        )
    ratios = [chop_ratio(cf, layout) for cf in cfs] if given is None else [float(given)]
    return [ZfpSeries(f"zfp-{ratio:.2f}x", f"ZFP {ratio:.2f}x", ratio) for ratio in ratios]


def _at_ratio(name: str, parameters: dict[str, Any], cf: int, layout: str) -> Series:
    ratio = chop_ratio(cf, layout)
    codec = Codec(name, ratio=ratio, **parameters)
    return Series(f"{name}-{ratio:.2f}x", f"{name} {ratio:.2f}x", ratio, codec)


def _wants_ratio(name: str, parameters: dict[str, Any]) -> bool:
    from .._codec import BOUNDS
    from .._compression import codecs

    return bool(codecs().get(name, {}).get("error_bounded")) and not set(BOUNDS) & set(parameters)


def parameters_of(text: str, rest: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"codec {text!r}: parameters are written name=value, not {pair!r}")
        parameters[key] = _number(value)
    return parameters


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
