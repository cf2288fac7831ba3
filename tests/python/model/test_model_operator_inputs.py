"""Gradients of operators that read other inputs than values to train on: indices, masks, matrices
in compressed rows, labels. They are autograd's, bit by bit in float and to rounding in double.

A case is a model's text, the same in PyTorch from the parameters P, and the inputs.
"""

import pytest
import torch
import torch.nn.functional as F
from emitted import (
    assert_close_pairs,
    assert_equal_pairs,
    assert_slopes_are_gradients,
    beside_autograd,
    emit,
    move_parameters,
)

ROUNDED = {"edge_softmax", "dice_loss", "dice_loss of two predictions"}


def graph():
    """A matrix in compressed rows with an empty row, and rows of one entry and of many."""
    generator = torch.Generator().manual_seed(11)
    dense = torch.rand(7, 7, generator=generator) * (torch.rand(7, 7, generator=generator) < 0.4)
    dense[2] = 0
    dense[4] = torch.arange(7) == 3
    return dense.to_sparse_csr()


def ids(count, *shape):
    return torch.randint(count, shape, generator=torch.Generator().manual_seed(12))


def values(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(13))


def aggregated(*reduce):
    return lambda P, a, x: torch.sparse.mm(a, x * P["w"], *reduce).square().flatten().mean(0)


def neighbours(reduce):
    return (
        "input a: csr f32[V, V]\ninput x: f32[V, 6]\nparam w: f32[6] = 0.5\n"
        f'y = spmm(a, x * w, "{reduce}")\nloss mean(flatten(y * y, 0), 0)\n'
    )


def labelled(shape, loss):
    """Logits of a shape [N, C, ...], and labels of [N, ...]."""
    batch, classes, *rest = shape.split(", ")
    return (
        f"input x: f32[{shape}]\ntarget t: i64[{', '.join([batch, *rest])}]\n"
        f"param w: f32[{', '.join([classes, *rest])}] = 0.5\nloss {loss}\n"
    )


def attending(mask, **options):
    """Text and reference of self-attention over 5 tokens with 2 heads and a mask of a type, which
    is the second input unless it is empty."""
    arguments = "".join(f", {name} = {value}" for name, value in options.items())
    text = (
        "input x: f32[N, 5, 12]\n"
        + (f"input m: {mask}\n" if mask else "")
        + "param w: f32[12] = 0.5\nq, k, v = chunk(x * w, 3)\n"
        + f"y = attention(q, k, v{', m' if mask else ''}, 2{arguments})\n"
        + "loss mean(flatten(y * y, 0), 0)\n"
    ).replace("True", "true")

    def reference(P, x, m=None):
        q, k, v = (t.unflatten(2, (2, 2)).transpose(1, 2) for t in (x * P["w"]).chunk(3, -1))
        y = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=m,
            dropout_p=options.get("dropout", 0.0),
            is_causal=options.get("causal", False),
            scale=options.get("scale"),
        )
        return y.transpose(1, 2).flatten(2).square().flatten().mean(0)

    return text, reference


def chosen(condition, h):
    return torch.where(condition, torch.tanh(h), h)


def some(*shape):
    """Truths of which every row has one at least."""
    truths = values(*shape) > 0
    truths[..., 0] = True
    return truths


GRAPH_ATTENTION = (
    "input x: f32[V, 6]\ninput a: i64[E]\ninput b: i64[E]\nparam w: f32[6] = 0.5\n"
    "h = x * w\n"
    "e = exp(leaky_relu(index_select(h, a) + index_select(h, b), 0.2))\n"
    "alpha = e / index_select(segment_sum(e, b, x), b)\n"
    "y = segment_sum(alpha * index_select(h, a), b, x)\n"
    "loss mean(flatten(y * y, 0), 0)\n"
)


def graph_attention(P, x, a, b):
    h = x * P["w"]
    e = torch.exp(F.leaky_relu(h.index_select(0, a) + h.index_select(0, b), 0.2))
    alpha = e / torch.zeros_like(x).index_add(0, b, e).index_select(0, b)
    y = torch.zeros_like(x).index_add(0, b, alpha * h.index_select(0, a))
    return y.square().flatten().mean(0)


def softmax_over_edges(h, source, target):
    """Node by node."""
    h, scores = h[source], h[source] * 40
    y = torch.zeros(5, 6, dtype=h.dtype)
    for node in target.unique():
        edges = target == node
        y[node] = (torch.softmax(scores[edges], 0) * h[edges]).sum(0)
    return y


def dice(p, t, smooth):
    return 1 - (2 * (p * t).sum() + smooth) / (p.sum() + t.sum() + smooth)


