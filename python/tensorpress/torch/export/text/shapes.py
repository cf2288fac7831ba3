"""How operators on shapes are written as model text, and those that take elements by number."""

from __future__ import annotations

from typing import Any

import torch

from .names import ELEMENTS
from .writing import (
    Arguments,
    Call,
    Expression,
    axis,
    listed,
    refuse_unless,
    unless,
    writes,
)


def _reshaped(a: Arguments, text: str, before: list[Any], after: list[Any]) -> Call | str:
    """0 stands for the extent of the input at that place, -1 for what remains."""
    if str(before) == str(after):  # sizes that are equal for the example alone are not
        return text
    wanted = []
    for i, extent in enumerate(after):
        if isinstance(extent, int):
            wanted.append(extent)
        else:
            same_place = i < len(before) and str(before[i]) == str(extent)
            wanted.append(0 if same_place else -1)
    refuse_unless(wanted.count(-1) <= 1, "a shape with several open extents")
    return Call("reshape", [text], [listed(wanted)])


@writes("view.default", "reshape.default", "_unsafe_view.default", "squeeze.dims")
@writes("unflatten.int")
def reshape(a: Arguments) -> Call | str:
    return _reshaped(a, a.tensor("self"), a.shape("self"), list(a.result.shape))


@writes("flatten.using_ints")
def flatten(a: Arguments) -> Call | str:
    start, end = axis(a, a.start_dim), axis(a, a.end_dim)
    if start == end:
        return a.tensor("self")
    if end == len(a.shape("self")) - 1:
        return Call("flatten", [a.tensor("self")], unless(1, "from", start))
    return _reshaped(a, a.tensor("self"), a.shape("self"), list(a.result.shape))


@writes("transpose.int", "t.default")
def transpose(a: Arguments) -> Call:
    first, second = (0, 1) if a.name == "t" else (axis(a, a.dim0), axis(a, a.dim1))
    return Call("transpose", [a.tensor("self")], [str(first), str(second)])


@writes("permute.default")
def permute(a: Arguments) -> Call | str:
    wanted = [axis(a, each) for each in a.dims]
    if wanted == sorted(wanted):
        return a.tensor("self")
    return Call("permute", [a.tensor("self")], [listed(wanted)])


@writes("unsqueeze.default")
def unsqueeze(a: Arguments) -> Call:
    return Call("unsqueeze", [a.tensor("self")], [str(a.dim % (len(a.shape("self")) + 1))])


@writes("squeeze.dim")
def squeeze(a: Arguments) -> Call | str:
    if a.shape("self")[axis(a, a.dim)] != 1:
        return a.tensor("self")
    return Call("squeeze", [a.tensor("self")], [str(axis(a, a.dim))])


@writes("cat.default")
def cat(a: Arguments) -> Call | str:
    """Without those that are empty, as caches are before the first token."""
    parts = [each for each in a.tensors if 0 not in each.meta["val"].shape]
    tensors = [a.writer.tensor(each) for each in parts]
    where = a.dim % len(a.result.shape)
    if len(tensors) == 1:
        return tensors[0]
    return Call("cat", [listed(tensors)], unless(1, "axis", where))


@writes("stack.default")
def stack(a: Arguments) -> Call:
    tensors = [a.writer.tensor(each) for each in a.tensors]
    where = a.dim % len(a.result.shape)
    return Call("stack", [listed(tensors)], unless(0, "axis", where))


@writes("chunk.default", "split.Tensor", "split_with_sizes.default")
def chunk(a: Arguments) -> Call:
    sizes = [each.shape[axis(a, a.dim)] for each in a.node.meta["val"]]
    refuse_unless(len(sizes) > 1, "a split into one part")
    attributes = [str(len(sizes)), *unless(-1, "axis", axis(a, a.dim))]
    return Call("chunk", [a.tensor("self")], attributes, parts=len(sizes))


@writes("unbind.int")
def unbind(a: Arguments) -> Call:
    """Parts of one element along an axis, which `write` takes away from each."""
    count = len(a.node.meta["val"])
    refuse_unless(count > 1, "unbind of an axis of one element")
    return Call("chunk", [a.tensor("self")], [str(count), f"axis={axis(a, a.dim)}"], parts=count)


