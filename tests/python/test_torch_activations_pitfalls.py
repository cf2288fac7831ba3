"""What went wrong elsewhere when saved tensors were compressed, one test each."""

import copy
import gc
import math
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn

from tensorpress.eval.networks import UNet, alexnet_small, resnet18, resnet_small
from tensorpress.torch import compress_activations

TWO_BITS = {"default": {"codec": "quantize", "bits": 2}}


pytestmark = pytest.mark.usefixtures("one_thread")


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.Tanh()
    )


def gradients(model):
    return [parameter.grad.clone() for parameter in model.parameters()]


def plain_gradients(model, *inputs):
    model = copy.deepcopy(model)
    model(*inputs).square().mean().backward()
    return gradients(model)


def near(ones, others, limit):
    difference = sum(float((a - b).square().sum()) for a, b in zip(ones, others, strict=True))
    return difference <= limit**2 * sum(float(a.square().sum()) for a in ones)


def live_bytes():
    """Of all tensors that Python or autograd's hooks hold, storages once."""
    gc.collect()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensors = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)]
    # Other tests' sparse tensors have no storage of their own, and do not come or go here.
    tensors = [tensor for tensor in tensors if tensor.layout is torch.strided]
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
    return sum(storage.nbytes() for storage in storages.values())


# ---- One copy, and the right one ------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: resnet18(width=8), lambda: UNet(1, 1, (8, 8, 8, 8))])
def test_a_reused_address_is_never_taken_for_the_value_that_was_there(make):
    """Eight bits are near enough to tell, and free the originals, so that addresses come back."""
    model = make()
    x = torch.randn(4, next(model.parameters()).shape[1], 32, 32)
    plain = plain_gradients(model, x)
    with compress_activations(model, {"default": {"codec": "quantize", "bits": 8}}):
        loss = model(x).square().mean()
    loss.backward()
    assert near(plain, gradients(model), 0.05)


def test_a_value_saved_by_three_functions_is_stored_once():
    first = nn.Conv2d(3, 16, 3)
    left, right = nn.Conv2d(16, 4, 3), nn.Conv2d(16, 4, 3)
    model = nn.ModuleList([first, left, right])
    with compress_activations(model, "balanced") as run:
        shared = F.relu(first(torch.randn(8, 3, 32, 32)))
        (left(shared) + right(shared)).sum().backward()
    (record,) = [r for r in run.report().activations if r.saves == 3]
    values = shared.numel()
    assert record.bytes_before == 4 * values
    # Four bits and four bytes a group of 256, and one bit of sign.
    assert record.bytes_after == values // 2 + 4 * (values // 256) + values // 8
    assert record.codec == "sign + quantize bits=4"


