"""The fields that sections show: those of extract_data.py, from Debian's packages or computed, or
generated and labelled so."""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass

import numpy as np
import waves
from demonstration import Demonstration

PACKAGES = {"fashion_mnist": "dataset-fashion-mnist"}  # the others come from ferret-datasets


@dataclass(frozen=True)
class Field:
    name: str
    path: pathlib.Path
    array: np.ndarray
    title: str
    about: str
    generated: bool


def field(demo: Demonstration, name: str) -> Field:
    """The one that extract_data.py left, or a generated one."""
    path = demo.data / f"{name}.npy"
    if not path.exists():
        return _generated(demo, name)
    array = np.load(path)
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return Field(name, path, array, told["title"], told["about"], generated=False)


def simulated(demo: Demonstration) -> Field:
    """The large one, which is computed where it is not there."""
    name = "sound_in_rock"
    if (demo.data / f"{name}.npy").exists():
        return field(demo, name)
    path, array = demo.scratch / f"{name}.npy", waves.waves()
    np.save(path, array)
    return Field(name, path, array, waves.TITLE, waves.ABOUT, generated=False)


def missing(field: Field) -> str:
    """What a generated field stands for, and how to get the real one."""
    package = PACKAGES.get(field.name, "ferret-datasets")
    return (
        f"Not real data: the Debian package {package} is not installed here, so a generated "
        "field stands in "
        f"for {field.name}. `apt-get install {package}` and another ./dev demo show the real one."
    )


def _generated(demo: Demonstration, name: str) -> Field:
    """Waves whose strength falls with their frequency, as in the atmosphere, drifting along the
    first axis."""
    depth, height, width = 20, 180, 360
    generator = np.random.default_rng(7)
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    strength = 1 / np.maximum(np.hypot(rows * height, columns * width), 1) ** 2.2
    phases = generator.uniform(0, 2 * np.pi, strength.shape)
    drift = generator.normal(0, 0.15, strength.shape)
    planes = [
        np.fft.irfft2(strength * np.exp(1j * (phases + drift * k)), (height, width))
        for k in range(depth)
    ]
    array = np.stack(planes)
    array = (30 * (array - array.min()) / (array.max() - array.min())).astype(np.float32)
    path = demo.scratch / f"generated_{name}.npy"
    np.save(path, array)
    return Field(
        name,
        path,
        array,
        "A generated field",
        "Waves that weaken with their frequency.",
        generated=True,
    )
