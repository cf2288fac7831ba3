"""The levels, from off to max, and the ladder of codecs from mild to strong.

levels.toml says what they are. Its place in the tree is src/model/policy/, because the model
compiler reads it too; the package has a copy beside this file.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from ..packing.codecs import Keep, Quantize, TensorCodec

KEEP = Keep()


@dataclasses.dataclass(frozen=True)
class Level:
    """The codecs for values of functions whose backward is linear in them, smooth, or exponential;
    whether masks, signs and indices are stored as what they are; and whether results of cheap
    functions are computed again instead of stored."""

    name: str
    linear: TensorCodec = KEEP
    smooth: TensorCodec = KEEP
    exponential: TensorCodec = KEEP
    exact_forms: bool = True
    rebuild: bool = False

    @property
    def multiplied(self) -> TensorCodec:
        """For what attention is linear in. Its gradients are differences of such products: 4 bits
        are too few where few probabilities are large."""
        return self.smooth

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Level:
        codecs = {
            kind: Quantize(**fields[kind])
            for kind in ("linear", "smooth", "exponential")
            if kind in fields
        }
        rebuild = fields.get("rebuild", False)
        return cls(fields["name"], **codecs, exact_forms=fields["exact_forms"], rebuild=rebuild)


_FILE = importlib.resources.files(__package__) / "levels.toml"
_TABLE = tomllib.loads(_FILE.read_text(encoding="utf-8"))

LEVELS = {fields["name"]: Level.read(fields) for fields in _TABLE["level"]}
# Sizes that plans begin with; a plan may say others.
MIN_BYTES: int = _TABLE["min_bytes"]
EXACT_2D_BYTES: int = _TABLE["exact_2d_bytes"]
# Instead of dct-chop, for planes that are too small for it.
SMALL_PLANES = Quantize(**_TABLE["small_planes"])
# adaptive.py chooses from these, and scores are measured for them.
LADDER: Sequence[TensorCodec] = (KEEP, *(Quantize(**step) for step in _TABLE["ladder"]))
# Budgets choose from these.
ALL_STEPS: Sequence[TensorCodec] = sorted(
    (*LADDER, *(Quantize(**step) for step in _TABLE["between"])),
    key=lambda codec: -codec.fidelity,
)
ONE_BIT = Quantize(**_TABLE["one_bit"])
