"""What went wrong elsewhere when saved tensors were compressed, one test each."""

import copy
import gc
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from gradient_checks import gradients, near, plain_gradients
from torch import nn

from tensorpress.eval.networks import UNet, alexnet_small, resnet18, resnet_small
from tensorpress.torch import compress_activations

TWO_BITS = {"default": {"codec": "quantize", "bits": 2}}


pytestmark = pytest.mark.usefixtures("one_thread")


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.Tanh()
    )


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


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[16:], lambda x: x[:, ::2]])
def test_a_view_of_the_batch_is_kept_as_the_batch_is(view):
    """A linear layer saves a batch of three axes as a matrix; a copy would be on top of it."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(64, 32)

        def forward(self, x):
            return self.linear(view(x))

    model, x = Net(), torch.randn(64, 64, 64)
    before = live_bytes()
    with compress_activations(model, "balanced") as run:
        output = model(x)
    (record,) = run.report().activations
    assert record.codec == "keep"
    assert live_bytes() - before <= output.nbytes + 1024


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