@writes("mean.dim", "sum.dim_IntList", "mean.default", "sum.default")
def reduction(a: Arguments) -> Call:
    refuse_unless(a.dtype is None, f"{a.name} into another type")
    over = a.given.get("dim") or range(len(a.shape("self")))
    attributes = [listed(axis(a, each) for each in over)]
    if a.given.get("keepdim"):
        attributes.append("keep=true")
    return Call(a.name, [a.tensor("self")], attributes)


@writes("roll.default")
def roll(a: Arguments) -> Call:
    refuse_unless(len(a.dims) > 0, "roll of all elements in a row")
    shifts = a.shifts if isinstance(a.shifts, (list, tuple)) else [a.shifts]
    dims = [axis(a, each) for each in a.dims]
    return Call("roll", [a.tensor("self")], [listed(shifts), listed(dims)])


@writes("cumsum.default")
def cumsum(a: Arguments) -> Call:
    refuse_unless(a.dtype in (None, a.result.dtype), "cumsum into another type")
    return Call("cumsum", [a.tensor("self")], [str(axis(a, a.dim))])


@writes("scatter_add.default")
def scatter_add(a: Arguments) -> Call:
    tensors = [a.tensor(each) for each in ("self", "index", "src")]
    return Call("scatter_add", tensors, [f"axis={axis(a, a.dim)}"])


@writes("diff.default")
def diff(a: Arguments) -> Expression:
    refuse_unless(a.n == 1 and a.prepend is None and a.append is None, "diff with options")
    where = axis(a, a.dim)
    extent = a.shape("self")[where]
    refuse_unless(isinstance(extent, int), "a part of an open axis")
    text = a.tensor("self")
    later = f"slice({text}, axis={where}, start=1)"
    return Expression(f"{later} - slice({text}, axis={where}, stop={extent - 1})")


@writes("slice.Tensor")
def part(a: Arguments) -> Call | str:
    extent = a.shape("self")[axis(a, a.dim)]
    if str(list(a.result.shape)) == str(a.shape("self")):
        return a.tensor("self")
    known = all(isinstance(each, int) for each in (extent, a.start or 0, a.step))
    refuse_unless(known, "a part of an open axis")
    attributes = [f"axis={axis(a, a.dim)}", *unless(0, "start", a.start or 0)]
    if isinstance(a.end, int) and a.end < extent:
        attributes.append(f"stop={a.end}")
    return Call("slice", [a.tensor("self")], attributes + unless(1, "step", a.step))


@writes("select.int")
def select(a: Arguments) -> Call:
    """A slice of one element without its axis."""
    where = axis(a, a.dim)
    extent = a.shape("self")[where]
    refuse_unless(isinstance(extent, int) and isinstance(a.index, int), "a part of an open axis")
    first = a.index % extent
    attributes = [f"axis={where}", f"start={first}", f"stop={first + 1}"]
    return Call("slice", [a.tensor("self")], attributes, inside=f"squeeze({{}}, {where})")


@writes("expand.default", "expand_as.default")
def expand(a: Arguments) -> Call | str:
    """An open extent is that of a tensor that has it at the same place."""
    wanted = list(a.result.shape)
    if str(wanted) == str(a.shape("self")):
        return a.tensor("self")
    tensors, added = [a.tensor("self")], len(wanted) - len(a.shape("self"))
    shape = []
    for i, extent in enumerate(wanted):
        kept = i >= added and str(a.shape("self")[i - added]) == str(extent)
        shape.append(-1 if kept else extent if isinstance(extent, int) else 0)
    if 0 in shape:
        extents = {i: wanted[i] for i, each in enumerate(shape) if each == 0}
        tensors.append(a.writer.tensor_with(a.node, extents))
    return Call("expand", tensors, [f"shape={listed(shape)}"])


@writes("index_select.default")
def index_select(a: Arguments) -> Call:
    return Call(
        "index_select", [a.tensor("self"), a.tensor("index")], unless(0, "axis", axis(a, a.dim))
    )


@writes("gather.default")
def gather(a: Arguments) -> Call:
    refuse_unless(not a.sparse_grad, "gather with a sparse gradient")
    return Call("gather", [a.tensor("self"), a.tensor("index")], [f"axis={axis(a, a.dim)}"])


