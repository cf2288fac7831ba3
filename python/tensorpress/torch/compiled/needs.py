"""How much of a saved value the backward graph looks at.

A partitioned backward graph has two kinds of nodes. Those that depend on a tangent are the backward
pass itself. The others rebuild forward values from saved ones, because that costs less than saving
them. From a saved value we follow its users through what is rebuilt until the backward pass itself
takes it:

    saved x --> sub mean --> mul rsqrt --> relu --+--> convolution_backward     a use, linear
                                                  +--> le 0 --> where           a cut: exact, 1 bit

A use says how the gradient depends on the value (linear, smooth, exponential), with the same tables
of functions as in eager mode (policy/saved_by.py). A cut is a rebuilt node that has to be made
from the exact value: a comparison, or a small statistic. It is made in forward and saved as it is.
An operator that no table names wants the value exactly.
"""

from __future__ import annotations

import dataclasses
import enum
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import fx

from ..policy import saved_by
from .names import function_of

aten, prims = torch.ops.aten, torch.ops.prims


class Kind(enum.IntEnum):
    """How backward depends on a value; the higher asks for more bits."""

    LINEAR = 0
    SMOOTH = 1
    EXPONENTIAL = 2


# Only another shape, place or type.
MOVING = frozenset(
    (
        *(aten.view, aten.reshape, aten._unsafe_view, aten.permute, aten.transpose, aten.t),
        *(aten.expand, aten.unsqueeze, aten.squeeze, aten.clone, aten._to_copy, aten.alias),
        *(aten.detach, aten.slice, aten.select, aten.split, aten.split_with_sizes, aten.cat),
        *(aten.unbind, aten.stack, aten.constant_pad_nd, aten.repeat, aten.flip),
        *(aten.diagonal, aten.lift_fresh_copy, prims.convert_element_type, aten._unsafe_index),
        *(aten.index, aten.index_select, aten.gather, aten.slice_scatter, aten.select_scatter),
        *(aten.squeeze_copy, aten.view_copy, aten.unfold, aten.narrow, operator.getitem),
    )
)
LINEAR = frozenset(
    (
        *(aten.add, aten.sub, aten.rsub, aten.neg, aten.sum, aten.mean, aten.where),
        *(aten.masked_fill, aten.avg_pool2d, aten._adaptive_avg_pool2d, aten.upsample_nearest2d),
        *(aten.upsample_bilinear2d, aten.index_put, aten.index_add),
    )
)
# Slopes of at most 1 with a bend: an error comes through, but one without bias does not stay so.
# Where the bend is passed is a comparison.
BENT = frozenset(
    (
        *(aten.relu, aten.clamp, aten.clamp_min, aten.clamp_max, aten.hardtanh, aten.maximum),
        *(aten.minimum, aten.abs, aten.leaky_relu, aten.hardswish, aten.hardsigmoid),
    )
)
SMOOTH = frozenset(
    (
        *(aten.mul, aten.sigmoid, aten.tanh, aten.erf, aten.silu, aten.gelu, aten.sin, aten.cos),
        *(aten.square, aten.softplus, aten.mish, aten.addcmul, aten.lerp, aten.log_sigmoid_forward),
        *(aten._softmax, aten._log_softmax, aten.glu, aten.elu),
    )
)
SMOOTH_OF_INDUCTOR = ("prims.fma",)  # by name: they are there only once Inductor is loaded
EXPONENTIAL = frozenset((aten.exp, aten.exp2, aten.expm1))
PRODUCTS = frozenset((aten.mm, aten.bmm, aten.addmm, aten.baddbmm, aten.mv, aten.dot, aten.addmv))
# Positions of these operands only; the others are wanted exactly.
AT: dict[Any, Sequence[int]] = {
    aten.div: (0,),
    aten.where: (1, 2),
    aten.masked_fill: (0, 2),
    aten.pow: (0,),
    aten.index: (0,),
    aten._unsafe_index: (0,),
    aten.index_select: (0,),
    aten.gather: (0,),
    aten.index_put: (0, 2),
    aten.index_add: (0, 3),
    aten.convolution_backward: (0, 1),
    aten.native_batch_norm_backward: (0, 1),
    aten.cudnn_batch_norm_backward: (0, 1),
    aten.batch_norm_backward: (0, 1),
    aten.native_layer_norm_backward: (0, 1),
    aten.native_group_norm_backward: (0, 1),
    aten._fused_rms_norm_backward: (0, 1),
    aten.gelu_backward: (0, 1),
    aten.silu_backward: (0, 1),
    aten.mish_backward: (0, 1),
    aten.sigmoid_backward: (0, 1),
    aten.tanh_backward: (0, 1),
    aten.softplus_backward: (0, 1),
    aten.glu_backward: (0, 1),
    aten.mse_loss_backward: (0, 1, 2),
    aten._softmax_backward_data: (0, 1),
    aten._log_softmax_backward_data: (0, 1),
    aten._scaled_dot_product_flash_attention_for_cpu_backward: (0, 1, 2, 3, 4),
    aten._scaled_dot_product_flash_attention_backward: (0, 1, 2, 3, 4),
    aten._scaled_dot_product_efficient_attention_backward: (0, 1, 2, 3, 5),
    aten._scaled_dot_product_cudnn_attention_backward: (0, 1, 2, 3, 4),
}
# Queries and keys go into an exponential. Gradients are linear in values and results, but are
# differences of such products, so these have the bits of smooth values, as in eager mode
# (Level.multiplied).
ATTENTION = {packet for packet in AT if "attention" in str(packet)}
MULTIPLIED_IN_ATTENTION = (0, 3, 4, 5)
# Only the shape of these operands counts.
SHAPE_AT: dict[Any, Sequence[int]] = {
    aten.max_pool2d_with_indices_backward: (1,),
    aten.avg_pool2d_backward: (1,),
    aten._adaptive_avg_pool2d_backward: (1,),
    aten.avg_pool3d_backward: (1,),
    aten.max_pool3d_with_indices_backward: (1,),
    aten.new_zeros: (0,),
    aten.new_empty: (0,),
    aten.new_full: (0,),
    aten.zeros_like: (0,),
    aten.ones_like: (0,),
    aten.full_like: (0,),
    aten.empty_like: (0,),
    aten.sym_size: (0,),
}
SMALL = 16  # a statistic has no more than this part of the elements


