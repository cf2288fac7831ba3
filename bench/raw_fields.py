"""Raw fields with shape and type in their name, and the errors of a copy; shared by scripts."""

import dataclasses
import math
import pathlib
import re

import numpy as np


@dataclasses.dataclass
class RawField:
    path: pathlib.Path
    name: str  # wmag91 of wmag91_91x91x91.f32
    values: np.ndarray

    @classmethod
    def read(cls, path: pathlib.Path) -> "RawField":
        found = re.fullmatch(r"(.+)_(\d+(?:x\d+)*)\.f(32|64)", path.name)
        if not found:
            raise SystemExit(f"{path}: the name does not end in a shape and a type: x_2x3.f32")
        shape = tuple(int(extent) for extent in found[2].split("x"))
        values = np.fromfile(path, "<f4" if found[3] == "32" else "<f8").reshape(shape)
        return cls(path, found[1], values)

    @property
    def value_range(self) -> float:
        return float(self.values.max()) - float(self.values.min())


def files_of(paths: list[pathlib.Path]) -> list[pathlib.Path]:
    """Files as they are, and all fields below directories."""
    found = []
    for path in paths:
        some = (
            sorted(path.rglob("*.f32")) + sorted(path.rglob("*.f64")) if path.is_dir() else [path]
        )
        if not some:
            raise SystemExit(f"there are no fields in {path}")
        found += some
    return found


def errors(values: np.ndarray, copy: np.ndarray) -> dict[str, float]:
    """Named as everywhere; computed in double."""
    difference = copy.astype(np.float64) - values
    value_range = float(values.max()) - float(values.min())
    mean = float(np.mean(difference**2))
    psnr = 20 * math.log10(value_range) - 10 * math.log10(mean) if mean > 0 else math.inf
    return {"max_abs_error": float(np.abs(difference).max()), "psnr_db": psnr}
