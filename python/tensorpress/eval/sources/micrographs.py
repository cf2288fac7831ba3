"""Electron micrographs to denoise: grey PNG pictures in DIR/em/train_image and DIR/em/test_image.

The pictures are cut into tiles, values from 0 to 1, and are the targets; the inputs are the same
tiles with the noise of few electrons (Poisson) and of the detector (Gauss), from a fixed seed.
"""

from __future__ import annotations

import pathlib

import numpy as np
import torch

from ..benchmark import Data, DataError

ELECTRONS = 30.0  # at full brightness, per pixel
DETECTOR = 0.05  # standard deviation


def load(folder: pathlib.Path, extent: int) -> Data:
    homes = [folder / "em" / name for name in ("train_image", "test_image")]
    train, test = (_tiles(home, extent) for home in homes)
    generator = torch.Generator().manual_seed(0)
    noise = f"Poisson ({ELECTRONS:g} electrons) and Gauss ({DETECTOR})"
    return Data(
        with_noise(train, generator),
        train,
        with_noise(test, generator),
        test,
        f"micrographs (em/train_image, em/test_image), tiles of {extent} x {extent}, {noise}",
    )


def with_noise(clean: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    counted = torch.poisson(clean.clamp(min=0) * ELECTRONS, generator) / ELECTRONS
    return counted + DETECTOR * torch.randn(clean.shape, generator=generator)


def _tiles(home: pathlib.Path, extent: int) -> torch.Tensor:
    paths = sorted(home.glob("*.png"), key=lambda path: (len(path.name), path.name))
    if not paths:
        raise DataError(
            f"{home} holds no PNG pictures; em_denoise takes grey ones from em/train_image and "
            "em/test_image. Without --data, micrographs are generated"
        )
    try:
        from PIL import Image
    except ImportError:
        raise DataError(
            "reading PNG pictures needs Pillow: pip install '.[eval]' in a clone of tensorpress"
        ) from None
    tiles = []
    for path in paths:
        with Image.open(path) as picture:
            grey = torch.from_numpy(np.asarray(picture.convert("L"), np.float32) / 255)
        if min(grey.shape) < extent:
            raise DataError(f"{path} is {tuple(grey.shape)}, smaller than tiles of {extent}")
        rows = grey.unfold(0, extent, extent).unfold(1, extent, extent)
        tiles.append(rows.reshape(-1, 1, extent, extent))
    return torch.cat(tiles)