@dataclasses.dataclass(frozen=True)
class Use:
    """A node of the backward pass that takes a value, or what is rebuilt from it."""

    node: fx.Node
    kind: Kind


@dataclasses.dataclass
class Needs:
    uses: list[Use] = dataclasses.field(default_factory=list)
    cuts: list[fx.Node] = dataclasses.field(default_factory=list)
    shapes: list[fx.Node] = dataclasses.field(default_factory=list)  # content with the shape
    exactly: list[fx.Node] = dataclasses.field(default_factory=list)  # want the value as it is

    @property
    def kind(self) -> Kind:
        return max((use.kind for use in self.uses), default=Kind.LINEAR)


def packet_of(node: fx.Node) -> Any:
    """aten.mul for aten.mul.Tensor and aten.mul.Scalar."""
    return getattr(node.target, "overloadpacket", node.target)


def operator_of(node: fx.Node) -> str:
    return str(getattr(packet_of(node), "__name__", node.target))


def on_gradients(graph: fx.Graph, saved: Iterable[fx.Node]) -> set[fx.Node]:
    """The backward pass itself: what depends on a placeholder that was not saved."""
    rebuilt = set(saved)
    found: set[fx.Node] = set()
    for node in graph.nodes:
        outside = node.op == "placeholder" and node not in rebuilt
        if outside or any(operand in found for operand in node.all_input_nodes):
            found.add(node)
    return found


def needs_of(entry: fx.Node, gradients: set[fx.Node]) -> Needs:
    """Of a placeholder of the backward graph."""
    needs = Needs()
    elements = elements_of(entry)
    seen: set[tuple[fx.Node, fx.Node, Kind]] = set()
    open_ends = [(user, entry, Kind.LINEAR) for user in entry.users]
    while open_ends:
        end = user, operand, so_far = open_ends.pop()
        if end in seen:
            continue
        seen.add(end)
        if _only_shape(user, operand):
            needs.shapes.append(user)
            continue
        kind = _kind_at(user, operand)
        if user in gradients:
            if kind is None:
                needs.exactly.append(user)
            else:
                needs.uses.append(Use(user, max(kind, so_far)))
        elif _is_cut(user, elements) and (kind is None or user.meta["val"].dtype == torch.bool):
            needs.cuts.append(user)
        elif kind is None:
            needs.exactly.append(user)
        else:
            open_ends += [(further, user, max(kind, so_far)) for further in user.users]
    return needs