def test_views_of_one_storage_share_the_copy():
    model = nn.Linear(32, 32)
    x = torch.randn(64, 64, 32, requires_grad=True)
    with compress_activations(model, "safe") as run:
        hidden = torch.tanh(x)
        products = hidden @ hidden.transpose(1, 2)
        slices = hidden[:32] * hidden[32:]
        flat = model(hidden.view(-1, 32))
        (products.sum() + slices.sum() + flat.sum()).backward()
    (record,) = run.report().activations
    values = hidden.numel()
    assert record.bytes_before == 4 * values
    assert record.bytes_after == values + 4 * (values // 256)


@pytest.mark.parametrize("level", ["off", "lossless", "safe"])
def test_a_conjugate_is_not_taken_for_what_it_is_a_view_of(level):
    """It has the same memory, and is to be read in another way; so has its imaginary part."""

    class Spectrum(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(64, 64))

        def forward(self):
            z = torch.fft.fft2(self.weight) * (1 + 2j)
            power = z * z.conj() * z
            imaginary = torch.imag(z.conj())
            return power.abs().sum() + (imaginary * imaginary * self.weight).sum()

    model = Spectrum()
    model().backward()
    expected = gradients(model)
    model.zero_grad()
    with compress_activations(model, level):
        model().backward()
    assert near(gradients(model), expected, 1e-6)


def test_a_changed_version_is_another_value():
    factor = nn.Parameter(torch.ones(64, 64))
    model = nn.ParameterList([factor])
    hidden = torch.randn(64, 64)
    with compress_activations(model, "safe"):
        before = (hidden * factor).sum()
        hidden.mul_(3)
        after = (hidden * factor).sum()
    after.backward()
    assert torch.allclose(factor.grad, hidden, atol=0.1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        before.backward()


def test_a_batch_that_is_a_slice_of_a_dataset_counts_as_itself():
    dataset = torch.randn(1000, 3, 32, 32)
    model = nn.Conv2d(3, 4, 3)
    with compress_activations(model, "off") as run:
        model(dataset[16:32]).sum().backward()
    assert run.report().saved_bytes == 16 * 3 * 32 * 32 * 4


# ---- What is held is what is reported, and no longer than needed ------------------------------


@pytest.mark.parametrize("level", ["lossless", "balanced", "max"])
@pytest.mark.parametrize("make", [lambda: resnet_small(width=8), alexnet_small])
def test_reported_bytes_are_the_bytes_that_are_really_held(make, level):
    model, x = make(), torch.randn(16, 3, 32, 32)
    before = live_bytes()
    with compress_activations(model, level) as run:
        loss = model(x).square().mean()
    held = live_bytes() - before - loss.untyped_storage().nbytes()
    # The batch was there before, and is held as it is.
    batch = x.untyped_storage().nbytes()
    outputs = 16 * 10 * 4 * 4  # the last layer's, seen by gc or not
    assert held == pytest.approx(run.report().stored_bytes - batch, abs=outputs)
    loss.backward()
    del loss
    assert (
        live_bytes() - before
        <= sum(p.grad.untyped_storage().nbytes() for p in model.parameters()) + outputs
    )


def test_payloads_are_freed_with_the_graph_also_without_backward():
    model = convolutions()
    with compress_activations(model, "balanced") as run:
        output = model(torch.randn(4, 3, 32, 32))
        held = run.held_bytes
        del output
        gc.collect()
        assert held > 0 and run.held_bytes == 0


def test_backward_frees_payloads_one_after_the_other():
    """A cache that outlives forward would keep all of them through backward."""
    model = nn.Sequential(
        *[m for _ in range(3) for m in (nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())]
    )
    held = []
    with compress_activations(model, "balanced") as run:
        output = model(torch.randn(4, 4, 32, 32))
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda _: held.append(run.held_bytes))
    output.sum().backward()
    assert held == sorted(held, reverse=True) and held[-1] < held[0]
    assert run.held_bytes == 0


# ---- In place, twice, again -------------------------------------------------------------------


@pytest.mark.parametrize("level", ["off", "balanced"])
@pytest.mark.parametrize("gone", [False, True])
def test_changing_a_saved_tensor_in_place_raises_as_without_hooks(level, gone):
    model = nn.Conv2d(3, 16, 3)

    def step():
        hidden = torch.sigmoid(model(torch.randn(4, 3, 32, 32)))
        loss = hidden.square().sum()
        hidden.add_(1)
        if gone:
            del hidden
        return loss

    with pytest.raises(RuntimeError, match="modified by an inplace operation") as plain:
        step().backward()
    with compress_activations(model, level), pytest.raises(RuntimeError) as ours:
        step().backward()
    assert "modified by an inplace operation" in str(ours.value)
    assert "is at version 1; expected version 0 instead" in str(plain.value)
    assert "is at version 1; expected version 0 instead" in str(ours.value)


def test_in_place_relu_gives_the_same_as_the_other():
    made = {}
    for inplace in (False, True):
        torch.manual_seed(1)
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace), nn.Conv2d(8, 8, 3)
        )
        with compress_activations(model, "balanced"):
            model(torch.randn(4, 3, 32, 32)).square().sum().backward()
        made[inplace] = gradients(model)
    assert all(torch.equal(a, b) for a, b in zip(made[False], made[True], strict=True))


def test_backward_twice_gives_the_same_gradient_twice():
    model = convolutions()
    with compress_activations(model, TWO_BITS):
        loss = model(torch.randn(4, 3, 32, 32)).square().mean()
        loss.backward(retain_graph=True)
        once = gradients(model)
        model.zero_grad()
        loss.backward()
    assert all(torch.equal(a, b) for a, b in zip(once, gradients(model), strict=True))


def test_gradients_of_gradients_work():
    model, x = convolutions(), torch.randn(4, 3, 32, 32)
    losses = []
    for run in (None, compress_activations(model, "lossless")):
        model.zero_grad()
        with run if run is not None else torch.enable_grad():
            loss = model(x).square().mean()
            slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            sum(slope.square().sum() for slope in slopes).backward()
        losses.append(gradients(model))
    assert near(losses[0], losses[1], 1e-6)


def test_several_forward_passes_before_one_backward():
    model = convolutions()
    xs = [torch.randn(4, 3, 32, 32) for _ in range(3)]
    reference = copy.deepcopy(model)
    sum(reference(x).square().mean() for x in xs).backward()
    with compress_activations(model, "safe") as run:
        sum(model(x).square().mean() for x in xs).backward()
    assert near(gradients(reference), gradients(model), 0.02)
    assert run.report().saved_bytes > 3 * 2 * 4 * 16 * 32 * 32 * 4


# ---- Signs and zeros ----------------------------------------------------------------------------


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
    ],
)
def test_the_gradient_passes_where_it_passes_without_compression(activation):
    """At two bits a lossy mask flips one sign in seven; an exact one none."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3), activation)
    x = 3 * torch.randn(8, 3, 16, 16)
    plain_gradients(model, x.requires_grad_())
    through = x.grad.clone()
    x.grad = None
    with compress_activations(model, TWO_BITS):
        output = model(x)
        output.backward(2 * output.detach() / output.numel())
    assert near([through], [x.grad], 1e-6)


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
        (leaf * 1).pow(exponent).sum().backward()
    assert [each.codec for each in run.report().activations] == ["quantize bits=8"]
