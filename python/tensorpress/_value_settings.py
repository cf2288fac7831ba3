"""What codecs of other packages are told about values beside the codec, ready for JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ._compression import fill_numbers, flag, range_numbers


@dataclass(frozen=True)
class ValueSettings:
    """Keywords of compress() that are kept with an array's metadata."""

    fill_values: tuple[float, ...] = ()
    value_range: tuple[float, float] | None = None
    whole_range: bool = False

    @classmethod
    def checked(
        cls,
        fill_values: float | Iterable[float],
        value_range: tuple[float, float] | None,
        whole_range: bool,
    ) -> ValueSettings:
        return cls(
            tuple(fill_numbers(fill_values)),
            None if value_range is None else range_numbers(value_range),
            flag("whole_range", whole_range),
        )

    def keywords(self) -> dict[str, Any]:
        """All of them, for compress()."""
        return {
            "fill_values": self.fill_values,
            "value_range": self.value_range,
            "whole_range": self.whole_range,
        }

    def to_dict(self) -> dict[str, Any]:
        """Those that say something, in JSON's types."""
        fields: dict[str, Any] = {}
        if self.fill_values:
            fields["fill_values"] = list(self.fill_values)
        if self.value_range is not None:
            fields["value_range"] = list(self.value_range)
        if self.whole_range:
            fields["whole_range"] = True
        return fields


def split(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A configuration as what is a codec's and what is about the values."""
    names = ValueSettings.__dataclass_fields__
    about_values = {key: value for key, value in fields.items() if key in names}
    return {key: value for key, value in fields.items() if key not in names}, about_values
