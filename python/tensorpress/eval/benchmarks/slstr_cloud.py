"""slstr_cloud: which pixels are clouds, with a UNet, 9 x 256 x 256, batches of 4, learning rate
0.0005 (Table 3)."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

from torch.nn.functional import binary_cross_entropy_with_logits

from ..benchmark import Benchmark, Data, Scale
from ..networks import UNet
from ..sources import generated, satellite

NARROW = {"widths": (8, 16, 32)}
TINY = {"widths": (4, 8)}


def load(folder: pathlib.Path | None, scale: Scale) -> Data:
    if folder is None:
        return generated.scenes(scale.train, scale.test, scale.extent)
    return satellite.load(folder, scale.extent).first(scale.train, scale.test)


def scales(extent: int) -> Mapping[str, Scale]:
    quick = extent // 2
    return {
        "full": Scale(UNet, {}, 1_000, 200, extent, 4, 30, 5e-4),
        "quick": Scale(UNet, NARROW, 45, 15, quick, 4, 12, 2e-3, True, True),
        "small": Scale(UNet, NARROW, 45, 15, 64, 4, 6, 2e-3, True, True),
        "smoke": Scale(UNet, TINY, 8, 4, 32, 4, 2, 2e-3, True),
    }


SLSTR_CLOUD = Benchmark(
    name="slstr_cloud",
    summary="find clouds in satellite scenes with a UNet, 9 x 256 x 256",
    load=load,
    loss=binary_cross_entropy_with_logits,
    scales=scales(256),
)
