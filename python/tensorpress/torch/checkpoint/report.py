"""What save() made of each tensor, for people and as a dict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass
class StorageReport:
    """Memory of one or more tied tensors. Errors are 0 for what is exact, and None when they were
    not looked for; max_rel_error is one of the value range."""

    names: list[str]
    dtype: str
    bytes_in: int
    bytes_out: int
    codec: str = "exact"
    max_abs_error: float | None = 0.0
    max_rel_error: float | None = 0.0

    @property
    def module(self) -> str:
        return self.names[0].rpartition(".")[0]


@dataclass
class CheckpointReport:
    """`bytes_in` counts shared memory once; `bytes_out` and `ratio` are those of the whole file."""

    tensors: list[StorageReport]
    bytes_out: int

    @property
    def bytes_in(self) -> int:
        return sum(each.bytes_in for each in self.tensors)

    @property
    def ratio(self) -> float:
        return self.bytes_in / self.bytes_out if self.bytes_out else math.nan

    def by_module(self) -> dict[str, dict[str, Any]]:
        """Bytes, ratio and largest errors of the tensors of each module."""
        modules: dict[str, dict[str, Any]] = {}
        for each in self.tensors:
            row = modules.setdefault(
                each.module,
                dict(tensors=0, bytes_in=0, bytes_out=0, max_abs_error=0.0, max_rel_error=0.0),
            )
            row["tensors"] += 1
            row["bytes_in"] += each.bytes_in
            row["bytes_out"] += each.bytes_out
            for key in ("max_abs_error", "max_rel_error"):
                row[key] = _larger(row[key], getattr(each, key))
        for row in modules.values():
            row["ratio"] = row["bytes_in"] / row["bytes_out"] if row["bytes_out"] else math.nan
        return modules

    def to_dict(self) -> dict[str, Any]:
        return {
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "ratio": self.ratio,
            "modules": self.by_module(),
            "tensors": [vars(each) for each in self.tensors],
        }

    def __str__(self) -> str:
        lines = [f"{'module':40} {'bytes':>12} {'stored':>12} {'ratio':>7} {'max error':>10}"]
        for name, row in self.by_module().items():
            error = "-" if row["max_abs_error"] is None else f"{row['max_abs_error']:.3g}"
            lines.append(
                f"{name or '(top)':40} {row['bytes_in']:12} {row['bytes_out']:12} "
                f"{row['ratio']:7.2f} {error:>10}"
            )
        lines.append(f"{'file':40} {self.bytes_in:12} {self.bytes_out:12} {self.ratio:7.2f}")
        return "\n".join(lines)


def _larger(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else max(first, second)