# The whole text with inputs of several types, the loss in PyTorch, and the inputs.
CASES = {
    "dropout": (
        "input x: f32[N, 40]\nparam w: f32[40] = 0.5\n"
        "y = dropout(x * w, 0.3)\nloss mean(flatten(y * y, 0), 0)\n",
        lambda P, x: F.dropout(x * P["w"], 0.3).square().flatten().mean(0),
        (values(3, 40),),
    ),
    "attention with a mask": (
        *attending("f32[N, 1, 5, 5]"),
        (values(3, 5, 12), values(3, 1, 5, 5)),
    ),
    "attention with a mask of one batch": (
        *attending("f32[5, 5]", scale=0.4),
        (values(3, 5, 12), values(5, 5)),
    ),
    "attention with a mask of truths": (
        *attending("bool[N, 2, 5, 5]"),
        (values(3, 5, 12), some(3, 2, 5, 5)),
    ),
    "attention with a mask of keys": (
        *attending("bool[N, 1, 1, 5]"),
        (values(3, 5, 12), some(3, 1, 1, 5)),
    ),
    "attention with dropout": (*attending("", dropout=0.3), (values(3, 5, 12),)),
    "causal attention with dropout": (
        *attending("", dropout=0.3, causal=True, scale=0.4),
        (values(3, 5, 12),),
    ),
    "attention with dropout and a mask": (
        *attending("bool[N, 1, 1, 5]", dropout=0.3),
        (values(3, 5, 12), some(3, 1, 1, 5)),
    ),
    "where by an input": (
        "input c: bool[N, 1]\ninput x: f32[N, 6]\nparam w: f32[6] = 0.5\n"
        "h = x * w\ny = where(c, tanh(h), h)\nloss mean(flatten(y * y, 0), 0)\n",
        lambda P, c, x: chosen(c, x * P["w"]).square().flatten().mean(0),
        (values(7, 1) > 0, values(7, 6)),
    ),
    "index_select": (
        "input x: f32[N, 6]\ninput i: i64[K]\nparam w: f32[6] = 0.5\n"
        "y = tanh(index_select(x * w, i))\nloss mean(flatten(y * y, 0), 0)\n",
        lambda P, x, i: torch.tanh((x * P["w"]).index_select(0, i)).square().flatten().mean(0),
        (values(5, 6), ids(5, 9)),
    ),
    "index_select of columns": (
        "input x: f32[N, 6]\ninput i: i64[4]\nparam w: f32[6] = 0.5\n"
        "y = index_select(x * w, i, axis = -1) * 2\nloss mean(flatten(y * y, 0), 0)\n",
        lambda P, x, i: ((x * P["w"]).index_select(1, i) * 2).square().flatten().mean(0),
        (values(5, 6), ids(6, 4)),
    ),
    "gather": (
        "input x: f32[N, 6]\ninput i: i64[N, 4]\nparam w: f32[6] = 0.5\n"
        "y = gather(tanh(x * w), i, axis = 1)\nloss mean(flatten(y * y, 0), 0)\n",
        lambda P, x, i: torch.tanh(x * P["w"]).gather(1, i).square().flatten().mean(0),
        (values(5, 6), ids(6, 5, 4)),
    ),
    "attention over the edges of a graph": (
        GRAPH_ATTENTION,
        graph_attention,
        (values(5, 6), ids(5, 20), torch.cat([torch.arange(5), ids(5, 15)])),
    ),
    "edge_softmax": (
        "input x: f32[V, 6]\ninput a: i64[E]\ninput b: i64[E]\nparam w: f32[6] = 0.5\n"
        "h = x * w\nalpha = edge_softmax(index_select(h, a) * 40, b, x)\n"
        "y = segment_sum(alpha * index_select(h, a), b, x)\nloss mean(flatten(y * y, 0), 0)\n",
        lambda P, x, a, b: softmax_over_edges(x * P["w"], a, b).square().flatten().mean(0),
        (values(5, 6), ids(5, 20), ids(4, 20)),
    ),
    "dice_loss": (
        "input x: f32[N, 6]\ntarget t: f32[N, 6]\nparam w: f32[6] = 0.5\n"
        "loss dice_loss(sigmoid(x * w), t)\n",
        lambda P, x, t: dice(torch.sigmoid(x * P["w"]), t, 1),
        (values(4, 6), (values(4, 7)[:, 1:] > 0).float()),
    ),
    "dice_loss of two predictions": (
        "input x: f32[N, 6]\nparam w: f32[6] = 0.5\n"
        "loss dice_loss(sigmoid(x * w), sigmoid(x * w * w), smooth = 0.1)\n",
        lambda P, x: dice(torch.sigmoid(x * P["w"]), torch.sigmoid(x * P["w"] * P["w"]), 0.1),
        (values(4, 6),),
    ),
    "embedding": (
        "input i: i64[N, 5]\ny = c: embedding(i, 9, 4)\nloss mean(flatten(y * y, 0), 0)\n",
        lambda P, i: F.embedding(i, P["c.weight"]).square().flatten().mean(0),
        (ids(9, 6, 5),),
    ),
    "spmm": (neighbours("sum"), aggregated(), (graph(), values(7, 6))),
    "spmm mean": (neighbours("mean"), aggregated("mean"), (graph(), values(7, 6))),
    "spmm max": (neighbours("max"), aggregated("amax"), (graph(), values(7, 6))),
    "cross_entropy": (
        labelled("N, 5", "cross_entropy(x * w, t)"),
        lambda P, x, t: F.cross_entropy(x * P["w"], t),
        (values(6, 5), ids(5, 6)),
    ),
    "cross_entropy of images": (
        labelled("N, 5, 4, 3", "cross_entropy(x * w, t)"),
        lambda P, x, t: F.cross_entropy(x * P["w"], t),
        (values(2, 5, 4, 3), ids(5, 2, 4, 3)),
    ),
    "cross_entropy of sequences": (
        labelled("N, 5, 7", "cross_entropy(x * w, t)"),
        lambda P, x, t: F.cross_entropy(x * P["w"], t),
        (values(2, 5, 7), ids(5, 2, 7)),
    ),
    "cross_entropy of turned sequences": (
        "input x: f32[N, 7, 5]\ntarget t: i64[N, 7]\nparam w: f32[7, 5] = 0.5\n"
        "loss cross_entropy(transpose(x * w, 1, 2), t)\n",
        lambda P, x, t: F.cross_entropy((x * P["w"]).transpose(1, 2), t),
        (values(2, 7, 5), ids(5, 2, 7)),
    ),
    "cross_entropy of volumes": (
        labelled("N, 5, 2, 3, 4", "cross_entropy(x * w, t)"),
        lambda P, x, t: F.cross_entropy(x * P["w"], t),
        (values(2, 5, 2, 3, 4), ids(5, 2, 2, 3, 4)),
    ),
    "nll_loss": (
        labelled("N, 5", "nll_loss(log_softmax(x * w, 1), t)"),
        lambda P, x, t: F.nll_loss(F.log_softmax(x * P["w"], 1), t),
        (values(6, 5), ids(5, 6)),
    ),
    "l1_loss": (
        "input x: f32[N, 6]\ntarget t: f32[N, 6]\nparam w: f32[6] = 0.5\nloss l1_loss(x * w, t)\n",
        lambda P, x, t: F.l1_loss(x * P["w"], t),
        (values(3, 6), values(3, 7)[:, 1:]),
    ),
    "mse_loss": (
        "input x: f32[N, 6]\ntarget t: f32[N, 6]\nparam w: f32[6] = 0.5\nloss mse_loss(x * w, t)\n",
        lambda P, x, t: F.mse_loss(x * P["w"], t),
        (values(3, 6), values(3, 7)[:, 1:]),
    ),
    "bce_with_logits": (
        "input x: f32[N, 6]\ntarget t: f32[N, 6]\nparam w: f32[6] = 0.5\n"
        "loss bce_with_logits(x * w, t)\n",
        lambda P, x, t: F.binary_cross_entropy_with_logits(x * P["w"], t),
        (values(3, 6), torch.sigmoid(values(3, 7)[:, 1:])),
    ),
}


def stepped(tmp_path, case, dtype, *options):
    """A step, the same by autograd, and inputs."""
    text, reference, inputs = case
    step = emit(tmp_path, text, *options).Step().to(dtype)
    move_parameters(step, torch.Generator().manual_seed(7))
    inputs = [i.to(dtype) if i.is_floating_point() else i for i in inputs]
    return step, reference, inputs


def compare(*case):
    return beside_autograd(*stepped(*case))


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_autograds_bit_by_bit(tmp_path, case):
    assert_equal_pairs(compare(tmp_path, CASES[case], torch.float32), case in ROUNDED)


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_autograds_in_double(tmp_path, case):
    assert_close_pairs(compare(tmp_path, CASES[case], torch.float64))


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_the_slope(tmp_path, case):
    step, _, inputs = stepped(tmp_path, CASES[case], torch.float64)
    assert_slopes_are_gradients(step, inputs)
