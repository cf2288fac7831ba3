"""What is done with which activation. Users write a policy as a level's name or as a plan in JSON;
docs/plan.md has the schema.

A policy has a level, and rules by name, by module type and for all, which say a codec. The most
special rule wins; where there is none the level decides from the function that saves the value.
Names of modules, codecs and parameters are checked before training begins.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ..._codec import BOUNDS
from ..module_names import Running, without_wrapper
from ..packing.codecs import CODECS as PLAIN_CODECS
from ..packing.codecs import ErrorBounded, TensorCodec
from ..packing.rotated import Rotated
from . import saved_by
from .levels import EXACT_2D_BYTES, KEEP, LEVELS, MIN_BYTES, Level

SMOOTH_ANYHOW = (
    saved_by.SMOOTH | saved_by.SMOOTH_BESIDE_ZERO | saved_by.SMOOTH_BETWEEN | saved_by.RECURRENT
)
CODECS: dict[str, type[TensorCodec]] = {**PLAIN_CODECS, Rotated.name: Rotated}
# What `tensorpress model plan` writes beside the rules: whose text it read, and what it expects.
FOR_THE_COMPILER = ("model", "prediction", "waiting_gradients", "batch")


@dataclasses.dataclass(frozen=True)
class Policy:
    """Levels and rules. `Policy.read` makes one of whatever a user has.

    >>> rule = {"codec": "quantize", "bits": 2}
    >>> policy = Policy.read({"level": "balanced", "by_type": {"Conv2d": rule}})
    >>> policy.level.name, policy.by_type["Conv2d"].describe()
    ('balanced', 'quantize bits=2')
    """

    level: Level = LEVELS["balanced"]
    default: TensorCodec | None = None
    by_type: Mapping[str, TensorCodec] = dataclasses.field(default_factory=dict)
    by_name: Mapping[str, TensorCodec] = dataclasses.field(default_factory=dict)
    min_bytes: int = MIN_BYTES
    exact_2d_bytes: int = EXACT_2D_BYTES  # of tensors of two dimensions

    @classmethod
    def read(cls, policy: str | os.PathLike[str] | Mapping[str, Any] | Policy) -> Policy:
        """Of a level's name, a path of a JSON file, its text, a dict, or a Policy."""
        if isinstance(policy, Policy):
            return policy
        if isinstance(policy, Mapping):
            return cls._of_fields(policy)
        if isinstance(policy, str) and policy in LEVELS:
            return cls(LEVELS[policy])
        if isinstance(policy, str) and policy.lstrip().startswith("{"):
            return cls._of_text(policy, "the plan")
        if isinstance(policy, os.PathLike) or (
            isinstance(policy, str) and policy.endswith(".json")
        ):
            with open(policy, encoding="utf-8") as file:
                return cls._of_text(file.read(), os.fspath(policy))
        if isinstance(policy, str):
            raise ValueError(
                f"policy {policy!r} is neither a level ({', '.join(LEVELS)}) nor a .json file"
                + _near(policy, LEVELS)
            )
        raise TypeError(f"a policy is a level, a plan or a path of one, not {policy!r}")

    @classmethod
    def _of_text(cls, text: str, where: str) -> Policy:
        try:
            fields = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{where} is not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise ValueError(f"{where} holds {type(fields).__name__}, not an object")
        return cls._of_fields(fields)

    @classmethod
    def _of_fields(cls, fields: Mapping[str, Any]) -> Policy:
        fields = dict(fields)
        version = fields.pop("tensorpress_plan", 1)
        if version != 1:
            raise ValueError(f"tensorpress_plan is {version!r}; this version reads 1")
        for name in FOR_THE_COMPILER:
            fields.pop(name, None)
        known = {field.name for field in dataclasses.fields(cls)}
        for name in fields:
            _known(name, known, "a plan has no entry")
        level = fields.get("level", "balanced")
        _known(level, LEVELS, "there is no level")
        made: dict[str, Any] = {"level": LEVELS[level]}
        if fields.get("default") is not None:
            made["default"] = codec_of(fields["default"], "default")
        for group in ("by_type", "by_name"):
            rules = fields.get(group, {})
            if not isinstance(rules, Mapping):
                raise ValueError(f"{group} is {rules!r}, not an object of rules")
            made[group] = {name: codec_of(rule, f"{group} {name}") for name, rule in rules.items()}
        for number in ("min_bytes", "exact_2d_bytes"):
            if number in fields:
                made[number] = _count(number, fields[number])
        return cls(**made)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; Policy.read takes it back."""
        return {
            "tensorpress_plan": 1,
            "level": self.level.name,
            "min_bytes": self.min_bytes,
            "exact_2d_bytes": self.exact_2d_bytes,
            "default": None if self.default is None else self.default.as_dict(),
            "by_type": {name: codec.as_dict() for name, codec in self.by_type.items()},
            "by_name": {name: codec.as_dict() for name, codec in self.by_name.items()},
        }

    def check(self, model: torch.nn.Module) -> None:
        """Every name in the policy is that of a module, or of an activation of one."""
        model = without_wrapper(model)
        names = [name for name, _ in model.named_modules() if name]
        for rule in self.by_name:
            module = rule.split(":")[0]
            if ":" not in rule or module != "":
                _known(module, names, f"the plan names '{rule}', but the model has no module")
        types = {type(module).__name__ for module in model.modules()}
        for rule in self.by_type:
            _known(rule, types, "the plan names a type of modules that the model does not have:")

    def rule_for(self, name: str, value: str, running: Running) -> TensorCodec | None:
        """The codec that a rule says, or None if the level decides. `name` is what a function
        saves; `value` is what reports call it, after the function that saved it first."""
        for own in (name, value):
            if own in self.by_name:
                return self.by_name[own]
        module = running.name
        while module:
            if module in self.by_name:
                return self.by_name[module]
            module = module.rpartition(".")[0]
        return self.by_type.get(running.type, self.default)

    def codec_for(self, function: str) -> TensorCodec:
        """What the level says for values that this function saves."""
        if function in saved_by.LINEAR:
            return self.level.linear
        if function in saved_by.EXPONENTIAL or function == saved_by.CHECKPOINT.name:
            return self.level.exponential
        if function in SMOOTH_ANYHOW:
            return self.level.smooth
        return KEEP


def codec_of(fields: Any, where: str) -> TensorCodec:
    """The codec of {"codec": "quantize", "bits": 4}, or of "quantize"."""
    if isinstance(fields, TensorCodec):
        return fields
    if isinstance(fields, str):
        fields = {"codec": fields}
    if not isinstance(fields, Mapping) or not isinstance(fields.get("codec"), str):
        raise ValueError(f'{where}: a rule is an object such as {{"codec": "quantize", "bits": 4}}')
    parameters = {key: value for key, value in fields.items() if key != "codec"}
    _known(fields["codec"], CODECS, f"{where}: there is no codec")
    kind = CODECS[fields["codec"]]
    try:
        if issubclass(kind, ErrorBounded):
            return _error_bounded(kind, parameters)
        known = {field.name for field in dataclasses.fields(kind)}
        for name in parameters:
            _known(name, known, f"codec {kind.name} has no parameter")
        return kind(**parameters)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None


def _error_bounded(kind: type[ErrorBounded], parameters: Mapping[str, Any]) -> ErrorBounded:
    bounds = [name for name in BOUNDS if name in parameters]
    others = tuple((name, value) for name, value in parameters.items() if name not in BOUNDS)
    if len(bounds) != 1:
        raise ValueError(f"codec {kind.name} needs one of {', '.join(BOUNDS)}")
    made = kind(bounds[0], parameters[bounds[0]], others)
    _ = made.codec  # the library says what is wrong
    return made


def _known(name: Any, known: Iterable[str], complaint: str) -> None:
    names = sorted(known)
    if name in names:
        return
    raise ValueError(f"{complaint} '{name}'{_near(str(name), names)}")


def _near(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 5, 0.5) or names[:12]
    return f"; did you mean {', '.join(near)}?" if near else ""


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} is {value!r}; it is a number of bytes")
    return value
