"""A codec with its bound and parameters as one object, which can be kept, compared and pickled."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core

Parameter = str | int | float

# The keyword of each kind of bound, and what the library calls it.
BOUNDS = {
    "absolute": "abs",
    "relative": "rel",
    "pointwise_relative": "pw-rel",
    "psnr": "psnr",
    "ratio": "ratio",
}
# The other keywords of compress(), for those who misspell one.
OPTIONS = (
    "fill_values",
    "value_range",
    "whole_range",
    "earlier_error",
    "chunk_shape",
    "attributes",
    "threads",
    "out",
)


class Codec:
    """How to compress: a codec's name, its bound and its parameters.

    Exactly one of `absolute`, `relative`, `pointwise_relative`, `psnr` and `ratio` for codecs with
    an error bound, none for those of a fixed rate; `tensorpress.codecs()` lists the parameters.

    >>> codec = tensorpress.Codec("dense", relative=1e-4)
    >>> codec
    Codec('dense', relative=0.0001)
    """

    __slots__ = ("_bound", "_complete", "_given", "_name")

    def __init__(
        self,
        name: str = "dense",
        *,
        absolute: float | None = None,
        relative: float | None = None,
        pointwise_relative: float | None = None,
        psnr: float | None = None,
        ratio: float | None = None,
        **parameters: Parameter,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"a codec is given by name or as a Codec, not as {name!r}")
        given = (absolute, relative, pointwise_relative, psnr, ratio)
        bounds = dict(zip(BOUNDS, given, strict=True))
        self._name = name
        self._bound = _only_bound(bounds)
        self._given = {key: _checked(key, value) for key, value in parameters.items()}
        try:
            self._complete = _core.check_codec(name, self.pairs, self.bound_text)
        except ValueError as error:
            advice = _advice(name, parameters)
            if not advice:
                raise
            raise ValueError(f"{error}{advice}") from None
        _check_bound_is_wanted(name, self._bound)

    @property
    def name(self) -> str:
        return self._name

    @property
    def bound(self) -> tuple[str, float] | None:
        """("relative", 0.0001), or None for codecs of a fixed rate."""
        return self._bound

    @property
    def parameters(self) -> dict[str, str]:
        """All of them, with the defaults of those that were not given."""
        return dict(self._complete)

    @property
    def bound_text(self) -> str | None:
        """The bound as streams hold it: "rel 0.0001"."""
        return None if self._bound is None else f"{BOUNDS[self._bound[0]]} {self._bound[1]!r}"

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The given parameters as the library takes them."""
        return [(key, str(value)) for key, value in self._given.items()]

    def to_dict(self) -> dict[str, Parameter]:
        """Ready for JSON: {"codec": "dense", "relative": 0.0001}."""
        bound = {} if self._bound is None else {self._bound[0]: self._bound[1]}
        return {"codec": self._name, **bound, **self._given}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Codec:
        """The reverse of to_dict. Unknown names are errors that say what is allowed."""
        others = {key: value for key, value in fields.items() if key != "codec"}
        return cls(fields.get("codec", "dense"), **others)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Codec):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return (self._name, self._bound, tuple(sorted(self._complete.items())))

    def __repr__(self) -> str:
        fields = self.to_dict()
        name = fields.pop("codec")
        return f"Codec({', '.join([repr(name), *(f'{k}={v!r}' for k, v in fields.items())])})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Codec.from_dict, (self.to_dict(),))


def codec_from(codec: str | Codec, keywords: Mapping[str, Any]) -> Codec:
    """What compress() was asked for: a Codec, or a name with keywords, not both."""
    given = {key: value for key, value in keywords.items() if value is not None}
    if isinstance(codec, Codec):
        if given:
            raise ValueError(
                f"{codec!r} already says how to compress; give {', '.join(given)} to it instead"
            )
        return codec
    return Codec(codec, **given)


def _only_bound(bounds: Mapping[str, float | None]) -> tuple[str, float] | None:
    given = [(kind, value) for kind, value in bounds.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"one bound at a time: {', '.join(kind for kind, _ in given)} are given")
    if not given:
        return None
    kind, value = given[0]
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{kind} must be a number, not {value!r}")
    return kind, float(value)


def _checked(name: str, value: Any) -> Parameter:
    if isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"{name} must be a number or a string, not {value!r}")


def _advice(name: str, parameters: Iterable[str]) -> str:
    """What else might have been meant by the first keyword that is no parameter of the codec."""
    about = next((codec for codec in _core.codecs() if codec["name"] == name), None)
    unknown = next((key for key in parameters if about and key not in about["parameters"]), None)
    if about is None or unknown is None:
        return ""
    bounds = list(BOUNDS) if about["error_bounded"] else []
    near = [key for key in bounds if BOUNDS[key] == unknown.replace("_", "-")]
    near += difflib.get_close_matches(unknown, [*about["parameters"], *bounds, *OPTIONS], 1)
    told = f". Its bound is one of {', '.join(bounds)}" if bounds else ""
    return told + (f". Did you mean {near[0]}?" if near else "")


def _check_bound_is_wanted(name: str, bound: tuple[str, float] | None) -> None:
    bounded = any(codec["name"] == name and codec["error_bounded"] for codec in _core.codecs())
    if bounded and bound is None:
        raise ValueError(
            f"codec {name} keeps an error bound and none is given: "
            + ", ".join(f"{kind}=" for kind in BOUNDS)
        )
    if bound is not None and not bounded:
        raise ValueError(f"codec {name} has a fixed rate and takes no bound such as {bound[0]}=")
