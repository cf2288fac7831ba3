"""Functions that are cheap enough to be called again in backward, instead of storing their results.

Each gives the same values for the same inputs, changes nothing else, and is smooth in its inputs:
inputs that are nearly the same give a result that is nearly the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

ELEMENTWISE = frozenset(
    """mul __mul__ __rmul__ multiply add __add__ __radd__ sub __sub__ __rsub__ neg __neg__
    silu gelu mish softplus tanh sigmoid special_expit logsigmoid erf sin cos square
    hardswish hardsigmoid to type float bfloat16 half type_as contiguous clone""".split()
)
NORMS = frozenset("layer_norm rms_norm group_norm".split())
# With a number, not a tensor, as the second argument; powers that are whole.
BY_NUMBER = frozenset("div __truediv__ true_divide pow __pow__".split())
DROPOUT = "dropout"
# Those of the above that save their input and then overwrite it, if asked.
IN_PLACE = frozenset("hardswish silu mish".split())


def may_rebuild(name: str) -> bool:
    return name in ELEMENTWISE or name in NORMS or name in BY_NUMBER or name == DROPOUT


def rebuilds(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether this call's result can be computed again from its arguments. Dropout's cannot: see
    Origins.note."""
    if name in BY_NUMBER:
        number = args[1] if len(args) > 1 else None
        if isinstance(number, bool) or not isinstance(number, int | float) or kwargs:
            return False
        return number >= 1 and number == int(number) if "pow" in name else number != 0
    return name != DROPOUT and "out" not in kwargs and not kwargs.get("inplace", False)


def dropped(values: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """What dropout makes of values: its noise is 0 or what the others are multiplied with."""
    return values * noise
