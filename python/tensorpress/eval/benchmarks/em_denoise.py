"""em_denoise: electron micrographs with a deep encoder-decoder, 1 x 256 x 256, batches of 32,
learning rate 0.0005 (Table 3)."""

from __future__ import annotations

import pathlib

from torch.nn.functional import mse_loss

from ..benchmark import Benchmark, Data, Scale
from ..networks import EncoderDecoder
from ..sources import generated, micrographs

NARROW = {"widths": (4, 8, 16, 32)}
TINY = {"widths": (4, 8)}


def load(folder: pathlib.Path | None, scale: Scale) -> Data:
    if folder is None:
        return generated.micrographs(scale.train, scale.test, scale.extent)
    return micrographs.load(folder, scale.extent).first(scale.train, scale.test)


EM_DENOISE = Benchmark(
    name="em_denoise",
    summary="denoise electron micrographs with a deep encoder-decoder, 1 x 256 x 256",
    load=load,
    loss=mse_loss,
    scales={
        "full": Scale(EncoderDecoder, {}, 10_000, 1_000, 256, 32, 30, 5e-4),
        "quick": Scale(EncoderDecoder, NARROW, 120, 40, 256, 4, 6, 5e-3, True, True),
        "small": Scale(EncoderDecoder, NARROW, 96, 32, 128, 4, 6, 5e-3, True, True),
        "smoke": Scale(EncoderDecoder, TINY, 12, 4, 64, 4, 2, 5e-3, True),
    },
)