@writes("index.Tensor")
def index(a: Arguments) -> Call | str:
    """x[index] by numbers along the first axis, or by all numbers along all axes."""
    if _takes_all(a):
        return _reshaped(a, a.tensor("self"), a.shape("self"), list(a.result.shape))
    numbers = [each for each in a.indices if each is not None]
    one = len(a.indices) == 1 and len(numbers) == 1
    value = numbers[0].meta["val"] if one else None
    plain = value is not None and value.dtype == torch.int64 and value.dim() == 1
    refuse_unless(plain, "an index other than whole numbers along the first axis")
    return Call("index_select", [a.tensor("self"), a.writer.tensor(numbers[0])])


def _takes_all(a: Arguments) -> bool:
    """x[arange(n)[:, None, None], arange(m)], which only spreads the axes of x."""
    before, after = a.shape("self"), list(a.result.shape)
    if len(a.indices) != len(before) or any(each is None for each in a.indices):
        return False
    rank = max(len(each.meta["val"].shape) for each in a.indices)
    places = []
    for each, extent in zip(a.indices, before, strict=True):
        shape = [1] * (rank - len(each.meta["val"].shape)) + list(each.meta["val"].shape)
        long = [i for i, size in enumerate(shape) if str(size) != "1"]
        if len(long) != 1 or str(shape[long[0]]) != str(extent) or not _counts(each):
            return False
        places += long
    ordered = places == sorted(set(places))
    return ordered and len(after) == rank


def _counts(node: Any) -> bool:
    """0, 1, 2, ... however it is reshaped."""
    while str(node.target) in (
        "aten.unsqueeze.default",
        "aten.view.default",
        "aten.slice.Tensor",
    ):
        whole = str(node.meta["val"].numel()) == str(node.args[0].meta["val"].numel())
        if not whole:
            return False
        node = node.args[0]
    if str(node.target) == "aten.add.Tensor" and node.args[1] == 0:
        return _counts(node.args[0])
    return str(node.target) == "aten.arange.default"


@writes("index_add.default")
def index_add(a: Arguments) -> Call | Expression:
    """Onto a tensor; zeros as the start are what segment_sum begins with."""
    refuse_unless(
        axis(a, a.dim) == 0 and a.alpha == 1, "index_add along another axis, or with alpha"
    )
    sums = f"segment_sum({a.tensor('source')}, {a.tensor('index')}, "
    if str(a.given["self"].target) in ZEROS:
        rows = a.writer.tensor_with(a.node, {0: a.shape("self")[0]})
        return Expression(f"{sums}{rows})")
    return Expression(f"{a.tensor('self')} + {sums}{a.tensor('self')})")


ZEROS = ("aten.zeros_like.default", "aten.new_zeros.default", "aten.zeros.default")


# As defaults of schemas have them.
ORDERS = {0: torch.contiguous_format, 1: torch.preserve_format}


@writes("contiguous.default", "clone.default")
def contiguous(a: Arguments) -> Call | str:
    """The order in memory decides which of PyTorch's kernels run, and so the last bits."""
    wanted = ORDERS.get(a.memory_format, a.memory_format)
    if a.name == "clone" and wanted in (None, torch.preserve_format):
        return a.tensor("self")
    refuse_unless(wanted == torch.contiguous_format, f"{a.name} with memory_format={wanted}")
    kept = a.given["self"].meta["val"].is_contiguous()
    return a.tensor("self") if kept else Call("contiguous", [a.tensor("self")])


@writes("alias.default")
@writes("to.dtype", "to.dtype_layout", "to.device", "_to_copy.default", "type_as.default")
@writes("lift_fresh_copy.default", "detach.default")
def same(a: Arguments) -> Call | str:
    unchanged = str(list(a.result.shape)) == str(a.shape("self"))
    refuse_unless(unchanged, f"{a.name} to another shape")
    before = a.given["self"].meta["val"]
    refuse_unless(a.name != "detach" or not before.requires_grad, "detach, which ends a gradient")
    if a.result.dtype == before.dtype:
        return a.tensor("self")
    refuse_unless(a.result.dtype in ELEMENTS, f"a change of type to {a.result.dtype}")
    return Call("cast", [a.tensor("self")], [f'"{ELEMENTS[a.result.dtype]}"'])
