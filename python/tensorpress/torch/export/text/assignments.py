"""Assignments to a part of a tensor, `x[:, 1:] = y` and `x[:, 0] = 3`, as a tensor of pieces: what
is before the part, the part, what is behind it."""

from __future__ import annotations

from typing import Any

import torch

from .names import ELEMENTS
from .writing import Arguments, Call, Node, Unsupported, listed, number, refuse_unless, writes

PART = "aten.slice.Tensor"
ONE = "aten.select.int"


@writes("copy.default", "fill.Scalar", "fill.Tensor")
def assignment(a: Arguments) -> Call | str:
    """The text of the whole tensor afterwards; `model_text` gives it to the tensor's names."""
    part = a.given["self"]
    refuse_unless(str(part.target) in (PART, ONE), "an assignment to a part of a part of a tensor")
    seen = Arguments(part, a.writer)
    extents = seen.shape("self")
    where = seen.dim % len(extents)
    start, stop = _place(seen, extents[where])
    pieces = []
    text = seen.tensor("self")
    if start > 0:
        pieces.append(f"slice({text}, axis={where}, stop={start})")
    pieces.append(_value(a, part, where))
    if stop < extents[where]:
        pieces.append(f"slice({text}, axis={where}, start={stop})")
    if len(pieces) == 1:
        return pieces[0]
    return Call("cat", [listed(pieces)], [f"axis={where}"])


def _place(a: Arguments, extent: Any) -> tuple[int, int]:
    if str(a.node.target) == ONE:
        known = isinstance(a.index, int) and (isinstance(extent, int) or a.index >= 0)
        refuse_unless(known and isinstance(extent, int), "an assignment along an open axis")
        first = a.index % extent
        return first, first + 1
    start, end = a.start or 0, a.end
    known = (
        isinstance(extent, int) and isinstance(start, int) and isinstance(end, (int, type(None)))
    )
    refuse_unless(known and a.step == 1, "an assignment along an open axis, or with a step")
    stop = extent if end is None else min(end if end >= 0 else end + extent, extent)
    return (start if start >= 0 else start + extent), stop


def _value(a: Arguments, part: Node, where: int) -> str:
    """What is assigned, in the shape of the part; a single one has its axis again."""
    given = a.given.get("src", a.given.get("value"))
    shape = list(part.meta["val"].shape)
    if isinstance(given, Node) and given.meta["val"].dim() > 0:
        same = str(list(given.meta["val"].shape)) == str(shape)
        refuse_unless(same, "an assignment that repeats what it assigns")
        refuse_unless(
            given.meta["val"].dtype == part.meta["val"].dtype, "an assignment of another type"
        )
        text = a.writer.tensor(given)
        return f"unsqueeze({text}, {where})" if str(part.target) == ONE else text
    if isinstance(given, Node):
        single = a.writer.constant(given)
        refuse_unless(single is not None, "an assignment of a computed number")
        given = single.item() if isinstance(single, torch.Tensor) else given
    if str(part.target) == ONE:
        shape.insert(where, 1)
    return _filled(a, part, shape, given)


def _filled(a: Arguments, part: Node, shape: list[Any], value: Any) -> str:
    open_ = {i: each for i, each in enumerate(shape) if not isinstance(each, int)}
    fixed = [1 if i in open_ else each for i, each in enumerate(shape)]
    kind = ELEMENTS.get(part.meta["val"].dtype)
    if kind is None:
        raise Unsupported(f"an assignment to {part.meta['val'].dtype}")
    text = f'full({listed(fixed)}, {number(value)}, "{kind}")'
    if not open_:
        return text
    like = a.writer.tensor_with(a.node, open_)
    repeated = listed([0 if i in open_ else -1 for i in range(len(shape))])
    return f"expand({text}, {like}, shape={repeated})"