def elements_of(node: fx.Node) -> int:
    value = node.meta.get("val")
    return hint(value.numel()) if isinstance(value, torch.Tensor) else 0


def hint(size: Any) -> int:
    """The size that a symbolic one has now, without a guard for it."""
    if isinstance(size, int):
        return size
    found = size.node.hint
    return 4096 if found is None else int(found)


def _is_cut(node: fx.Node, elements: int) -> bool:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return False
    return value.dtype == torch.bool or SMALL * elements_of(node) <= elements


def _positions(user: fx.Node, operand: fx.Node) -> list[int]:
    found = [place for place, argument in enumerate(user.args) if argument is operand]
    inside = [
        place
        for place, argument in enumerate(user.args)
        if isinstance(argument, (list, tuple)) and operand in argument
    ]
    # An operand by keyword is at no position that a table names.
    return found + inside or [-1]


def _only_shape(user: fx.Node, operand: fx.Node) -> bool:
    places = SHAPE_AT.get(packet_of(user)) if user.op == "call_function" else None
    return places is not None and all(place in places for place in _positions(user, operand))


def _kind_at(user: fx.Node, operand: fx.Node) -> Kind | None:
    """How the result depends on the operand, or None if it has to be exact."""
    if user.op != "call_function":
        return None
    packet, places = packet_of(user), _positions(user, operand)
    value = user.meta.get("val")
    if isinstance(value, torch.Tensor) and not value.is_floating_point():
        return None
    if packet in (aten.div, aten.reciprocal) and _is_one_plus_exponential(operand):
        return Kind.SMOOTH
    if packet in AT and not all(place in AT[packet] for place in places):
        return None
    if packet in PRODUCTS and function_of(user) in saved_by.ATTENTION:
        return Kind.SMOOTH
    if packet in MOVING or packet in LINEAR or packet in PRODUCTS:
        return Kind.LINEAR
    if packet in BENT:
        return Kind.SMOOTH
    if packet in ATTENTION:
        multiplied = all(place in MULTIPLIED_IN_ATTENTION for place in places)
        return Kind.SMOOTH if multiplied else Kind.EXPONENTIAL
    if packet is aten.pow and not _is_polynomial(user):
        return None
    if packet in EXPONENTIAL:
        bounded = _is_gaussian(user) or all(map(_is_one_plus_exponential, user.users))
        return Kind.SMOOTH if bounded else Kind.EXPONENTIAL
    if packet not in SMOOTH and packet not in AT and str(packet) not in SMOOTH_OF_INDUCTOR:
        return None
    function = function_of(user)
    if function in saved_by.EXPONENTIAL:
        return Kind.EXPONENTIAL
    by_number = packet in (aten.mul, aten.div) and not isinstance(user.args[1], fx.Node)
    return Kind.LINEAR if by_number or function in saved_by.LINEAR else Kind.SMOOTH


def _is_polynomial(power: fx.Node) -> bool:
    exponent = power.args[1]
    return isinstance(exponent, int | float) and exponent >= 1 and exponent == int(exponent)


def _is_one_plus_exponential(node: fx.Node) -> bool:
    """1 + exp(-x), which a sigmoid divides by: never below 1, and the quotient's slope is bounded.
    Whatever else takes it asks for itself."""
    if packet_of(node) is not aten.add or len(node.args) < 2 or node.args[1] != 1:
        return False
    exponential = node.args[0]
    return isinstance(exponential, fx.Node) and packet_of(exponential) is aten.exp


def _is_gaussian(exponential: fx.Node) -> bool:
    """exp(-c x x), which the gradient of gelu has: its slope has a bound."""
    exponent = exponential.args[0]
    if not isinstance(exponent, fx.Node) or packet_of(exponent) is not aten.mul:
        return False
    square, factor = exponent.args[:2]
    if not isinstance(factor, float) or factor > 0 or not isinstance(square, fx.Node):
        return False
    return packet_of(square) is aten.mul and square.args[0] is square.args[1]
