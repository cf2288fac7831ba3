"""What compress_activations did in the last step, per activation and in all."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..peak_memory import Peak


@dataclasses.dataclass
class Activation:
    """One value that autograd saves: what it was, what it is stored as, what that cost."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes_before: int = 0
    bytes_after: int = 0
    bytes_lossy: int = 0  # of these, what a codec chose
    codec: str = ""
    reason: str = ""  # why a compiled graph keeps it as it is
    lossy: bool = False  # whether values come back with an error of their own
    rebuilt: bool = False  # whether they are computed again from other values in backward
    saves: int = 0  # how often a function saved it
    saved_by: list[str] = dataclasses.field(default_factory=list)
    error: float | None = None  # |x' - x| / |x| in the L2 norm
    max_error: float | None = None
    sparsity: float | None = None  # the part that is exactly zero
    nonfinite: int = 0  # times it was kept as it is because of NaN, infinity or its range
    encode_seconds: float = 0.0
    decode_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.encode_seconds + self.decode_seconds

    def as_dict(self) -> dict[str, Any]:
        fields = dataclasses.asdict(self)
        return {**fields, "shape": list(self.shape), "seconds": self.seconds}


@dataclasses.dataclass
class ActivationReport:
    """Printing it gives a table.

    saved_bytes    what plain autograd would hold between forward and backward, storages once
    stored_bytes   what was held instead, at most
    scratch_bytes  the most that decoding held at a time besides
    peak           measured by run.measure(); None before
    """

    policy: str
    steps: int
    saved_bytes: int
    stored_bytes: int
    scratch_bytes: int
    seconds: float
    activations: list[Activation]
    peak: Peak | None = None
    budget: int | None = None
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def ratio(self) -> float:
        return self.saved_bytes / self.stored_bytes if self.stored_bytes else 1.0

    @property
    def nonfinite(self) -> int:
        return sum(activation.nonfinite for activation in self.activations)

    def as_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "steps": self.steps,
            "saved_bytes": self.saved_bytes,
            "stored_bytes": self.stored_bytes,
            "scratch_bytes": self.scratch_bytes,
            "peak_bytes": self.peak.allocated if self.peak else None,
            "peak_step_bytes": self.peak.activations_and_gradients if self.peak else None,
            "peak_resident_bytes": self.peak.resident if self.peak else None,
            "seconds": self.seconds,
            "ratio": self.ratio,
            "budget_bytes": self.budget,
            "nonfinite": self.nonfinite,
            "notes": list(self.notes),
            "activations": [activation.as_dict() for activation in self.activations],
        }

    def __str__(self) -> str:
        header = (
            "activation",
            "shape",
            "before",
            "after",
            "ratio",
            "codec",
            "error",
            "zeros",
            "ms",
        )
        rows = [header, *map(_row, self.activations)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
        left = (0, 1, 5)
        lines = []
        for row in rows:
            cells = [
                cell.ljust(width) if column in left else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, "", *self._totals()])

    def _totals(self) -> list[str]:
        lines = [
            f"policy {self.policy}, step {self.steps}: saved {megabytes(self.saved_bytes)}, stored "
            f"{megabytes(self.stored_bytes)} ({self.ratio:.2f} times less), scratch "
            f"{megabytes(self.scratch_bytes)}, {1e3 * self.seconds:.1f} ms of packing and unpacking"
        ]
        if self.peak:
            resident = self.peak.resident
            lines.append(
                f"peak {megabytes(self.peak.allocated)} allocated with weights and optimizer, "
                f"{megabytes(self.peak.activations_and_gradients)} of it by the step; resident "
                f"{'unknown' if resident is None else megabytes(resident)}"
            )
        else:
            lines.append("peak not measured: run one step inside `with run.measure():`")
        if self.nonfinite:
            lines.append(
                f"{self.nonfinite} values with NaN, infinity or a range beyond float32 were kept "
                "as they are"
            )
        return [*lines, *self.notes]


def megabytes(count: float) -> str:
    return f"{count / 1e6:.2f} MB"


def _row(activation: Activation) -> tuple[str, ...]:
    ratio = activation.bytes_before / activation.bytes_after if activation.bytes_after else None
    return (
        activation.name,
        "x".join(map(str, activation.shape)),
        megabytes(activation.bytes_before),
        megabytes(activation.bytes_after),
        "-" if ratio is None else f"{ratio:.1f}",
        f"{activation.codec}: {activation.reason}" if activation.reason else activation.codec,
        "-" if activation.error is None else f"{activation.error:.2g}",
        "-" if activation.sparsity is None else f"{100 * activation.sparsity:.0f} %",
        f"{1e3 * activation.seconds:.2f}",
    )
