"""optical_damage: laser optics with an autoencoder, 1 x 200 x 200, batches of 2, learning rate
0.0005 (Table 3). The published pictures are not to be had, so these are always generated."""

from __future__ import annotations

import pathlib

from torch.nn.functional import mse_loss

from ..benchmark import Benchmark, Data, Scale
from ..networks import Autoencoder
from ..sources import generated


def load(folder: pathlib.Path | None, scale: Scale) -> Data:
    del folder
    return generated.optics(scale.train, scale.test, scale.extent)


def network(extent: int, widths: tuple[int, int, int], latent: int) -> dict[str, object]:
    return {"extent": (extent, extent), "widths": widths, "latent": latent}


OPTICAL_DAMAGE = Benchmark(
    name="optical_damage",
    summary="reconstruct laser optics with an autoencoder, 1 x 200 x 200",
    load=load,
    loss=mse_loss,
    scales={
        "full": Scale(Autoencoder, {}, 2_000, 400, 200, 2, 30, 5e-4),
        "quick": Scale(
            Autoencoder, network(200, (16, 16, 8), 64), 100, 40, 200, 4, 12, 2e-3, True, True
        ),
        "small": Scale(
            Autoencoder, network(104, (8, 8, 4), 32), 80, 40, 104, 4, 8, 2e-3, True, True
        ),
        "smoke": Scale(Autoencoder, network(60, (4, 4, 2), 8), 8, 4, 60, 2, 2, 2e-3, True),
    },
)
