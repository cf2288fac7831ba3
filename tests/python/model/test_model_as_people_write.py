"""Models as people write them: views, swapped losses, other types, frozen weights, wrong sizes."""

import subprocess

import pytest
import torch
from emitted import PROGRAM, beside_autograd, emit
from torch.nn import functional as F

PLANS = ["off", "lossless", "safe", "balanced", "max"]
# Relative errors of gradients that codecs may cause in these small networks.
MOST = {"off": 1e-5, "lossless": 1e-5, "safe": 0.1, "balanced": 0.5, "max": 2.0}


def assert_near(pairs, most):
    for name, (mine, other) in pairs.items():
        assert mine is not None, name
        error = float((mine.double() - other.double()).norm() / (other.double().norm() + 1e-12))
        assert error <= most, (name, error)


def everywhere(step, reference, inputs, plan):
    assert_near(beside_autograd(step, reference, inputs), MOST[plan])


VIEWS = {
    "a part": ("chunk(h, 2, 1)", "h, rest = {}", lambda h: h.chunk(2, 1)[0]),
    "a slice": ("slice(h, 1, 0, 8)", "h = {}", lambda h: h[:, :8]),
    "another order": ("permute(h, [0, 1, 3, 2])", "h = {}", lambda h: h.permute(0, 1, 3, 2)),
}


@pytest.mark.parametrize("form", ["--native", "--portable"])
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("norm", ["batch_norm(h)", "group_norm(h, 2)"])
@pytest.mark.parametrize("view", VIEWS)
def test_norms_of_views_are_those_of_their_values(tmp_path, view, norm, plan, form):
    call, line, torch_view = VIEWS[view]
    rest = "h = h + rest\n" if "rest" in line else ""
    text = f"""
model views
input x: f32[N, 3, 16, 16]
target y: i64[N]
h = c: conv2d(x, 16, 3, padding = 1, bias = false)
{line.format(call)}
h = n: {norm}
{rest}h = d: conv2d(gelu(h), 4, 3)
loss cross_entropy(mean(h, [2, 3]), y)
"""

    def reference(P, x, y):
        whole = F.conv2d(x, P["c.weight"], padding=1)
        h = torch_view(whole)
        if "batch" in norm:
            h = F.batch_norm(h, None, None, P["n.weight"], P["n.bias"], True)
        else:
            h = F.group_norm(h, 2, P["n.weight"], P["n.bias"])
        h = h + whole.chunk(2, 1)[1] if rest else h
        return F.cross_entropy(F.conv2d(F.gelu(h), P["d.weight"], P["d.bias"]).mean((2, 3)), y)

    torch.manual_seed(0)
    step = emit(tmp_path, text, "--plan", plan, form).Step()
    inputs = torch.randn(4, 3, 16, 16), torch.randint(4, (4,))
    everywhere(step, reference, inputs, plan)
    for name, buffer in step.named_buffers():
        assert buffer.isfinite().all() and buffer.abs().max() < 10, name


@pytest.mark.parametrize("form", ["--native", "--portable"])
@pytest.mark.parametrize("plan", PLANS)
def test_attention_written_by_hand_trains_with_every_plan(tmp_path, plan, form):
    text = """
model by_hand
input x: f32[N, 32, 64]
target t: f32[N, 32, 64]
q, k, v = chunk(qkv: linear(x, 192), 3)
p = softmax(matmul(q, k, transposed = true) * 0.125)
loss mse_loss(o: linear(matmul(p, v), 64), t)
"""

    def reference(P, x, t):
        q, k, v = F.linear(x, P["qkv.weight"], P["qkv.bias"]).chunk(3, -1)
        p = torch.softmax(q @ k.mT * 0.125, -1)
        return F.mse_loss(F.linear(p @ v, P["o.weight"], P["o.bias"]), t)

    step = emit(tmp_path, text, "--plan", plan, form).Step()
    everywhere(step, reference, (torch.randn(2, 32, 64), torch.randn(2, 32, 64)), plan)


LOSSES = {
    "mse_loss": F.mse_loss,
    "l1_loss": F.l1_loss,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
}


@pytest.mark.parametrize("loss", LOSSES)
def test_both_sides_of_a_loss_have_gradients(tmp_path, loss):
    text = f"model two\ninput x: f32[N, 8]\nloss {loss}(a: linear(x, 3), b: linear(x, 3))\n"

    def reference(P, x):
        a, b = (F.linear(x, P[f"{name}.weight"], P[f"{name}.bias"]) for name in "ab")
        return LOSSES[loss](a, b)

    for name, (mine, other) in beside_autograd(
        emit(tmp_path, text).Step(), reference, (torch.randn(5, 8),)
    ).items():
        assert torch.equal(mine, other), name


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("element", ["bf16", "f16", "f64"])
def test_other_types_train_natively(tmp_path, element, plan):
    text = f"""
model typed
input x: {element}[N, 64]
target y: i64[N]
h = gelu(bn: batch_norm(a: linear(x, 256)))
loss cross_entropy(b: linear(h, 5), y)
"""
    rules = ("--plan", plan, "--batch", "5000")
    step = emit(tmp_path, text, *rules).Step()
    dtype = next(step.parameters()).dtype
    x, y = torch.randn(64, 64, dtype=dtype), torch.randint(5, (64,))
    loss = step(x, y)
    step.backward()
    exact = emit(tmp_path, text.replace(element, "f64")).Step()
    exact.load_state_dict(
        {n: b.to(exact.state_dict()[n].dtype) for n, b in step.state_dict().items()}
    )
    exact(x.double(), y)
    exact.backward()
    assert loss.isfinite()
    most = {"bf16": 0.1, "f16": 0.1, "f64": 0.0}[element] + MOST[plan]
    for (name, mine), other in zip(step.named_parameters(), exact.parameters(), strict=True):
        if name == "a.bias":  # a batch norm takes every shift away: its gradient is rounding
            continue
        assert mine.grad.dtype == dtype
        error = float((mine.grad.double() - other.grad).norm() / other.grad.norm())
        assert error < most, (name, error)


