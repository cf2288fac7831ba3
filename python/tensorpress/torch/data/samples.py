"""What may be a sample: a tensor of numbers that a network takes, on the CPU, of one shape.

Samples of uint8 (pictures) become float32 from 0 to 1, because that is what is trained on; other
whole numbers are refused, because their meaning is not given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

Normalization = tuple[Sequence[float], Sequence[float]]


class Normalizer:
    """(x - mean) / std for each channel, the first axis of a sample; uint8 is divided by 255
    before. Without mean and std, values of floating types stay as they are."""

    def __init__(self, normalize: Normalization | None) -> None:
        self.mean: list[float] = []
        self.std: list[float] = []
        if normalize is not None:
            mean, std = normalize
            self.mean, self.std = [float(x) for x in mean], [float(x) for x in std]
            if len(self.mean) != len(self.std) or not self.mean or min(self.std) <= 0:
                raise ValueError(
                    "normalize is (means, standard deviations): one of each a channel, and "
                    f"deviations above 0, not {normalize!r}"
                )

    def describe(self, dtype: torch.dtype) -> str:
        steps = ["x / 255"] if dtype == torch.uint8 else []
        if self.mean:
            steps.append(f"(x - {self.mean}) / {self.std}")
        return ", then ".join(steps) or "none"

    def __call__(self, sample: torch.Tensor) -> torch.Tensor:
        if sample.dtype == torch.uint8:
            sample = sample.float() / 255
        if not self.mean:
            return sample
        if sample.dim() == 0 or sample.shape[0] != len(self.mean):
            raise ValueError(
                f"normalize has {len(self.mean)} channels and a sample of shape "
                f"{tuple(sample.shape)} has not; channels are the first axis"
            )
        shape = (-1, *[1] * (sample.dim() - 1))
        mean = torch.tensor(self.mean, dtype=sample.dtype).reshape(shape)
        return (sample - mean) / torch.tensor(self.std, dtype=sample.dtype).reshape(shape)


def as_tensor(value: Any, place: int) -> torch.Tensor:
    """The sample at this place of the source, as a tensor on the CPU, or a message."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"sample {place} is a masked array, and a sample has no mask: pass array.filled(value)"
        )
    if isinstance(value, np.ndarray):
        value = value.astype(value.dtype.newbyteorder("="), copy=False)
        value = torch.from_numpy(np.ascontiguousarray(value))
    if not isinstance(value, torch.Tensor):
        raise TypeError(
            f"sample {place} is a {type(value).__name__}; make it a tensor or a NumPy array first, "
            "or use CompressedRecords, which takes dicts and tuples of anything "
            "(of a picture: torch.from_numpy(numpy.array(picture)).permute(2, 0, 1))"
        )
    if value.device.type != "cpu":
        raise TypeError(
            f"sample {place} is on {value.device}; samples are compressed on the CPU: .cpu()"
        )
    if value.dtype != torch.uint8 and value.dtype not in FLOATS:
        raise TypeError(
            f"sample {place} is {value.dtype}; samples are float16, bfloat16, float32, float64, or "
            "uint8 (which becomes float32 from 0 to 1). Convert it first, for example with "
            ".float(); what is not an input of the network belongs behind it, as a label. Tokens "
            "and other whole numbers are stored exactly by CompressedRecords"
        )
    return value.detach()


def check_like(sample: torch.Tensor, first: torch.Tensor, place: int) -> None:
    """All samples share one stream's shape and type."""
    if sample.shape != first.shape or sample.dtype != first.dtype:
        raise ValueError(
            f"sample {place} is {sample.dtype} {tuple(sample.shape)} and the first is "
            f"{first.dtype} {tuple(first.shape)}; crop, pad or convert them to one shape and type"
        )


def check_planes(sample: torch.Tensor, codec: str) -> None:
    if sample.dim() == 0 or 0 in sample.shape:
        raise ValueError(f"a sample of shape {tuple(sample.shape)} has nothing to compress")
    if codec == "dct-chop" and sample.dim() < 2:
        raise ValueError(
            f"a sample of shape {tuple(sample.shape)} has no planes; DCT+Chop takes (..., height, "
            "width). Reshape the samples, or use another codec, such as quantize or dense"
        )
