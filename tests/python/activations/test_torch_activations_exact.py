"""What is stored exactly however few bits a plan gives: signs, zeros, places in pools, values that
a comparison or a pole needs."""

import math

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from gradient_checks import gradients, near, plain_gradients
from torch import nn

from tensorpress.torch import compress_activations

TWO_BITS = {"default": {"codec": "quantize", "bits": 2}}


@pytest.mark.parametrize(
    "activation",
    [
        nn.ReLU(),
        nn.LeakyReLU(0.2),
        nn.ReLU6(),
        nn.Hardtanh(-0.5, 0.7),
        nn.Hardtanh(0.0, math.inf),
        nn.Hardtanh(-math.inf, 0.3),
        nn.Hardtanh(-math.inf, math.inf),
        nn.Hardtanh(-3e38, 3e38),
        nn.LeakyReLU(0.1, True),
        nn.Hardsigmoid(),
        nn.Hardsigmoid(True),
    ],
)
def test_the_gradient_passes_where_it_passes_without_compression(activation):
    """At two bits a lossy mask flips one sign in seven; an exact one none."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3), activation)
    x = 3 * torch.randn(8, 3, 16, 16)
    plain_gradients(model, x.requires_grad_())
    through = x.grad.clone()
    x.grad = None
    with compress_activations(model, TWO_BITS) as run:
        output = model(x)
        output.backward(2 * output.detach() / output.numel())
    assert near([through], [x.grad], 1e-6)
    assert run.report().ratio > 1.5  # the batch, a leaf with a gradient, is not counted


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("inplace", [False, True])
def test_hardswish_has_its_slope_between_the_limits_and_no_other_beyond(inplace, dtype):
    torch.manual_seed(3)
    leaf = (4 * torch.randn(8, 16, 32, 32)).to(dtype)
    leaf.view(-1)[:4] = torch.tensor([-3.0, 3.0, -2.984375, 2.984375])

    def slopes(policy):
        x = leaf.clone().requires_grad_()
        with compress_activations(nn.Identity(), policy) as run:
            F.hardswish(x * 1, inplace).sum().backward()
        return x.grad, run.report()

    exact, _ = slopes("off")
    lossy, report = slopes("max")
    assert [each.codec for each in report.activations] == [
        "inside + quantize bits=4 rounding=stochastic"
    ]
    beyond = leaf.abs() >= 3
    assert torch.equal(exact[beyond], lossy[beyond])
    assert float((exact - lossy)[~beyond].abs().max()) < 0.8  # a third of one step of the range


def test_limits_that_a_type_rounds_inwards_still_stop_the_gradient():
    """bfloat16 makes 0.703125 of 0.702."""
    x = torch.full((4, 1024), 0.5, dtype=torch.bfloat16, requires_grad=True)
    with compress_activations(nn.Identity(), "lossless"):
        F.hardtanh(x * 1, 0.702, 2.0).sum().backward()
    assert not x.grad.any()


def test_a_value_for_relu_and_convolution_keeps_signs_and_zeros():
    first, second = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 16, 3)
    model = nn.Sequential(first, nn.ReLU(), second)
    with compress_activations(model, TWO_BITS):
        hidden = F.relu(first(torch.randn(8, 3, 16, 16)))
        output = second(hidden)
    # What the convolution's backward will get.
    seen = output.grad_fn._saved_input
    assert torch.equal(seen > 0, hidden > 0)
    assert torch.equal(seen == 0, hidden == 0)
    assert not torch.equal(seen, hidden)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("make", [nn.ReLU, nn.Tanh])
def test_zeros_that_dropout_makes_stay_zero(make, portable):
    model = nn.Sequential(nn.Conv2d(3, 16, 3), make(), nn.Dropout(0.3), nn.Conv2d(16, 16, 3))
    with compress_activations(model, TWO_BITS, portable=portable):
        hidden = model[:3](torch.randn(8, 3, 16, 16))
        output = model[3](hidden)
    seen = output.grad_fn._saved_input
    assert bool((seen[hidden == 0] == 0).all())
    assert not torch.equal(seen, hidden)


@pytest.mark.parametrize(
    "pool",
    [
        nn.MaxPool2d(2),
        nn.MaxPool2d(3, 2, 1),
        nn.MaxPool2d((2, 3), (1, 2), 1, dilation=(2, 1)),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        nn.MaxPool2d(7, 1),
        nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(5),
        nn.AdaptiveMaxPool2d(4),
        nn.Dropout(0.3),
        nn.Dropout2d(0.3),
    ],
)
def test_pooling_and_dropout_are_exact(pool):
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), pool, nn.Conv2d(16, 4, 3))
    x = torch.randn(8, 3, 17, 19)
    torch.manual_seed(9)
    plain = plain_gradients(model, x)
    torch.manual_seed(9)
    with compress_activations(model, "lossless") as run:
        loss = model(x).square().mean()
    loss.backward()
    assert all(torch.equal(a, b) for a, b in zip(plain, gradients(model), strict=True))
    report = run.report()
    indices = [r for r in report.activations if r.dtype == "int64" and r.bytes_before > 4096]
    if type(pool) is nn.MaxPool2d:
        assert indices and all(r.bytes_before >= 8 * r.bytes_after for r in indices)


@pytest.mark.parametrize("pool", [nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2)])
def test_pooling_with_channels_last_is_exact(pool):
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), pool, nn.Conv2d(16, 4, 3))
    model = model.to(memory_format=torch.channels_last)
    x = torch.randn(8, 3, 17, 19).to(memory_format=torch.channels_last)
    plain = plain_gradients(model, x)
    with compress_activations(model, "lossless") as run:
        model(x).square().mean().backward()
    assert all(torch.equal(a, b) for a, b in zip(plain, gradients(model), strict=True))
    indices = [each for each in run.report().activations if each.dtype == "int64"]
    assert all(each.bytes_before >= 8 * each.bytes_after for each in indices)
    assert len(indices) == isinstance(pool, nn.MaxPool2d)


@pytest.mark.parametrize(
    "pool",
    [nn.MaxPool3d(2), nn.AvgPool3d(2), nn.AdaptiveAvgPool3d(3), nn.AdaptiveMaxPool3d(3)],
)
def test_pooling_of_volumes_is_exact_and_asks_for_no_values(pool):
    model = nn.Sequential(nn.Conv3d(1, 8, 3), nn.ReLU(), pool)
    x = torch.randn(4, 1, 14, 14, 14)
    plain = plain_gradients(model, x)
    with compress_activations(model, "lossless") as run:
        model(x).square().mean().backward()
    assert all(torch.equal(a, b) for a, b in zip(plain, gradients(model), strict=True))
    assert {each.name: each.codec for each in run.report().activations}["1:relu"] == "sign"


def test_pooling_along_one_axis_is_exact():
    model = nn.Sequential(
        nn.Conv1d(3, 16, 3), nn.ReLU(), nn.MaxPool1d(3, 2, 1), nn.Conv1d(16, 4, 3)
    )
    x = torch.randn(16, 3, 101)
    plain = plain_gradients(model, x)
    with compress_activations(model, "lossless"):
        model(x).square().mean().backward()
    assert all(torch.equal(a, b) for a, b in zip(plain, gradients(model), strict=True))


@pytest.mark.parametrize("function", ["amax", "maximum", "sort", "own"])
def test_functions_that_compare_values_get_them_exactly(function):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return 2 * ctx.saved_tensors[0] * gradient

    calls = {
        "amax": lambda x: x.amax((2, 3)),
        "maximum": lambda x: torch.maximum(x, x.roll(1, 0)),
        "sort": lambda x: x.sort(-1).values[..., :3],
        "own": Own.apply,
    }
    first = nn.Conv2d(3, 16, 3)
    x = torch.randn(8, 3, 32, 32, requires_grad=True)
    calls[function](first(x)).sum().backward()
    plain = [x.grad.clone()]
    x.grad = None
    with compress_activations(first, "max"):
        calls[function](first(x)).sum().backward()
    assert torch.equal(plain[0], x.grad)


@pytest.mark.parametrize("level", ["safe", "max"])
@pytest.mark.parametrize(
    "function",
    [
        lambda h: torch.log(h.abs() + 1e-3),
        lambda h: torch.log1p(h.abs() - 0.999),
        lambda h: torch.sqrt(h.abs() + 1e-6),
        lambda h: (h.abs() + 1e-4).rsqrt(),
        lambda h: torch.reciprocal(h.abs() + 0.01),
        lambda h: 1 / (h.abs() + 0.01),
        lambda h: h / (h.roll(1, 0).abs() + 0.01),
        lambda h: torch.addcdiv(h, h, h.roll(1, 0).abs() + 0.01),
        lambda h: (h.abs() + 1e-3) ** -0.5,
        lambda h: torch.pow(h.abs() + 1e-3, 0.5),
        lambda h: h.abs().add(1e-3).pow(-1),
        lambda h: torch.pow(0.01, h),
        lambda h: F.normalize(h, eps=1e-3),
        lambda h: h.abs(),
        lambda h: F.softshrink(h),
    ],
)
def test_functions_with_a_pole_or_a_step_get_their_values_exactly(function, level):
    """Half a step of 8 bits is many times what is near zero."""
    leaf = torch.randn(8, 16, 32, 32)

    def through(policy):
        x = leaf.clone().requires_grad_()
        with compress_activations(nn.Identity(), policy):
            function(x * 1).sum().backward()
        return x.grad

    assert torch.equal(through("off"), through(level))


def test_a_rule_may_still_quantize_what_a_logarithm_saves():
    class Log(nn.Module):
        def forward(self, x):
            return torch.log(x)

    model = Log()
    with compress_activations(model, {"by_type": {"Log": {"codec": "quantize", "bits": 8}}}) as run:
        loss = model(torch.rand(8, 16, 32, 32, requires_grad=True) + 1).sum()
    loss.backward()
    assert [each.codec for each in run.report().activations] == ["quantize bits=8"]


@pytest.mark.parametrize("exponent", [2, 3.0])
def test_whole_powers_stay_lossy(exponent):
    leaf = torch.randn(8, 16, 32, 32).requires_grad_()
    with compress_activations(nn.Identity(), "balanced") as run:
        leaf.roll(1).pow(exponent).sum().backward()
    assert [each.codec for each in run.report().activations] == ["quantize bits=8"]
