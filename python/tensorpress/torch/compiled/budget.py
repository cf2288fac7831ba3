"""How much memory a compiled step may take."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..activations.budget import parse_bytes
from ..activations.report import megabytes


@dataclasses.dataclass(frozen=True)
class Budget:
    """For the peak of a compiled step: bytes, or a part of the peak that plain torch.compile has.

    The peak counts what forward and backward allocate: saved values, what is there for a moment,
    and gradients, but not weights, the optimizer's state and the batch, which are there anyway.

    >>> Budget.read("2GiB").bytes, Budget.read(0.4).share
    (2147483648, 0.4)
    """

    bytes: int | None = None
    share: float | None = None

    @classmethod
    def read(cls, budget: Any) -> Budget:
        if isinstance(budget, Budget):
            return budget
        if isinstance(budget, float):
            if not 0 < budget <= 1:
                raise ValueError(
                    f"budget {budget} is not a part of the peak; write a number above 0 and up to "
                    "1.0, or bytes: 2GiB, 500MB or 4096"
                )
            return cls(share=budget)
        return cls(bytes=parse_bytes(budget))

    def limit(self, plain_peak: int) -> int:
        return self.bytes if self.bytes is not None else int((self.share or 1) * plain_peak)

    def impossible(self, limit: int, least: int, plain: int) -> ValueError:
        part = "" if self.share is None else f" ({self.share:g} of {megabytes(plain)})"
        return ValueError(
            f"tensorpress.torch.compile: the budget of {megabytes(limit)}{part} cannot be kept: "
            f"the least possible peak of this step is {megabytes(least)}, "
            f"{least / plain:.2f} of plain torch.compile; gradients and what one layer needs at a "
            "time are part of it. Use a smaller batch, or a level that allows fewer bits"
        )
