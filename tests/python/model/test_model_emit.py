"""What `model emit` writes beside a plain step: checks, differences, updates, casts, pure steps."""

import json
import re
import shlex
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from emitted import PROGRAM, ROOT, emit, step_of
from test_model_networks import SMALL, Small, images

import tensorpress.torch


def emitted_text(*arguments):
    done = subprocess.run([PROGRAM, "model", "emit", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_check_script_finds_the_numerical_gradients_of_a_graph_network(tmp_path):
    emitted_text(ROOT / "models" / "graphsage.tpm", "-o", tmp_path / "step.py", "--check")
    done = subprocess.run(
        [sys.executable, "step_check.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "conv3.lin_neighbour.weight" in done.stdout


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("step.py", ["--optimizer", "sgd"], "a step with --optimizer sgd keeps none"),
        ("my-step.py", [], "Python cannot import 'my-step'"),
        ("class.py", [], "Python cannot import 'class'"),
        ("torch.py", [], "Python cannot import 'torch'"),
        ("1st.py", [], "Python cannot import '1st'"),
    ],
)
def test_checks_that_could_not_run_are_refused_before_anything_is_written(
    tmp_path, name, options, words
):
    model = ROOT / "models" / "graphsage.tpm"
    command = [PROGRAM, "model", "emit", model, "-o", tmp_path / name, "--check", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert words in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        ["--batch", "8"],
        ["--size", "V=50", "--size", "E=400"],
        ["--optimizer", "adam", "--plan", "balanced"],
        ["--portable", "--plan", "lossless"],
        ["--adaptive", "--plan", "safe"],
    ],
    ids=" ".join,
)
def test_the_command_in_a_file_writes_that_file(options):
    written = emitted_text(ROOT / "models" / "graphsage.tpm", *options)
    command = re.search("Written by: tensorpress (.*)", written).group(1)
    again = subprocess.run(
        [PROGRAM, *shlex.split(command)], cwd=ROOT / "models", capture_output=True
    )
    assert again.stdout.decode() == written


def test_diff_shows_the_lines_that_store_a_value_otherwise(tmp_path):
    model = tmp_path / "small.tpm"
    model.write_text(SMALL)
    lines = emitted_text(model, "--plan", "safe", "--diff").splitlines()
    assert '-        S["relu"] = relu' in lines
    assert '+        S["relu"] = pack_bits(relu, 8)' in lines
    assert all(line[:1] in ("+", "-") or line == "@@" for line in lines)
    assert emitted_text(model, "--plan", "off", "--diff") == ""


OPTIMIZERS = {
    "sgd": lambda weights: torch.optim.SGD(weights, lr=0.01, momentum=0.9),
    "adam": lambda weights: torch.optim.Adam(weights, lr=0.001),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_update_in_backward_is_that_of_the_optimizer(tmp_path, name):
    torch.manual_seed(1)
    twin = Small()
    step = step_of(tmp_path, SMALL, twin, "--optimizer", name)
    optimizer = OPTIMIZERS[name](twin.parameters())
    x, y = images(8, 3, 8)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(twin(x), y).backward()
        optimizer.step()
        step(x, y)
        step.backward()
    for name, parameter in twin.named_parameters():
        assert step.get_parameter(name).grad is None
        torch.testing.assert_close(step.get_parameter(name), parameter)


WAYS = {
    # How activations wait, and how far gradients may be off, relative to their size.
    "e4m3": ({"codec": "cast", "to": "e4m3"}, 2**-4),
    "e5m2": ({"codec": "cast", "to": "e5m2"}, 2**-3),
    "all coefficients": ({"codec": "dct-chop", "cf": 8}, 1e-5),
    "dense": ({"codec": "dense", "relative": 1e-3}, 0.02),
    "ceresz": ({"codec": "ceresz", "relative": 1e-3}, 0.02),
    "ceresz2": ({"codec": "ceresz2", "relative": 1e-3}, 0.02),
}
PLANES = """
model planes
input x: f32[N, 3, 20, 16]
target y: i64[N]
h = relu(conv1: conv2d(x, 8, 3, padding = 1))
h = conv2: conv2d(h, 8, 3, bias = false)
h = fc: linear(flatten(h), 10)
loss cross_entropy(h, y)
"""


def gradients_with(directory, rule, *options):
    """Of the second convolution's weight, whose input waits by the rule."""
    plan = directory / "plan.json"
    plan.write_text(json.dumps({"level": "lossless", "by_name": {"relu": rule}}))
    torch.manual_seed(3)
    step = emit(directory, PLANES, "--plan", str(plan), *options).Step()
    x = F.interpolate(torch.randn(6, 3, 5, 4), scale_factor=4, mode="bilinear")
    step(x, torch.arange(6))
    step.backward()
    return step.get_parameter("conv2.weight").grad


@pytest.mark.parametrize(
    ("way", "form"),
    [(w, f) for w in WAYS for f in ("--native", "--portable") if f == "--native" or w[0] in "ea"],
)
def test_gradients_are_off_by_what_the_codec_loses(tmp_path, way, form):
    rule, most = WAYS[way]
    exact = gradients_with(tmp_path, {"codec": "keep"})
    lossy = gradients_with(tmp_path, rule, form)
    assert (lossy - exact).norm() <= most * exact.norm()
    assert way == "all coefficients" or not torch.equal(lossy, exact)


def test_chopped_values_are_those_of_the_compressor(tmp_path):
    plan = tmp_path / "plan.json"
    rule = {"codec": "dct-chop", "cf": 4}
    plan.write_text(json.dumps({"level": "lossless", "by_name": {"relu": rule}}))
    module = emit(tmp_path, PLANES, "--plan", str(plan))
    x = torch.randn(2, 3, 20, 16)
    compressor = tensorpress.torch.ChopCompressor((20, 16), 4)
    kept = compressor(x)
    torch.testing.assert_close(module.pack_chop(x, 4), kept)
    torch.testing.assert_close(
        module.unpack_chop(kept, 4, x.shape), compressor.decompressor()(kept)
    )


def test_dct_chop_of_small_planes_is_refused(tmp_path):
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"by_name": {"relu_2": {"codec": "dct-chop", "cf": 4}}}))
    model = tmp_path / "small.tpm"
    model.write_text(SMALL)
    command = [PROGRAM, "model", "emit", model, "--plan", plan]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "planes of 8 x 8" in done.stderr


