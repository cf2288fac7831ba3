"""Data of the benchmarks' shapes out of nothing but a fixed seed, so that every machine has it.

It is smooth where the real data is smooth and noisy where that is noisy, and there is something to
learn; accuracies on it are no accuracies on the real data, and the report says what it was.
"""

from __future__ import annotations

import math

import torch
from torch.nn.functional import interpolate

from ..benchmark import Data
from .micrographs import with_noise

SEED = 20240
SOURCE = f"generated, seed {SEED}"
MOST_BYTES = 1 << 30  # of the inputs; making them takes several times as much


def pictures(train: int, test: int, extent: int) -> Data:
    """Ten classes of 3 x extent x extent bytes: a grating of the class's direction and wavelength
    in a random color over a random background. Classes five apart differ in wavelength only."""
    train, test = affordable(train, test, 3 * extent * extent)
    generator = torch.Generator().manual_seed(SEED)
    count = train + test
    labels = torch.randint(0, 10, (count,), generator=generator)
    y, x = torch.meshgrid(torch.arange(extent), torch.arange(extent), indexing="ij")
    angle = (labels % 5) * (math.pi / 5) + 0.1 * torch.randn(count, generator=generator)
    frequency = torch.where(labels < 5, 0.6, 1.4)[:, None, None]
    phase = 2 * math.pi * torch.rand(count, generator=generator)
    way = torch.cos(angle)[:, None, None] * x + torch.sin(angle)[:, None, None] * y
    waves = torch.sin(frequency * way + phase[:, None, None])[:, None]
    color = 0.3 * torch.rand((count, 3, 1, 1), generator=generator)
    values = 0.5 + color * waves + 0.25 * fields(count, 3, extent, generator, 4)
    values += 0.08 * torch.randn(values.shape, generator=generator)
    inputs = (values.clamp(0, 1) * 255).round().to(torch.uint8)
    return Data(inputs[:train], labels[:train], inputs[train:], labels[train:], SOURCE)


def micrographs(train: int, test: int, extent: int) -> Data:
    """Graphene as a microscope sees it: three plane waves make a hexagonal lattice of random
    direction and phase, under slowly changing thickness; the noise is that of micrographs.py."""
    train, test = affordable(train, test, 1 * extent * extent)
    generator = torch.Generator().manual_seed(SEED)
    count = train + test
    y, x = torch.meshgrid(torch.arange(extent), torch.arange(extent), indexing="ij")
    turn = math.pi * torch.rand((count, 1, 1), generator=generator)
    lattice = torch.zeros(count, extent, extent)
    for wave in range(3):
        angle = turn + wave * (math.pi / 3)
        phase = 2 * math.pi * torch.rand((count, 1, 1), generator=generator)
        lattice += torch.cos(0.55 * (torch.cos(angle) * x + torch.sin(angle) * y) + phase)
    clean = 0.45 + 0.12 * lattice[:, None] + 0.15 * fields(count, 1, extent, generator, 4)
    clean = clean.clamp(0, 1)
    noisy = with_noise(clean, generator)
    return Data(noisy[:train], clean[:train], noisy[train:], clean[train:], SOURCE)


def optics(train: int, test: int, extent: int) -> Data:
    """Undamaged laser optics: a bright aperture with soft edges, rings around random centers, and
    little noise. Inputs are their own targets."""
    train, test = affordable(train, test, 1 * extent * extent)
    generator = torch.Generator().manual_seed(SEED)
    count = train + test
    axis = torch.linspace(-1, 1, extent)
    y, x = torch.meshgrid(axis, axis, indexing="ij")

    def random(low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand((count, 1, 1), generator=generator)

    radius = torch.hypot(x - random(-0.1, 0.1), y - random(-0.1, 0.1))
    aperture = torch.sigmoid((random(0.7, 0.85) - radius) * 25)
    rings = 1 + 0.15 * torch.cos(radius * random(25, 45) + random(0, 2 * math.pi))
    values = (random(0.5, 0.9) * aperture * rings)[:, None]
    values += 0.05 * aperture[:, None] * fields(count, 1, extent, generator, 6)
    values += 0.01 * torch.randn(values.shape, generator=generator)
    return Data(values[:train], values[:train], values[train:], values[train:], SOURCE)


def scenes(train: int, test: int, extent: int) -> Data:
    """Nine channels of a surface with clouds over it; each channel sees ground and cloud with its
    own brightness. The target is where the cloud is thicker than a threshold."""
    train, test = affordable(train, test, 9 * extent * extent)
    generator = torch.Generator().manual_seed(SEED)
    count = train + test
    ground = fields(count, 1, extent, generator, 5)
    thickness = (2 * fields(count, 1, extent, generator, 6)).clamp(min=0)
    of_ground = torch.linspace(0.1, 0.5, 9).reshape(1, 9, 1, 1)
    of_cloud = torch.linspace(0.8, -0.3, 9).reshape(1, 9, 1, 1)
    inputs = of_ground * (1 + ground) + of_cloud * thickness
    inputs += 0.03 * torch.randn(inputs.shape, generator=generator)
    targets = (thickness > 0.25).float()
    return Data(inputs[:train], targets[:train], inputs[train:], targets[train:], SOURCE)


def affordable(train: int, test: int, values: int) -> tuple[int, int]:
    """Fewer samples, in the same proportion, where that many would not fit."""
    most = MOST_BYTES // (4 * values)
    if train + test <= most:
        return train, test
    return most * train // (train + test), most * test // (train + test)


def fields(
    count: int, channels: int, extent: int, generator: torch.Generator, octaves: int
) -> torch.Tensor:
    """Random fields of variance about 1 whose octaves halve in size and in amplitude."""
    total = torch.zeros(count, channels, extent, extent)
    for octave in range(octaves):
        size = min(extent, 3 << octave)
        noise = torch.randn((count, channels, size, size), generator=generator)
        shape = (extent, extent)
        total += interpolate(noise, shape, mode="bilinear", align_corners=False) / 2**octave
    return total
