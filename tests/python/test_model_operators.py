"""Every operator's emitted gradient is autograd's: bit by bit in float, and to rounding in double.

A case is lines of model text that make y of h, and the same in PyTorch from the parameters P.
"""

import pytest
import torch
import torch.nn.functional as F
from emitted import emit

IMAGES = "N, 4, 9, 8"
ROWS = "N, 6"
TOKENS = "N, 5, 12"


def conv(**options):
    return lambda P, h: F.conv2d(h, P["c.weight"], P.get("c.bias"), **options)


def turned(**options):
    return lambda P, h: F.conv_transpose2d(h, P["c.weight"], P.get("c.bias"), **options)


def attended(causal=False, mask=None, **options):
    def reference(P, h):
        q, k, v = (t.unflatten(2, (2, 2)).transpose(1, 2) for t in h.chunk(3, -1))
        y = F.scaled_dot_product_attention(
            q, k, v, is_causal=causal, attn_mask=None if mask is None else P[mask], **options
        )
        return y.transpose(1, 2).flatten(2)

    return reference


def twice(a, b):
    return a * b + b


CASES = {
    "conv2d": (IMAGES, "y = c: conv2d(h, 6, 3)", conv()),
    "conv2d strided": (
        IMAGES,
        "y = c: conv2d(h, 6, [3, 2], stride = [2, 1], padding = [1, 0], dilation = [1, 2], bias = false)",
        conv(stride=(2, 1), padding=(1, 0), dilation=(1, 2)),
    ),
    "conv2d in groups": (
        IMAGES,
        "y = c: conv2d(h, 8, 3, padding = 2, groups = 4)",
        conv(padding=2, groups=4),
    ),
    "conv2d 1x1": (IMAGES, "y = c: conv2d(h, 3, 1)", conv()),
    "conv_transpose2d": (
        IMAGES,
        "y = c: conv_transpose2d(h, 6, 3, stride = 2, padding = 1, output_padding = 1)",
        turned(stride=2, padding=1, output_padding=1),
    ),
    "conv_transpose2d in groups": (
        IMAGES,
        "y = c: conv_transpose2d(h, 6, 2, groups = 2, dilation = 2, bias = false)",
        turned(groups=2, dilation=2),
    ),
    "linear": (ROWS, "y = c: linear(h, 7)", lambda P, h: F.linear(h, P["c.weight"], P["c.bias"])),
    "linear of tokens": (
        TOKENS,
        "y = c: linear(h, 7)",
        lambda P, h: F.linear(h, P["c.weight"], P["c.bias"]),
    ),
    "linear of tokens without bias": (
        TOKENS,
        "y = c: linear(h, 7, false)",
        lambda P, h: F.linear(h, P["c.weight"]),
    ),
    "matmul": (
        ROWS,
        "param c: f32[6, 4] = 0.5\ny = matmul(h, c)",
        lambda P, h: h @ P["c"],
    ),
    "matmul of a turned matrix": (
        ROWS,
        "y = matmul(transpose(h, 0, 1), h)",
        lambda P, h: h.t() @ h,
    ),
    "bmm": (TOKENS, "y = matmul(transpose(h, 1, 2), h)", lambda P, h: h.transpose(1, 2) @ h),
    "bmm transposed": (
        TOKENS,
        "a, b = chunk(h, 2)\ny = matmul(a, b, transposed = true)",
        lambda P, h: h.chunk(2, -1)[0] @ h.chunk(2, -1)[1].transpose(1, 2),
    ),
    "batch_norm": (
        IMAGES,
        "y = c: batch_norm(h)",
        lambda P, h: F.batch_norm(h, None, None, P["c.weight"], P["c.bias"], True),
    ),
    "batch_norm of rows": (
        ROWS,
        "y = c: batch_norm(h)",
        lambda P, h: F.batch_norm(h, None, None, P["c.weight"], P["c.bias"], True),
    ),
    "layer_norm": (
        TOKENS,
        "y = c: layer_norm(h)",
        lambda P, h: F.layer_norm(h, (12,), P["c.weight"], P["c.bias"]),
    ),
    "group_norm": (
        IMAGES,
        "y = c: group_norm(h, 2)",
        lambda P, h: F.group_norm(h, 2, P["c.weight"], P["c.bias"]),
    ),
    "rms_norm": (
        TOKENS,
        "y = c: rms_norm(h)",
        lambda P, h: F.rms_norm(h, (12,), P["c.weight"], 1e-6),
    ),
    "relu": (IMAGES, "y = relu(h)", lambda P, h: F.relu(h)),
    "leaky_relu": (IMAGES, "y = leaky_relu(h)", lambda P, h: F.leaky_relu(h)),
    "leaky_relu with a slope": (
        IMAGES,
        "y = leaky_relu(h, 0.3)",
        lambda P, h: F.leaky_relu(h, 0.3),
    ),
    "leaky_relu in the memory of a sum": (
        IMAGES,
        "y = leaky_relu(h + tanh(h))",
        lambda P, h: F.leaky_relu(h + torch.tanh(h)),
    ),
    "relu6": (IMAGES, "y = relu6(h * 4)", lambda P, h: F.relu6(h * 4)),
    "hardtanh": (IMAGES, "y = hardtanh(h)", lambda P, h: F.hardtanh(h)),
    "hardtanh of a range": (
        IMAGES,
        "y = hardtanh(h, low = -0.25, high = 0.75)",
        lambda P, h: F.hardtanh(h, -0.25, 0.75),
    ),
    "exp": (TOKENS, "y = exp(h)", lambda P, h: torch.exp(h)),
    "log": (TOKENS, "y = log(h * h + 0.5)", lambda P, h: torch.log(h * h + 0.5)),
    "sqrt": (TOKENS, "y = sqrt(h * h + 0.5)", lambda P, h: torch.sqrt(h * h + 0.5)),
    "rsqrt": (TOKENS, "y = rsqrt(h * h + 0.5)", lambda P, h: torch.rsqrt(h * h + 0.5)),
    "abs": (TOKENS, "y = abs(h)", lambda P, h: torch.abs(h)),
    "square": (TOKENS, "y = pow(h, 2)", lambda P, h: h**2),
    "cube": (TOKENS, "y = pow(h, 3)", lambda P, h: h**3),
    "reciprocal": (TOKENS, "y = pow(h * h + 0.5, -1)", lambda P, h: (h * h + 0.5) ** -1),
    "broken power": (TOKENS, "y = pow(h * h + 0.5, 1.5)", lambda P, h: (h * h + 0.5) ** 1.5),
    "where": (
        TOKENS,
        "y = where(h > 0.1, tanh(h), h * 2)",
        lambda P, h: torch.where(h > 0.1, torch.tanh(h), h * 2),
    ),
    "where of broadcast tensors": (
        TOKENS,
        "param c: f32[5, 1] = 0.5\ny = where(h > c, h, c)",
        lambda P, h: torch.where(h > P["c"], h, P["c"]),
    ),
    "where with a number": (
        TOKENS,
        "y = where(h <= 0.1, h, otherwise = 0.5)",
        lambda P, h: torch.where(h <= 0.1, h, 0.5),
    ),
    "masked_fill": (
        TOKENS,
        "s = h * 2\ny = softmax(masked_fill(s, 0.1 < h, -infinity))",
        lambda P, h: F.softmax((h * 2).masked_fill(h > 0.1, -torch.inf), -1),
    ),
    "gelu": (TOKENS, "y = gelu(h)", lambda P, h: F.gelu(h)),
    "gelu_tanh": (TOKENS, "y = gelu_tanh(h)", lambda P, h: F.gelu(h, approximate="tanh")),
    "silu": (TOKENS, "y = silu(h)", lambda P, h: F.silu(h)),
    "sigmoid": (TOKENS, "y = sigmoid(h)", lambda P, h: torch.sigmoid(h)),
    "tanh": (TOKENS, "y = tanh(h)", lambda P, h: torch.tanh(h)),
    "elu": (TOKENS, "y = elu(h)", lambda P, h: F.elu(h)),
    "softplus": (TOKENS, "y = softplus(h)", lambda P, h: F.softplus(h)),
    "softmax": (TOKENS, "y = softmax(h)", lambda P, h: F.softmax(h, -1)),
    "log_softmax": (IMAGES, "y = log_softmax(h, 1)", lambda P, h: F.log_softmax(h, 1)),
    "attention": (
        TOKENS,
        "q, k, v = chunk(h, 3)\ny = attention(q, k, v, 2)",
        attended(False),
    ),
    "causal attention": (
        TOKENS,
        "q, k, v = chunk(h, 3)\ny = attention(q, k, v, 2, causal = true)",
        attended(True),
    ),
    "attention with a scale": (
        TOKENS,
        "q, k, v = chunk(h, 3)\ny = attention(q, k, v, 2, causal = true, scale = 0.3)",
        attended(True, scale=0.3),
    ),
    "attention with a trained mask": (
        TOKENS,
        "param c: f32[1, 2, 5, 5] = 0.5\nq, k, v = chunk(h, 3)\ny = attention(q, k, v, c, 2)",
        attended(mask="c"),
    ),
    "attention with a trained mask of all pairs": (
        TOKENS,
        "param c: f32[5, 5] = 0.5\nq, k, v = chunk(h, 3)\ny = attention(q, k, v, c, 2, scale = 0.7)",
        attended(mask="c", scale=0.7),
    ),
    "max_pool2d": (IMAGES, "y = max_pool2d(h, 2)", lambda P, h: F.max_pool2d(h, 2)),
    "max_pool2d overlapping": (
        IMAGES,
        "y = max_pool2d(h, 3, stride = 2, padding = 1, ceil_mode = true)",
        lambda P, h: F.max_pool2d(h, 3, 2, 1, ceil_mode=True),
    ),
    "avg_pool2d": (
        IMAGES,
        "y = avg_pool2d(h, 3, 2, 1)",
        lambda P, h: F.avg_pool2d(h, 3, 2, 1),
    ),
    "adaptive_avg_pool2d": (
        IMAGES,
        "y = adaptive_avg_pool2d(h)",
        lambda P, h: F.adaptive_avg_pool2d(h, 1),
    ),
    "adaptive_avg_pool2d of 4x3": (
        IMAGES,
        "y = adaptive_avg_pool2d(h, [4, 3])",
        lambda P, h: F.adaptive_avg_pool2d(h, (4, 3)),
    ),
    "upsample": (IMAGES, "y = upsample(h)", lambda P, h: F.interpolate(h, scale_factor=2)),
    "upsample bilinear": (
        IMAGES,
        'y = upsample(h, 3, "bilinear")',
        lambda P, h: F.interpolate(h, scale_factor=3, mode="bilinear", align_corners=False),
    ),
    "pad": (IMAGES, "y = pad(h, [1, 0, 2, 3])", lambda P, h: F.pad(h, (1, 0, 2, 3))),
    "cat": (
        IMAGES,
        "y = cat([relu(h), h, tanh(h)])",
        lambda P, h: torch.cat([F.relu(h), h, torch.tanh(h)], 1),
    ),
    "add used thrice": (
        ROWS,
        "y = h + tanh(h) + sigmoid(h) + h",
        lambda P, h: h + torch.tanh(h) + torch.sigmoid(h) + h,
    ),
    "sub and scale": (ROWS, "y = h * 3 - tanh(h) / 7", lambda P, h: h * 3 - torch.tanh(h) / 7),
    "mul": (ROWS, "y = h * sigmoid(h)", lambda P, h: h * torch.sigmoid(h)),
    "div": (ROWS, "y = h / (sigmoid(h) + 1)", lambda P, h: h / (torch.sigmoid(h) + 1)),
    "broadcast": (
        TOKENS,
        "param c: f32[5, 1] = 0.5\ny = h * c + c",
        lambda P, h: h * P["c"] + P["c"],
    ),
    "views": (
        TOKENS,
        "y = transpose(reshape(flatten(h), [0, 3, -1]), 1, 2)",
        lambda P, h: h.flatten(1).view(-1, 3, 20).transpose(1, 2),
    ),
    "permute": (
        IMAGES,
        "y = tanh(permute(h, [2, 0, -1, 1]))",
        lambda P, h: torch.tanh(h.permute(2, 0, 3, 1)),
    ),
    "squeeze and unsqueeze": (
        IMAGES,
        "y = squeeze(unsqueeze(mean(h, [1], true), -1), 1) * 3",
        lambda P, h: h.mean([1], True).unsqueeze(-1).squeeze(1) * 3,
    ),
    "slice": (TOKENS, "y = tanh(slice(h, 1, 1, -1))", lambda P, h: torch.tanh(h[:, 1:-1])),
    "slice with a step": (
        TOKENS,
        "y = slice(h, axis = -1, start = 1, step = 3) * 2",
        lambda P, h: h[..., 1::3] * 2,
    ),
    "slices of one tensor": (
        TOKENS,
        "a = slice(h, 1, stop = 2)\nb = slice(h, 1, 2, 4)\ny = relu(a * b) + sigmoid(a) * slice(h, 1, -2)",
        lambda P, h: F.relu(h[:, :2] * h[:, 2:4]) + torch.sigmoid(h[:, :2]) * h[:, -2:],
    ),
    "expand": (
        TOKENS,
        "y = relu(expand(slice(h, 1, 0, 1), [-1, 7, -1])) * 2",
        lambda P, h: F.relu(h[:, :1].expand(-1, 7, -1)) * 2,
    ),
    "expand of a parameter over the batch": (
        TOKENS,
        "param c: f32[1, 12] = 0.5\ny = cat([expand(c, h, [0, 2, -1]), h]) * 3",
        lambda P, h: torch.cat([P["c"].expand(h.size(0), 2, -1), h], 1) * 3,
    ),
    "stack": (
        ROWS,
        "y = stack([h, tanh(h), h * h], -1)",
        lambda P, h: torch.stack([h, torch.tanh(h), h * h], -1),
    ),
    "mean": (TOKENS, "y = mean(h, [1])", lambda P, h: h.mean(1)),
    "sum": (TOKENS, "y = sum(h, [1])", lambda P, h: h.sum(1)),
    "sum used twice": (
        IMAGES,
        "s = sum(tanh(h), [0, 2, -1], keep = true)\ny = relu(h) * s + s",
        lambda P, h: twice(F.relu(h), torch.tanh(h).sum([0, 2, -1], True)),
    ),
    "sums of one tensor": (
        TOKENS,
        "y = sum(h, [1]) * sum(h, 1) + mean(h, 1)",
        lambda P, h: h.sum(1) * h.sum(1) + h.mean(1),
    ),
    "root mean square by hand": (
        TOKENS,
        "param c: f32[12] = 1\ny = h * rsqrt(mean(pow(h, 2), [-1], true) + 1e-6) * c",
        lambda P, h: h * torch.rsqrt(h.pow(2).mean([-1], True) + 1e-6) * P["c"],
    ),
    "a parameter that is compared too": (
        TOKENS,
        "param c: f32[12] = 0.1\ny = where(c > 0, h, otherwise = 0.25) * c",
        lambda P, h: torch.where(P["c"] > 0, h, 0.25) * P["c"],
    ),
    "local_response_norm": (
        IMAGES,
        "y = local_response_norm(h, 3, alpha = 0.5)",
        lambda P, h: F.local_response_norm(h, 3, alpha=0.5),
    ),
}

