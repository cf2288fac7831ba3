"""How the operators of layers and losses are written as model text: one function each. Those that
go element by element are in elementwise.py, those that only move values in shapes.py."""

from __future__ import annotations

from typing import Any

import torch

from .constants import is_all_true, is_causal
from .names import ELEMENTS
from .writing import (
    Arguments,
    Call,
    Node,
    Unsupported,
    Writer,
    listed,
    number,
    pair,
    refuse_unless,
    unless,
    writes,
)

# --- Convolutions and matrices --------------------------------------------------------------------


def _weighted(a: Arguments, operator_name: str, attributes: list[str]) -> Call:
    refuse_unless(a.is_parameter("weight"), f"{operator_name} with a computed weight")
    parameters = {"weight": a.weight}
    if a.bias is None:
        attributes = [*attributes, "bias=false"]
    else:
        parameters["bias"] = a.bias
    return Call(operator_name, [a.tensor("input")], attributes, parameters)


@writes("conv2d.default", "conv2d.padding")
def conv2d(a: Arguments) -> Call:
    channels, _, *kernel = a.shape("weight")
    padding = a.padding
    if padding == "valid":
        padding = 0
    if padding == "same":
        reach = [d * (k - 1) for d, k in zip(a.dilation * 2, kernel, strict=False)]
        if any(each % 2 for each in reach):
            raise Unsupported("conv2d with padding='same' pads unevenly here, which")
        padding = [each // 2 for each in reach]
    attributes = [str(channels), f"kernel={pair(kernel)}", *unless(1, "stride", a.stride)]
    attributes += unless(0, "padding", padding) + unless(1, "dilation", a.dilation)
    return _weighted(a, "conv2d", attributes + unless(1, "groups", a.groups))


@writes("conv_transpose2d.input")
def conv_transpose2d(a: Arguments) -> Call:
    _, channels, *kernel = a.shape("weight")
    attributes = [str(channels * a.groups), f"kernel={pair(kernel)}"]
    attributes += unless(1, "stride", a.stride) + unless(0, "padding", a.padding)
    attributes += unless(0, "output_padding", a.output_padding) + unless(1, "groups", a.groups)
    return _weighted(a, "conv_transpose2d", attributes + unless(1, "dilation", a.dilation))


@writes("linear.default")
def linear(a: Arguments) -> Call:
    if not a.is_parameter("weight"):
        return _by_computed_matrix(a)
    return _weighted(a, "linear", [str(a.shape("weight")[0])])


def _by_computed_matrix(a: Arguments) -> Call:
    """A product of matrices, and a sum."""
    tensor, inside = a.tensor("input"), "{}"
    back = [each if isinstance(each, int) else -1 for each in a.result.shape]
    if len(back) != 2:
        refuse_unless(back.count(-1) <= 1, "linear by a computed matrix with several open extents")
        tensor = f"reshape({tensor}, {listed([-1, a.shape('weight')[1]])})"
        inside = f"reshape({{}}, {listed(back)})"
    if a.bias is not None:
        inside += f" + {a.tensor('bias')}"
    return Call("matmul", [tensor, a.tensor("weight")], ["transposed=true"], inside=inside)


@writes("addmm.default")
def addmm(a: Arguments) -> Call:
    """A linear layer whose weight is [in, features], as GPT-2's are."""
    refuse_unless(a.alpha == 1 and a.beta == 1, "addmm with alpha or beta")
    own = a.is_parameter("mat2") and a.is_parameter("self")
    refuse_unless(own and len(a.shape("self")) == 1, "addmm of tensors that are not parameters")
    parameters = {"weight": a.given["mat2"], "bias": a.given["self"]}
    features = str(a.shape("mat2")[1])
    return Call("linear", [a.tensor("mat1")], [features, "transposed=true"], parameters)


@writes("matmul.default", "bmm.default", "mm.default")
def matmul(a: Arguments) -> Call:
    other = "other" if "other" in a.given else "mat2"
    left, right = a.shape("self"), a.shape(other)
    refuse_unless(len(left) == len(right) >= 2, "a product of tensors of different ranks")
    tensors = [a.tensor("self"), a.tensor(other)]
    if len(left) <= 3:
        return Call("matmul", tensors)
    refuse_unless(left[:-2] == right[:-2], "a product that repeats one side")
    # Leading axes become one, and come back from it.
    tensors = [
        f"reshape({text}, {listed([-1, *shape[-2:]])})"
        for text, shape in zip(tensors, (left, right), strict=True)
    ]
    back = [-1 if i == 0 else extent for i, extent in enumerate(a.result.shape)]
    return Call("matmul", tensors, inside=f"reshape({{}}, {listed(back)})")


@writes("embedding.default")
def embedding(a: Arguments) -> Call:
    refuse_unless(a.is_parameter("weight"), "embedding in a computed table")
    refuse_unless(not a.sparse, "embedding with sparse gradients")
    refuse_unless(not a.scale_grad_by_freq, "embedding with scale_grad_by_freq")
    sizes = [str(each) for each in a.shape("weight")]
    kind = ELEMENTS[a.result.dtype]
    sizes += unless(-1, "padding", a.padding_idx)
    sizes += [] if kind == "f32" else [f'type="{kind}"']
    return Call("embedding", [a.tensor("indices")], sizes, {"weight": a.weight})


@writes("scaled_dot_product_attention.default")
def attention(a: Arguments) -> Call:
    """Model text has the heads beside each other: [batch, tokens, features]."""
    refuse_unless(a.scale is None or a.scale > 0, "attention with a scale that is not above 0")
    query = a.shape("query")
    refuse_unless(len(query) == 4, "attention without an axis of heads")
    heads, features = query[1], query[3]
    refuse_unless(a.shape("value")[3] == features, "attention with other features in value")
    tensors = [_heads_together(a.given[name], a.writer) for name in ("query", "key", "value")]
    causal = a.is_causal
    if a.attn_mask is not None:
        # Masks that mask nothing or all later tokens: the fused function has the same bits.
        known = a.constant("attn_mask")
        pairs = (query[2], a.shape("key")[2])
        always = known is not None and is_all_true(known)
        if known is not None and all(isinstance(each, int) for each in pairs):
            causal = not always and is_causal(known, *pairs)
        if not always and not causal:
            tensors.append(_mask_of_pairs(a))
    attributes = [str(heads)] + (["causal=true"] if causal else [])
    if a.dropout_p:
        attributes.append(f"dropout={number(a.dropout_p)}")
    if a.scale is not None:
        attributes.append(f"scale={number(float(a.scale))}")
    if _behind_empty_cache(a.key) is not a.key:
        attributes.append("cached=true")
    inside = f"transpose(reshape({{}}, [0, 0, {heads}, {features}]), 1, 2)"
    return Call("attention", tensors, attributes, inside=inside)


def _mask_of_pairs(a: Arguments) -> str:
    """[tokens, tokens] or [batch, heads, tokens, tokens]; of three axes the first are the heads."""
    shape = a.shape("attn_mask")
    if len(shape) in (2, 4):
        return a.tensor("attn_mask")
    refuse_unless(len(shape) == 3, f"attention with a mask of {len(shape)} axes")
    return f"unsqueeze({a.tensor('attn_mask')}, 0)"


def _heads_together(node: Node, writer: Writer) -> str:
    """[batch, heads, tokens, features] as [batch, tokens, heads * features]: where the module made
    the one from the other, what it made it from."""
    heads, features = (node.meta["val"].shape[i] for i in (1, 3))
    node = _behind_empty_cache(node)
    if str(node.target) == "aten.transpose.int" and sorted(node.args[1:]) == [1, 2]:
        apart: Any = node.args[0]
        whole = apart.args[0] if apart.args else None
        joined = isinstance(whole, Node) and str(apart.target) in RESHAPES
        if joined and str(list(whole.meta["val"].shape)) == str(
            [*apart.meta["val"].shape[:2], heads * features]
        ):
            return writer.tensor(whole)
        return f"reshape({writer.tensor(apart)}, [0, 0, {heads * features}])"
    return f"reshape(transpose({writer.tensor(node)}, 1, 2), [0, 0, {heads * features}])"


def _behind_empty_cache(node: Node) -> Node:
    """What an empty tensor was put in front of."""
    while str(node.target) == "aten.cat.default":
        parts: Any = [each for each in node.args[0] if 0 not in each.meta["val"].shape]  # type: ignore[union-attr]
        if len(parts) != 1:
            break
        node = parts[0]
    return node


RESHAPES = ("aten.view.default", "aten.reshape.default", "aten.unflatten.int")


# --- Normalizations -------------------------------------------------------------------------------


def _normalized(a: Arguments, name: str, attributes: list[str]) -> Call:
    refuse_unless(a.weight is not None and a.bias is not None, f"{name} without weight or bias")
    parameters = {"weight": a.weight, "bias": a.bias}
    return Call(name, [a.tensor("input")], attributes, parameters)


@writes("batch_norm.default")
def batch_norm(a: Arguments) -> Call:
    refuse_unless(a.running_mean is not None, "batch_norm without running statistics")
    refuse_unless(a.momentum is not None, "batch_norm with a cumulative average")
    attributes = unless(1e-05, "eps", a.eps) + unless(0.1, "momentum", a.momentum)
    if not a.training:
        attributes.append("training=false")
    return _normalized(a, "batch_norm", attributes)


@writes("layer_norm.default")
def layer_norm(a: Arguments) -> Call:
    refuse_unless(len(a.normalized_shape) == 1, "layer_norm over several axes")
    return _normalized(a, "layer_norm", unless(1e-05, "eps", a.eps))


@writes("group_norm.default")
def group_norm(a: Arguments) -> Call:
    return _normalized(a, "group_norm", [str(a.num_groups), *unless(1e-05, "eps", a.eps)])


@writes("rms_norm.default")
def rms_norm(a: Arguments) -> Call:
    refuse_unless(len(a.normalized_shape) == 1, "rms_norm over several axes")
    refuse_unless(a.weight is not None, "rms_norm without weight")
    eps = torch.finfo(a.result.dtype).eps if a.eps is None else a.eps
    return Call("rms_norm", [a.tensor("input")], unless(1e-06, "eps", eps), {"weight": a.weight})


# --- Windows --------------------------------------------------------------------------------------


def _windows(a: Arguments) -> list[str]:
    stride = a.stride or a.kernel_size
    attributes = [f"kernel={pair(a.kernel_size)}"]
    attributes += unless(pair(a.kernel_size), "stride", stride)
    return attributes + unless(0, "padding", a.padding)


@writes("max_pool2d.default")
def max_pool2d(a: Arguments) -> Call:
    refuse_unless(pair(a.dilation) == "1", "max_pool2d with dilation")
    attributes = _windows(a) + (["ceil_mode=true"] if a.ceil_mode else [])
    return Call("max_pool2d", [a.tensor("self")], attributes)


@writes("avg_pool2d.default")
def avg_pool2d(a: Arguments) -> Call:
    refuse_unless(not a.ceil_mode and a.divisor_override is None, "avg_pool2d with ceil_mode")
    padded = pair(a.padding) != "0"
    refuse_unless(a.count_include_pad or not padded, "avg_pool2d without count_include_pad")
    return Call("avg_pool2d", [a.tensor("self")], _windows(a))


@writes("adaptive_avg_pool2d.default")
def adaptive_avg_pool2d(a: Arguments) -> Call:
    return Call("adaptive_avg_pool2d", [a.tensor("self")], unless(1, "size", a.output_size))


@writes("upsample_nearest2d.vec", "upsample_bilinear2d.vec")
def upsample(a: Arguments) -> Call:
    before, after = a.shape("input")[2:], list(a.result.shape[2:])
    factor = after[0] // before[0]
    # With a broken factor the sizes may be whole all the same, but samples lie elsewhere.
    whole = all(each == factor for each in a.scale_factors or ())
    refuse_unless(whole, f"interpolate by scale_factor {a.scale_factors}")
    refuse_unless([each * factor for each in before] == after, "upsample by a broken factor")
    attributes = unless(2, "factor", factor)
    if "bilinear" in a.name:
        attributes += ['mode="bilinear"'] + (["align_corners=true"] if a.align_corners else [])
    return Call("upsample", [a.tensor("input")], attributes)


@writes("pad.default", "constant_pad_nd.default")
def pad(a: Arguments) -> Call:
    refuse_unless(a.given.get("mode", "constant") == "constant", "pad with a mode")
    sides = list(a.pad)
    refuse_unless(len(sides) <= 4 and min(sides) >= 0, "pad on other than the last two axes")
    value = a.value or 0
    value = int(value) if a.is_whole("self") else float(value)
    attributes = [listed(sides)] + ([f"value={number(value)}"] if value else [])
    return Call("pad", [a.tensor("self")], attributes)


# --- Losses inside of a module --------------------------------------------------------------------


@writes("cross_entropy_loss.default")
def cross_entropy(a: Arguments) -> Call:
    plain = a.weight is None and a.reduction == 1
    refuse_unless(plain, "cross_entropy with weights, or that is not a mean")
    smoothing = "cross_entropy with label_smoothing, which only slice_logits=True has"
    refuse_unless(a.label_smoothing == 0, smoothing)
    classes = a.given["target"].meta["val"].dtype == torch.int64
    refuse_unless(classes, "cross_entropy with probabilities as the target")
    ignored = unless(-100, "ignore", a.ignore_index)
    return Call("cross_entropy", [a.tensor("self"), a.tensor("target")], ignored)


@writes("nll_loss_nd.default", "nll_loss.default")
def nll_loss(a: Arguments) -> Call:
    plain = a.weight is None and a.reduction == 1 and a.ignore_index == -100
    refuse_unless(plain, "nll_loss with options")
    return Call("nll_loss", [a.tensor("self"), a.tensor("target")])


@writes("mse_loss.default", "l1_loss.default")
def element_loss(a: Arguments) -> Call:
    refuse_unless(a.reduction == 1, f"{a.name} that is not a mean")
    return Call(a.name, [a.tensor("self"), a.tensor("target")])


@writes("binary_cross_entropy_with_logits.default")
def bce_with_logits(a: Arguments) -> Call:
    plain = a.weight is None and a.pos_weight is None and a.reduction == 1
    refuse_unless(plain, "binary_cross_entropy_with_logits with options")
    return Call("bce_with_logits", [a.tensor("self"), a.tensor("target")])
