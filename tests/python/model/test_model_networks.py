"""Model texts become steps whose losses and gradients are those of the same nn.Module."""

import json
import subprocess

import pytest
import torch
import torch.nn.functional as F
from emitted import (
    PROGRAM,
    assert_equal_pairs,
    assert_same,
    beside_autograd,
    emit,
    gradients,
    step_of,
)
from torch import nn

from tensorpress.eval.networks.shipped import TWINS
from tensorpress.torch.peak_memory import measured_peak

SMALL = """
model small
input x: f32[N, 3, 8, 8]
target y: i64[N]
h = conv1: conv2d(x, 8, 3, padding = 1)
h = relu(h)
h = conv2: conv2d(h, 8, 3, stride = 2, bias = false)
h = relu(h)
h = fc1: linear(flatten(h), 16)
h = relu(h)
h = fc2: linear(h, 10)
loss cross_entropy(h, y)
"""


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, stride=2, bias=False)
        self.fc1 = nn.Linear(72, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def images(count, channels, size, classes=10):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(count, channels, size, size, generator=generator)
    return x, torch.randint(classes, (count,), generator=generator)


def test_small_network_off_is_autograd_bit_by_bit(tmp_path):
    torch.manual_seed(1)
    twin = Small()
    step = step_of(tmp_path, SMALL, twin)
    for count in (20, 7):  # a short last batch
        x, y = images(count, 3, 8)
        step.zero_grad()
        twin.zero_grad()
        loss = F.cross_entropy(twin(x), y)
        loss.backward()
        step_loss = step(x, y)
        step.backward()
        assert_same(step, step_loss, twin, loss)


# Samples: few, because every network runs twice in full size.
COUNTS = {"resnet18": 4, "unet": 1, "encoder_decoder": 1, "gcn": 30, "graphsage": 30}


def both(tmp_path, name, *options):
    """The losses of the emitted step and of the nn.Module, which both have gradients then."""
    torch.manual_seed(2)
    shipped = TWINS[name]
    twin, batch = shipped.make(), shipped.batch(COUNTS.get(name, 2))
    step = step_of(tmp_path, f"{name}.tpm", twin, *options)
    torch.manual_seed(5)  # the same dropout
    loss = shipped.loss(twin, *batch)
    loss.backward()
    torch.manual_seed(5)
    step_loss = step(*batch)
    step.backward()
    return step, step_loss, twin, loss


@pytest.mark.parametrize("name", TWINS)
def test_shipped_model_off_is_autograd_bit_by_bit(tmp_path, name):
    assert_same(*both(tmp_path, name))


SKIP = """
model skip
input x: f32[N, 3, 32, 32]
target y: f32[N, 1, 32, 32]
a = norm: batch_norm(relu(first: conv2d(x, 8, 3, padding = 1)))
b = relu(second: conv2d(max_pool2d(a, 2), 16, 3, padding = 1))
h = last: conv2d(cat([upsample(b, 2), a]), 1, 3, padding = 1)
loss mse_loss(h, y)
"""


def test_a_part_of_a_gradient_is_not_summed_in_place(tmp_path):
    """With two samples it has gaps, and sums over it are added up in another order."""

    def reference(P, x, y):
        h = F.relu(F.conv2d(x, P["first.weight"], P["first.bias"], padding=1))
        means = torch.zeros(8), torch.ones(8)
        a = F.batch_norm(h, *means, P["norm.weight"], P["norm.bias"], training=True)
        b = F.conv2d(F.max_pool2d(a, 2), P["second.weight"], P["second.bias"], padding=1)
        both = torch.cat([F.interpolate(F.relu(b), scale_factor=2.0), a], 1)
        return F.mse_loss(F.conv2d(both, P["last.weight"], P["last.bias"], padding=1), y)

    torch.manual_seed(3)
    step = emit(tmp_path, SKIP).Step()
    inputs = torch.randn(2, 3, 32, 32), torch.randn(2, 1, 32, 32)
    assert_equal_pairs(beside_autograd(step, reference, inputs), rounded=False)


@pytest.mark.parametrize("name", ["resnet18", "unet", "encoder_decoder"])
@pytest.mark.parametrize("options", [("safe",), ("balanced",), ("balanced", "--portable")])
def test_lossy_gradients_stay_near(tmp_path, name, options):
    step, step_loss, twin, loss = both(tmp_path, name, "--plan", *options)
    torch.testing.assert_close(step_loss, loss.detach())
    mine, other = gradients(step), gradients(twin)
    error = sum(float((mine[n] - other[n]).square().sum()) for n in other)
    size = sum(float(other[n].square().sum()) for n in other)
    # 8 bits: steps of 1/255 of a group's range; 4 bits: of 1/15, sixteen times as much.
    assert error**0.5 < (0.02 if options == ("safe",) else 0.32) * size**0.5


def test_lossless_plan_is_autograd_bit_by_bit(tmp_path):
    assert_same(*both(tmp_path, "resnet18", "--plan", "lossless"))


BRANCHES = """
model branches
input x: f32[N, 3, 64, 64]
target y: f32[N, 1, 64, 64]
a = relu(first: conv2d(x, 16, 3, padding = 1))
b = relu(second: conv2d(a, 16, 3, stride = 2, padding = 1))
c = relu(third: conv2d(a, 16, 3, padding = 1))
h = relu(joined: conv2d(cat([upsample(b, 2, "bilinear"), c, upsample(a, 1)]), 16, 3, padding = 1))
g = relu(grouped: conv2d(cat([h, a]), 16, 3, padding = 1, groups = 2))
k = relu(tall: conv2d(cat([g, h], 2), 16, [2, 1], stride = [2, 1]))
t = relu(back: conv_transpose2d(cat([k, upsample(b, 2)]), 16, 3, padding = 1))
out = last: conv2d(t, 1, 1)
loss mse_loss(out, y)
"""


def assert_slices_give_the_gradients_of_whole_maps(tmp_path, text, x, y):
    """With eight bits; what was emitted in slices."""
    batch = ["--batch", str(len(x))]
    whole = emit(tmp_path, text, *batch).Step()
    emitted = emit(tmp_path, text, *batch, "--plan", "safe")
    sliced = emitted.Step()
    sliced.load_state_dict(whole.state_dict())
    for step in (whole, sliced):
        loss = step(x, y)
        step.backward()
    torch.testing.assert_close(loss, whole(x, y))
    for name, exact in gradients(whole).items():
        # Half a step of 1/255 of a group's range, and rounding adds up over samples.
        assert (gradients(sliced)[name] - exact).norm() < 0.01 * exact.norm(), name
    return emitted.source


def test_concatenations_in_slices_give_the_gradients_of_whole_ones(tmp_path):
    torch.manual_seed(4)
    x, y = torch.randn(20, 3, 64, 64), torch.randn(20, 1, 64, 64)
    source = assert_slices_give_the_gradients_of_whole_maps(tmp_path, BRANCHES, x, y)
    for each in ("y=relu)", "CatSink(", "cat_slices(", "mapped_slices("):
        assert each in source


POOLS = """
model pools
input x: f32[N, 3, 64, 64]
target y: i64[N]
h = max_pool2d(relu(first: conv2d(x, 24, 3, padding = 1)), 2)
h = max_pool2d(relu(second: conv2d(h, 96, 3, padding = 1)), 3, stride = 2, padding = 1)
h = max_pool2d(relu(third: conv2d(h, 256, 3, padding = 1)), [4, 2])
loss cross_entropy(fc: linear(flatten(h), 10), y)
"""


def test_pools_in_slices_give_the_gradients_of_whole_ones(tmp_path):
    torch.manual_seed(4)
    x, y = torch.randn(23, 3, 64, 64), torch.randint(10, (23,))
    source = assert_slices_give_the_gradients_of_whole_maps(tmp_path, POOLS, x, y)
    for each in ("max_pool_slices(", "max_pool_backward_slices("):
        assert source.count(each) == 1 + 3, each
    assert "aten.convolution_backward(d_" not in source  # the first convolution's neither


# Convolutions whose weights, strides and few rows decide what oneDNN takes besides.
CONVOLUTIONS = {
    "wide weights on small maps": "h = b: conv2d(a: conv2d(x, 256, 3, padding = 1), "
    "256, 3, padding = 1)",
    "strides": "h = b: conv2d(a: conv2d(x, 32, 3, padding = 1), 32, 3, stride = 2, padding = 1)",
    "channels that fill no block": "h = b: conv2d(a: conv2d(x, 24, 3, padding = 1), "
    "8, 3, padding = 1)\n"
    "h = d: conv2d(c: conv2d(h, 8, 3, padding = 1), 20, 3, padding = 1)",
    "one by one": "h = b: conv2d(a: conv2d(x, 64, 1), 128, 1)",
    "fewer rows than the kernel": "h = a: conv2d(x, 192, 3, padding = 1)\n"
    "h = max_pool2d(h, 8)\nh = b: conv2d(c: conv2d(h, 192, 3, padding = 1), 192, 3, padding = 1)",
}


def predicted_and_measured_peak(tmp_path, text, batch, *options):
    """Of a step with its update, in bytes."""
    (tmp_path / "m.tpm").write_text(text)
    options = ["--optimizer", "sgd", *options]
    command = [PROGRAM, "model", "profile", tmp_path / "m.tpm", "--json", *options]
    predicted = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    step = emit(tmp_path, text, *options).Step()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # some kernels take scratch for each thread
    try:
        step(*batch)
        step.backward()
        with measured_peak(step) as peaks:
            step(*batch)
            step.backward()
    finally:
        torch.set_num_threads(threads)
    weights_and_momentum = 2 * sum(parameter.nbytes for parameter in step.parameters())
    given = sum(part.nbytes for each in batch for part in parts(each))
    return predicted["peak_bytes"], (
        peaks[0].activations_and_gradients + weights_and_momentum + given
    )


def parts(tensor):
    if tensor.layout == torch.strided:
        return [tensor]
    return [tensor.values(), tensor.col_indices(), tensor.crow_indices()]


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("plan", ["off", "balanced"])
def test_the_predicted_peak_of_convolutions_is_measured(tmp_path, name, plan):
    text = (
        "model m\ninput x: f32[N, 16, 16, 16]\ntarget y: i64[N]\n"
        f"{CONVOLUTIONS[name]}\nh = fc: linear(flatten(adaptive_avg_pool2d(h)), 10)\n"
        "loss cross_entropy(h, y)\n"
    )
    batch = torch.randn(16, 16, 16, 16), torch.randint(10, (16,))
    options = ["--plan", plan, "--batch", "16"]
    predicted, measured = predicted_and_measured_peak(tmp_path, text, batch, *options)
    assert predicted == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
@pytest.mark.parametrize("neighbours", [4, 60])
def test_the_predicted_peak_of_sparse_products_is_measured(tmp_path, reduce, neighbours):
    text = (
        "model m\ninput a: csr f32[V, V] entries E\ninput x: f32[V, 24]\ntarget y: i64[V]\n"
        f'h = relu(spmm(a, first: linear(x, 32), "{reduce}"))\n'
        f'h = spmm(a, second: linear(h, 10), "{reduce}")\nloss cross_entropy(h, y)\n'
    )
    torch.manual_seed(8)
    places = torch.randint(3000, (2, 3000 * neighbours))
    a = torch.sparse_coo_tensor(places, torch.rand(places.shape[1]), (3000, 3000)).coalesce()
    a = a.to_sparse_csr()
    batch = a, torch.randn(3000, 24), torch.randint(10, (3000,))
    sizes = ["--size", "V=3000", "--size", f"E={a.values().numel()}"]
    predicted, measured = predicted_and_measured_peak(tmp_path, text, batch, *sizes)
    assert predicted == pytest.approx(measured, rel=0.05)
