"""Every operator's emitted gradient is autograd's, bit by bit in float and to rounding in double,
and the slope that finite differences find.

A case is lines of model text that make y of h, and the same in PyTorch from the parameters P.
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


def grouped(h, **options):
    q, k, v = h[..., :8], h[..., 8:10], h[..., 10:]
    q, k, v = (t.unflatten(2, (-1, 2)).transpose(1, 2) for t in (q, k, v))
    y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True, **options)
    return y.transpose(1, 2).flatten(2)


def rotation():
    return torch.arange(5.0)[:, None] * torch.tensor([[1, 0.25, 0.0625, 0.5]])


def masked(h):
    i = torch.arange(1, 6)[:, None]
    m = ~((torch.arange(5) * 2 - i * 2 > 0) | (torch.arange(5) == i))
    return (h @ h.transpose(1, 2)).masked_fill(m, 0.5) * m.long().cumsum(1).to(h.dtype)


def twice(a, b):
    return a * b + b


CASES = {
    "conv2d": (IMAGES, "y = c: conv2d(h, 6, 3)", conv()),
    "conv2d strided": (
        IMAGES,
        "y = c: conv2d(h, 6, [3, 2], stride = [2, 1], padding = [1, 0], dilation = [1, 2], "
        "bias = false)",
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
    "group_norm whose gradient comes in another order": (
        IMAGES,
        "y = permute((c: group_norm(h, 2)), [0, 2, 3, 1])",
        lambda P, h: F.group_norm(h, 2, P["c.weight"], P["c.bias"]).permute(0, 2, 3, 1),
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
        "param c: f32[5, 5] = 0.5\nq, k, v = chunk(h, 3)\n"
        "y = attention(q, k, v, c, 2, scale = 0.7)",
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
        "a = slice(h, 1, stop = 2)\nb = slice(h, 1, 2, 4)\n"
        "y = relu(a * b) + sigmoid(a) * slice(h, 1, -2)",
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
    "linear by a weight of features and channels": (
        TOKENS,
        "y = c: linear(h, 7, transposed = true)",
        lambda P, h: torch.addmm(P["c.bias"], h.view(-1, 12), P["c.weight"]).view(-1, 5, 7),
    ),
    "linear of rows by such a weight, without bias": (
        ROWS,
        "y = c: linear(h, 7, false, true)",
        lambda P, h: h @ P["c.weight"],
    ),
    "sin and cos": (TOKENS, "y = sin(h) * 2 + cos(h)", lambda P, h: h.sin() * 2 + h.cos()),
    "maximum": (
        TOKENS,
        "y = maximum(h, relu(h))",
        lambda P, h: torch.maximum(h, F.relu(h)),
    ),
    "minimum with a repeated side": (
        TOKENS,
        "param c: f32[12] = 0.1\ny = minimum(c, h)",
        lambda P, h: torch.minimum(P["c"], h),
    ),
    "cumsum": (TOKENS, "y = cumsum(h, 1)", lambda P, h: h.cumsum(1)),
    "roll": (
        IMAGES,
        "y = roll(h, [1, -2], [2, 3])",
        lambda P, h: h.roll((1, -2), (2, 3)),
    ),
    "pad along one axis": (TOKENS, "y = pad(h, [1, 2])", lambda P, h: F.pad(h, (1, 2))),
    "scatter_add": (
        TOKENS,
        'i = expand(reshape(numbers([3, 0, 3, 1, 1], type = "i64"), [1, 5, 1]), h, '
        "shape = [0, -1, 12])\ny = scatter_add(h * 2, i, tanh(h), axis = 1)",
        lambda P, h: (h * 2).scatter_add(
            1, torch.tensor([3, 0, 3, 1, 1]).view(1, 5, 1).expand(len(h), -1, 12), h.tanh()
        ),
    ),
    "embedding with padding": (
        TOKENS,
        "ids = reshape(arange(5), [1, 5])\ny = h + (c: embedding(ids, 9, 12, padding = 2))",
        lambda P, h: h + F.embedding(torch.arange(5)[None], P["c.weight"], padding_idx=2),
    ),
    "attention with fewer heads of keys": (
        TOKENS,
        "q = slice(h, axis = 2, stop = 8)\nk = slice(h, axis = 2, start = 8, stop = 10)\n"
        "v = slice(h, axis = 2, start = 10)\ny = attention(q, k, v, 4, causal = true)",
        lambda P, h: grouped(h, is_causal=True),
    ),
    "a rotation by constants": (
        TOKENS,
        "f = numbers([1, 0.25, 0.0625, 0.5], [1, 4])\n"
        't = reshape(arange(5, type = "f32"), [5, 1]) * f\n'
        "a = slice(h, axis = 2, stop = 4)\nb = slice(h, axis = 2, start = 8)\n"
        "y = a * cos(t) + b * sin(t)",
        lambda P, h: h[..., :4] * rotation().cos() + h[..., 8:] * rotation().sin(),
    ),
    "a causal mask by whole numbers": (
        TOKENS,
        "i = reshape(arange(5, start = 1), [5, 1])\n"
        "m = logical_not(logical_or(arange(5) * 2 - (i * 2) > 0, arange(5) == i))\n"
        'c = cumsum(cast(m, "i64"), 1)\n'
        'y = masked_fill(matmul(h, h, transposed = true), m, 0.5) * cast(c, "f32")',
        lambda P, h: masked(h),
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


def stepped(tmp_path, case, dtype, *options):
    """A step, the same by autograd, and inputs."""
    shape, lines, reference = case
    # The square of y: its own gradient is y's, so that nothing else has to be declared.
    text = (
        f"input x: f32[{shape}]\nparam w: f32[{shape.split(', ', 1)[1]}] = 0.5\n"
        f"h = x * w\n{lines}\nloss mean(flatten(y * y, 0), 0)\n"
    )
    step = emit(tmp_path, text, *options).Step().to(dtype)
    generator = torch.Generator().manual_seed(7)
    move_parameters(step, generator)
    sizes = [int(part) if part.isdigit() else 3 for part in shape.split(", ")]
    x = torch.randn(sizes, generator=generator).to(dtype)

    def loss(P, x):
        return reference(P, x * P["w"]).square().flatten().mean(0)

    return step, loss, [x]


def compare(*case):
    return beside_autograd(*stepped(*case))


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_autograds_bit_by_bit(tmp_path, case):
    assert_equal_pairs(compare(tmp_path, CASES[case], torch.float32), case in ROUNDED)


@pytest.mark.parametrize("case", CASES)
def test_gradient_is_autograds_in_double(tmp_path, case):
    assert_close_pairs(compare(tmp_path, CASES[case], torch.float64))


# The row of padding has a slope, but is to have no gradient.
@pytest.mark.parametrize("case", [each for each in CASES if "padding" not in each])
def test_gradient_is_the_slope(tmp_path, case):
    step, _, inputs = stepped(tmp_path, CASES[case], torch.float64)
    assert_slopes_are_gradients(step, inputs)
