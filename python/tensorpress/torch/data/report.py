"""What compressed training data saved and cost, as text and as a dict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class LoaderReport:
    """Sizes in bytes; times in seconds, added over all batches since the loader was made.

    startup_seconds is what the loop waited for the first batch of each epoch, wait_seconds for the
    others: with workers, a loader that keeps up makes the loop wait for nothing but the first.
    """

    codec: str
    normalization: str
    where: str
    original_bytes: int
    decompressed_bytes: int
    stored_bytes: int
    samples: int = 0
    batches: int = 0
    epochs: int = 0
    decompression_seconds: float = 0.0
    overlappable_seconds: float = 0.0
    startup_seconds: float = 0.0
    wait_seconds: float = 0.0
    step_seconds: float = 0.0

    @property
    def saved_bytes(self) -> int:
        return self.decompressed_bytes - self.stored_bytes

    @property
    def ratio(self) -> float:
        return self.decompressed_bytes / self.stored_bytes

    @property
    def decompression_rate(self) -> float:
        """Samples that one worker decompresses in a second."""
        return _per_second(self.samples, self.decompression_seconds)

    @property
    def training_rate(self) -> float:
        """Samples that the loop went through in a second, waiting included."""
        return _per_second(
            self.samples, self.step_seconds + self.wait_seconds + self.startup_seconds
        )

    @property
    def hidden(self) -> bool:
        """Whether the loop waited for less than a tenth of what decompression took; the first
        batch of an epoch has no step to hide behind and is left out."""
        return self.batches > self.epochs and self.wait_seconds < 0.1 * self.overlappable_seconds

    def as_dict(self) -> dict[str, Any]:
        names = ("saved_bytes", "ratio", "decompression_rate", "training_rate", "hidden")
        return {**asdict(self), **{name: getattr(self, name) for name in names}}

    def __str__(self) -> str:
        total = self.step_seconds + self.wait_seconds + self.startup_seconds
        share = 100 * self.decompression_seconds / total if total else 0.0
        hidden = "hidden behind the steps" if self.hidden else "not hidden behind the steps"
        return "\n".join(
            [
                f"codec           {self.codec}, decompressed on the {self.where}; "
                f"normalization: {self.normalization}",
                f"stored          {_megabytes(self.stored_bytes)} for "
                f"{_megabytes(self.decompressed_bytes)} that the network takes: "
                f"{_megabytes(self.saved_bytes)} saved, ratio {self.ratio:.2f} "
                f"(the source held {_megabytes(self.original_bytes)})",
                f"decompression   {self.decompression_seconds:.3f} s for {self.samples} samples, "
                f"{self.decompression_rate:,.0f} a second; training {self.training_rate:,.0f} "
                f"a second",
                f"the loop waited {self.wait_seconds:.3f} s, and {self.startup_seconds:.3f} s for "
                f"first batches, in {total:.3f} s; decompression took {share:.1f} % of it, "
                f"{hidden}",
            ]
        )


def _per_second(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.2f} MB"