def test_values_cast_to_bf16_give_the_same_gradients_in_both_forms(tmp_path):
    plan = tmp_path / "plan.json"
    rule = {"codec": "cast", "to": "bf16"}
    plan.write_text(json.dumps({"level": "lossless", "by_name": {"relu": rule}}))
    torch.manual_seed(1)
    twin = Small()
    x, y = images(8, 3, 8)
    F.cross_entropy(twin(x), y).backward()
    exact = twin.conv2.weight.grad
    found = []
    for form in ("--native", "--portable"):
        step = step_of(tmp_path, SMALL, twin, "--plan", plan, form)
        step(x, y)
        step.backward()
        found.append(step.get_parameter("conv2.weight").grad)
    torch.testing.assert_close(found[0], found[1])
    # bf16 has 8 significant bits: half a last place is 2^-9 of each value.
    error = float((found[0] - exact).norm() / exact.norm())
    assert 0 < error < 2**-8


def test_torch_export_takes_the_portable_step_whole(tmp_path):
    module = emit(tmp_path, SMALL, "--portable")

    class Whole(torch.nn.Module):
        def forward(self, params, x, y):
            return module.train_step(params, x, y)

    torch.manual_seed(1)
    twin = Small()
    params = {name: p.detach() for name, p in twin.named_parameters()}
    x, y = images(4, 3, 8)
    loss, grads = torch.export.export(Whole(), (params, x, y)).module()(params, x, y)
    other = F.cross_entropy(twin(x), y)
    other.backward()
    torch.testing.assert_close(loss, other.detach())
    for name, parameter in twin.named_parameters():
        torch.testing.assert_close(grads[name], parameter.grad)


TRANSPOSED = """
model transposed
input x: f32[N, 6, 8]
target y: f32[N, 8, 4]
h = fc1: linear(x, 8)
h = dropout(transpose(h, 1, 2), 0.5)
h = fc2: linear(h, 4)
loss mse_loss(h, y)
"""


def test_dropout_of_a_transposed_value_draws_the_same_mask_in_both_passes(tmp_path):
    """Where the mask is 0 the weight's row gets no gradient; another mask would give it one."""
    step = emit(tmp_path, TRANSPOSED, "--plan", "lossless").Step().double()
    x, y = torch.randn(3, 6, 8).double(), torch.randn(3, 8, 4).double()
    weight = step.get_parameter("fc1.weight")

    def loss_at(change):
        torch.manual_seed(4)
        with torch.no_grad():
            weight[2, 3] += change
            loss = float(step(x, y))
            weight[2, 3] -= change
        return loss

    torch.manual_seed(4)
    step(x, y)
    step.backward()
    numerical = (loss_at(1e-6) - loss_at(-1e-6)) / 2e-6
    assert float(weight.grad[2, 3]) == pytest.approx(numerical, rel=1e-5)


OFFLOADED = """
model offloaded
input x: f32[N, 3, 16, 16]
target y: i64[N]
h = relu(bn1: batch_norm(conv1: conv2d(x, 8, 3, padding = 1)))
a = relu(bn2: batch_norm(conv2: conv2d(h, 8, 3, padding = 1)))
h = h + a
h = gelu(conv3: conv2d(h, 8, 3, padding = 1))
h = fc: linear(flatten(h), 10)
loss cross_entropy(h, y)
"""


@pytest.mark.parametrize("form", ["--native", "--portable"])
def test_offloaded_activations_change_no_gradient(tmp_path, form):
    """Nothing is lost: each value is copied to the host and back. Norms from their normalized
    values differ by rounding."""
    plan = tmp_path / "plan.json"
    away = ["bn1.normalized", "relu", "relu_2", "bn2.normalized", "add", "conv3", "gelu"]
    rules = {name: {"codec": "offload"} for name in away}
    plan.write_text(json.dumps({"level": "lossless", "by_name": rules}))
    torch.manual_seed(7)
    exact = emit(tmp_path, OFFLOADED, "--plan", "lossless").Step()
    module = emit(tmp_path, OFFLOADED, "--plan", str(plan), form)
    step = module.Step()
    step.load_state_dict(exact.state_dict())
    x, y = torch.randn(6, 3, 16, 16), torch.randint(10, (6,))
    assert torch.allclose(step(x, y), exact(x, y))
    held = {name: value for name, value in step.saved.items() if name in rules}
    assert len(held) >= 5 and all(value.device.type == "cpu" for value in held.values())
    assert "(on the host)" in module.source
    step.backward()
    exact.backward()
    for name, parameter in exact.named_parameters():
        torch.testing.assert_close(step.get_parameter(name).grad, parameter.grad)
    assert not rules.keys() & step.saved.keys()
