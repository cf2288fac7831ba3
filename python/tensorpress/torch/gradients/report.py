"""What compressed gradients have cost and saved, for people and as a dict."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass


@dataclass
class GradientReport:
    """What this rank has sent since the beginning. `wait_seconds` is what it waited for the other
    ranks' sizes; decompression may overlap with the backward pass."""

    steps: int = 0
    buckets: int = 0
    bytes_plain: int = 0  # the gradients as they are
    bytes_sent: int = 0  # tables of sizes and padding included
    nonfinite: int = 0  # gradients of a parameter with NaN or infinities, sent as they were
    compress_seconds: float = 0.0
    wait_seconds: float = 0.0
    decompress_seconds: float = 0.0
    residual_norm: float = 0.0  # of what waits for the next step
    residual_bytes: int = 0

    @property
    def ratio(self) -> float:
        return self.bytes_plain / self.bytes_sent if self.bytes_sent else math.nan

    def to_dict(self) -> dict[str, float]:
        return {**asdict(self), "ratio": self.ratio}

    def __str__(self) -> str:
        seconds = self.compress_seconds + self.wait_seconds + self.decompress_seconds
        return (
            f"{self.steps} steps, {self.bytes_plain} bytes of gradients sent as {self.bytes_sent} "
            f"({self.ratio:.2f} times smaller); {seconds:.3f} s: {self.compress_seconds:.3f} "
            f"compressing, {self.wait_seconds:.3f} waiting, {self.decompress_seconds:.3f} "
            f"decompressing; residual {self.residual_norm:.3g}"
            + (f"; {self.nonfinite} gradients with NaN or Inf" if self.nonfinite else "")
        )