# By formulas of our own, or where autograd chooses the order of a product by the strides of its
# factors: they agree to rounding.
ROUNDED = {"rms_norm", "local_response_norm", "matmul of a turned matrix"}
ROUNDED |= {"edge_softmax", "dice_loss", "dice_loss of two predictions"}


def compare(tmp_path, case, dtype, *options):
    shape, lines, reference = CASES[case]
    # The square of y: its own gradient is y's, so that nothing else has to be declared.
    text = (
        f"input x: f32[{shape}]\nparam w: f32[{shape.split(', ', 1)[1]}] = 0.5\n"
        f"h = x * w\n{lines}\nloss mean(flatten(y * y, 0), 0)\n"
    )
    step = emit(tmp_path, text, *options).Step().to(dtype)
    generator = torch.Generator().manual_seed(7)
    for parameter in step.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator).to(dtype)
    sizes = [int(part) if part.isdigit() else 3 for part in shape.split(", ")]
    x = torch.randn(sizes, generator=generator).to(dtype)
    P = {n: p.detach().clone().requires_grad_() for n, p in step.named_parameters()}
    y = reference(P, x * P["w"])
    loss = (y * y).flatten().mean(0)
    loss.backward()
    step_loss = step(x)
    step.backward()
    return (step_loss, loss.detach()), {
        name: (parameter.grad, P[name].grad) for name, parameter in step.named_parameters()
    }


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_autograds_bit_by_bit(tmp_path, case):
    losses, gradients = compare(tmp_path, case, torch.float32)
    for name, (mine, other) in {"loss": losses, **gradients}.items():
        if case in ROUNDED:
            torch.testing.assert_close(mine, other)
        else:
            assert torch.equal(mine, other), (name, float((mine - other).abs().max()))


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_autograds_in_double(tmp_path, case):
    losses, gradients = compare(tmp_path, case, torch.float64)
    for name, (mine, other) in {"loss": losses, **gradients}.items():
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-12, msg=name)


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
WITH_INPUTS = {
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


def compare_with_inputs(tmp_path, case, dtype, *options):
    text, reference, inputs = WITH_INPUTS[case]
    inputs = [i.to(dtype) if i.is_floating_point() else i for i in inputs]
    step = emit(tmp_path, text, *options).Step().to(dtype)
    generator = torch.Generator().manual_seed(7)
    for parameter in step.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator).to(dtype)
    P = {n: p.detach().clone().requires_grad_() for n, p in step.named_parameters()}
    torch.manual_seed(5)  # the same dropout
    loss = reference(P, *inputs)
    loss.backward()
    torch.manual_seed(5)
    pairs = {"loss": (step(*inputs), loss.detach())}
    step.backward()
    return pairs | {name: (p.grad, P[name].grad) for name, p in step.named_parameters()}


@pytest.mark.parametrize("case", WITH_INPUTS)
def test_gradient_beside_other_inputs_is_autograds_bit_by_bit(tmp_path, case):
    for name, (mine, other) in compare_with_inputs(tmp_path, case, torch.float32).items():
        if case in ROUNDED:
            torch.testing.assert_close(mine, other)
        else:
            assert torch.equal(mine, other), (name, float((mine - other).abs().max()))


@pytest.mark.parametrize("case", WITH_INPUTS)
def test_gradient_beside_other_inputs_is_autograds_in_double(tmp_path, case):
    for name, (mine, other) in compare_with_inputs(tmp_path, case, torch.float64).items():
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-12, msg=name)
