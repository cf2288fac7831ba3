"""The levels, from off to max, and the ladder of codecs from mild to strong."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..packing.codecs import Keep, Quantize, TensorCodec

KEEP = Keep()


@dataclasses.dataclass(frozen=True)
class Level:
    """The codecs for values of functions whose backward is linear in them, smooth, or exponential;
    and whether masks, signs and indices are stored as what they are."""

    name: str
    linear: TensorCodec = KEEP
    smooth: TensorCodec = KEEP
    exponential: TensorCodec = KEEP
    exact_forms: bool = True


EIGHT = Quantize(bits=8)
LEVELS = {
    level.name: level
    for level in (
        Level("off", exact_forms=False),
        Level("lossless"),
        Level("safe", EIGHT, EIGHT, EIGHT),
        Level("balanced", Quantize(bits=4), EIGHT, EIGHT),
        Level(
            "max",
            Quantize(bits=2, rounding="stochastic"),
            Quantize(bits=4, rounding="stochastic"),
            EIGHT,
        ),
    )
}
# From mild to strong; budgets and adaptive.py choose from these, and scores are measured for them.
LADDER: Sequence[TensorCodec] = (
    KEEP,
    Quantize(bits=8),
    Quantize(bits=4),
    Quantize(bits=2, rounding="stochastic"),
)