def test_sizes_that_the_text_fixes_are_expected(tmp_path):
    text = "model m\ninput x: f32[1, 8]\nh = a: linear(x, 4)\nloss mse_loss(h, gelu(h))\n"
    step = emit(tmp_path, text).Step()
    step(torch.randn(1, 8))
    with pytest.raises(
        ValueError, match=r"x has the shape \(6, 8\); the model's text says \(1, 8\)"
    ):
        step(torch.randn(6, 8))
    with pytest.raises(ValueError, match=r"x has the shape \(8,\)"):
        step(torch.randn(8))


def test_backward_without_forward_says_so(tmp_path):
    text = "model m\ninput x: f32[N, 8]\ntarget t: f32[N, 4]\nloss mse_loss(a: linear(x, 4), t)\n"
    step = emit(tmp_path, text).Step()
    with pytest.raises(RuntimeError, match="follows one forward pass"):
        step.backward()
    step(torch.randn(2, 8), torch.randn(2, 4))
    step.backward()
    with pytest.raises(RuntimeError, match="follows one forward pass"):
        step.backward()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_frozen_parameters_are_not_updated_in_backward(tmp_path, optimizer):
    text = "model m\ninput x: f32[N, 8]\ntarget t: f32[N, 4]\nloss mse_loss(a: linear(x, 4), t)\n"
    step = emit(tmp_path, text, "--optimizer", optimizer).Step()
    step.a.weight.requires_grad_(False)
    before = {name: parameter.clone() for name, parameter in step.named_parameters()}
    step(torch.randn(2, 8), torch.randn(2, 4))
    step.backward()
    assert torch.equal(step.a.weight, before["a.weight"])
    assert not torch.equal(step.a.bias, before["a.bias"])


def refused(tmp_path, text, *options):
    path, output = tmp_path / "model.tpm", tmp_path / "step.py"
    path.write_text(text)
    command = [PROGRAM, "model", "emit", path, "-o", output, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert not output.exists()
    return done.stderr


@pytest.mark.parametrize(
    "member, options",
    [
        ("saved", ()),
        ("tensors", ()),
        ("lr", ("--optimizer", "sgd")),
        ("eps", ("--optimizer", "adam")),
    ],
)
def test_modules_called_like_members_of_a_step_are_refused(tmp_path, member, options):
    text = "model m\ninput x: f32[N, 8]\ntarget t: f32[N, 4]\n"
    text += f"loss mse_loss({member}: linear(x, 4), t)\n"
    assert f"'{member}.weight' cannot be a name" in refused(tmp_path, text, *options)
    if options:
        emit(tmp_path, text).Step()


def test_a_check_of_a_lossy_plan_is_refused(tmp_path):
    text = "model m\ninput x: f32[N, 8]\ntarget t: f32[N, 4]\nloss mse_loss(a: linear(x, 4), t)\n"
    assert "--plan off or lossless" in refused(tmp_path, text, "--check", "--plan", "balanced")


def test_rules_for_parameters_and_misspelled_activations_are_refused(tmp_path):
    text = "model m\ninput x: f32[N, 8]\ntarget t: f32[N, 4]\nh = gelu(a: linear(x, 4))\n"
    text += "loss mse_loss(h, t)\n"
    plan = tmp_path / "plan.json"
    plan.write_text('{"by_name": {"a.weight": {"codec": "quantize"}}}')
    assert "which is a parameter" in refused(tmp_path, text, "--plan", plan)
    plan.write_text('{"by_name": {"gelo": {"codec": "quantize"}}}')
    assert "did you mean 'gelu'?" in refused(tmp_path, text, "--plan", plan)


def test_a_norm_before_a_concatenation_has_autograds_bits(tmp_path):
    text = """
model skip
input x: f32[N, 3, 8, 8]
target t: f32[N, 12, 8, 8]
a = relu(n: batch_norm(c: conv2d(x, 8, 3, padding = 1)))
b = relu(m: batch_norm(d: conv2d(a, 4, 3, padding = 1)))
loss mse_loss(cat([a, b], 1), t)
"""

    def reference(P, x, t):
        a = F.conv2d(x, P["c.weight"], P["c.bias"], padding=1)
        a = F.relu(F.batch_norm(a, None, None, P["n.weight"], P["n.bias"], True))
        b = F.conv2d(a, P["d.weight"], P["d.bias"], padding=1)
        b = F.relu(F.batch_norm(b, None, None, P["m.weight"], P["m.bias"], True))
        return F.mse_loss(torch.cat([a, b], 1), t)

    torch.manual_seed(0)
    inputs = torch.randn(5, 3, 8, 8), torch.randn(5, 12, 8, 8)
    for name, (mine, other) in beside_autograd(
        emit(tmp_path, text).Step(), reference, inputs
    ).items():
        assert torch.equal(mine, other), name
