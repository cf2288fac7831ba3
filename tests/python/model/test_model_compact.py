"""Compact plans: exact small forms change no gradient, values that are read twice stay what they
are, and predicted peaks are measured."""

import json
import random
import re
import subprocess

import pytest
import test_model_operator_inputs as beside_inputs
import test_model_operators as operators
import torch
import torch.nn.functional as F
from conftest import PROGRAM
from emitted import assert_equal_pairs, emit

from tensorpress.torch.peak_memory import measured_peak

LOSSLESS = ("--plan", "lossless")
# What compact plans draw, they draw otherwise than PyTorch does.
DETERMINISTIC = [case for case in beside_inputs.CASES if "dropout" not in case]


@pytest.mark.parametrize("case", operators.CASES)
def test_exact_small_forms_change_no_gradient(tmp_path, case):
    pairs = operators.compare(tmp_path, operators.CASES[case], torch.float32, *LOSSLESS)
    assert_equal_pairs(pairs, case in operators.ROUNDED)


@pytest.mark.parametrize("case", DETERMINISTIC)
def test_exact_small_forms_beside_other_inputs_change_no_gradient(tmp_path, case):
    pairs = beside_inputs.compare(tmp_path, beside_inputs.CASES[case], torch.float32, *LOSSLESS)
    assert_equal_pairs(pairs, case in beside_inputs.ROUNDED)


@pytest.mark.parametrize("case", operators.CASES)
def test_portable_gradients_are_autograds_to_rounding(tmp_path, case):
    options = ("--portable", *LOSSLESS)
    pairs = operators.compare(tmp_path, operators.CASES[case], torch.float64, *options)
    for name, (mine, other) in pairs.items():
        torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-7, msg=name)


# --- One bit an element ---------------------------------------------------------------------------

ONE_BIT = {
    "leaky_relu(h, 0.2)": lambda h: F.leaky_relu(h, 0.2),
    "relu6(h)": lambda h: F.relu6(h),
    "hardtanh(h)": lambda h: F.hardtanh(h),
    "where(h > 0.2, h, otherwise = 0)": lambda h: torch.where(h > 0.2, h, 0.0),
}


def behind_a_linear_layer(expression):
    return (
        "input x: f32[N, 64]\ninput t: f32[N, 32]\nh = a: linear(x, 64)\n"
        f"y = {expression}\nloss mse_loss(b: linear(y, 32), t)\n"
    )


@pytest.mark.parametrize("expression", ONE_BIT)
def test_an_eighth_of_a_byte_waits_for_each_element(tmp_path, expression):
    text = behind_a_linear_layer(expression)
    module = emit(tmp_path, text, *LOSSLESS, "--batch", "16")
    step = module.Step()
    step(torch.randn(16, 64), torch.randn(16, 32))
    bits = [v for name, v in step.saved.items() if name.endswith((":signs", ":condition"))]
    if not bits:  # the exact output is kept for the next layer, and tells them
        assert "where" not in expression
        return
    assert [each.numel() for each in bits] == [16 * 64 // 8]


@pytest.mark.parametrize("expression", ONE_BIT)
@pytest.mark.parametrize("form", ["--native", "--portable"])
def test_lossy_values_leave_the_gradient_through_the_function_exact(tmp_path, expression, form):
    """The gradient of the first layer's bias depends on the bits alone, not on lossy values."""
    text = behind_a_linear_layer(expression)
    plan = tmp_path / "plan.json"
    rule = {"codec": "quantize", "bits": 4}
    lossy = "where" if "where" in expression else expression.split("(")[0]
    plan.write_text(json.dumps({"level": "lossless", "by_name": {lossy: rule}}))
    torch.manual_seed(3)
    step = emit(tmp_path, text, form, "--plan", str(plan), "--batch", "16").Step()
    P = {n: p.detach().clone().requires_grad_() for n, p in step.named_parameters()}
    x, t = torch.randn(16, 64), torch.randn(16, 32)
    y = ONE_BIT[expression](F.linear(x, P["a.weight"], P["a.bias"]))
    F.mse_loss(F.linear(y, P["b.weight"], P["b.bias"]), t).backward()
    step(x, t)
    step.backward()
    grads = {n: p.grad for n, p in step.named_parameters()}
    torch.testing.assert_close(grads["a.bias"], P["a.bias"].grad, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(grads["a.weight"], P["a.weight"].grad, rtol=1e-5, atol=1e-7)
    assert not torch.equal(grads["b.weight"], P["b.weight"].grad)
    torch.testing.assert_close(grads["b.weight"], P["b.weight"].grad, rtol=0.2, atol=0.02)


@pytest.mark.parametrize("expression", list(ONE_BIT)[:3])
def test_outputs_are_rebuilt_from_lossy_inputs_and_bits(tmp_path, expression):
    """The input is stored for tanh; the output that the layer reads is made of it again."""
    text = (
        "input x: f32[N, 64]\ninput t: f32[N, 32]\nh = (a: linear(x, 64)) * 6\n"
        f"y = {expression}\nloss mse_loss((b: linear(y, 32)) + (c: linear(gelu(h), 32)), t)\n"
    )
    plan = tmp_path / "plan.json"
    name = expression.split("(")[0]
    by_name = {"scale": {"codec": "quantize", "bits": 8}, name: {"codec": "rebuild"}}
    plan.write_text(json.dumps({"level": "lossless", "by_name": by_name}))
    torch.manual_seed(4)
    module = emit(tmp_path, text, "--plan", str(plan), "--batch", "16")
    step = module.Step()
    P = {n: p.detach().clone().requires_grad_() for n, p in step.named_parameters()}
    x, t = torch.randn(16, 64), torch.randn(16, 32)
    h = F.linear(x, P["a.weight"], P["a.bias"]) * 6
    y = F.linear(ONE_BIT[expression](h), P["b.weight"], P["b.bias"])
    F.mse_loss(y + F.linear(F.gelu(h), P["c.weight"], P["c.bias"]), t).backward()
    step(x, t)
    step.backward()
    for name, parameter in step.named_parameters():
        torch.testing.assert_close(parameter.grad, P[name].grad, rtol=0.05, atol=0.005, msg=name)


# --- Values that several operators read -----------------------------------------------------------


def test_a_decoded_value_that_is_read_twice_is_not_overwritten(tmp_path):
    """relu is rebuilt from h, which attention reads besides: not in the memory of h."""
    text = (
        "input x: f32[N, 8, 64]\nh = a: linear(x, 64)\ny = attention(relu(h), h, h, 4)\n"
        "loss mean(flatten(y * y, 0), 0)\n"
    )
    plan = tmp_path / "plan.json"
    by_name = {"a": {"codec": "quantize", "bits": 8}, "relu": {"codec": "rebuild"}}
    plan.write_text(json.dumps({"level": "lossless", "by_name": by_name}))
    torch.manual_seed(6)
    x = torch.randn(4, 8, 64)
    exact = emit(tmp_path, text, *LOSSLESS).Step()
    lossy = emit(tmp_path, text, "--plan", str(plan)).Step()
    lossy.load_state_dict(exact.state_dict())
    for step in (exact, lossy):
        step(x)
        step.backward()
    for (name, mine), (_, other) in zip(
        lossy.named_parameters(), exact.named_parameters(), strict=True
    ):
        error = (mine.grad - other.grad).norm() / other.grad.norm()
        assert error < 0.05, (name, float(error))


# --- Random shapes --------------------------------------------------------------------------------


def random_case(kind, chance):
    """Lines that make y of h, their reference, and the shape of h behind the batch."""
    shape = [chance.randint(1, 6) for _ in range(chance.randint(2, 4))]
    rank = len(shape) + 1
    at = chance.randrange(1, rank)
    extent = shape[at - 1]
    if kind == "slice":
        start, step = chance.randrange(extent), chance.randint(1, 3)
        end = chance.randint(start + 1, extent)
        part = (slice(None),) * at + (slice(start, end, step),)
        line = f"y = slice(h, {at}, {start}, {end}, {step}) * 3"
        return shape, line, lambda P, h: h[part] * 3
    if kind == "permute":
        axes = list(range(rank))
        chance.shuffle(axes)
        return shape, f"y = tanh(permute(h, {axes}))", lambda P, h: torch.tanh(h.permute(axes))
    if kind == "sum":
        axes = chance.sample(range(rank), chance.randint(1, rank - 1))
        keep = chance.choice([True, False])
        line = f"y = sum(h * h, {axes}, {str(keep).lower()}) * 2"
        return shape, line, lambda P, h: (h * h).sum(axes, keep) * 2
    if kind == "expand":
        shape[at - 1] = 1
        wide = [-1] * at + [chance.randint(1, 5)] + [-1] * (rank - at - 1)
        return shape, f"y = relu(expand(h, {wide})) * 2", lambda P, h: F.relu(h.expand(wide)) * 2
    if kind == "stack":
        axis = chance.randrange(-rank - 1, rank + 1)
        line = f"y = stack([h, tanh(h), h], {axis})"
        return shape, line, lambda P, h: torch.stack([h, torch.tanh(h), h], axis)
    if kind == "hardtanh":
        low = chance.uniform(-1, 0.5)
        high = low + chance.uniform(0.01, 2)
        line = f"y = hardtanh(h, low = {low!r}, high = {high!r}) * 3"
        return shape, line, lambda P, h: F.hardtanh(h, low, high) * 3
    if kind == "leaky_relu":
        slope = chance.choice([0, 0.5, 1, 3, chance.random()])
        return shape, f"y = leaky_relu(h, {slope!r})", lambda P, h: F.leaky_relu(h, slope)
    if kind == "pow":
        power = chance.choice([1, 2, 3, 4, -1, -2, 0.5, 1.5, chance.uniform(-2, 3)])
        line = f"y = pow(h * h + 0.5, {power!r})"
        return shape, line, lambda P, h: (h * h + 0.5).pow(power)
    if kind == "conv2d":
        groups = chance.choice([1, 2])
        shape = [2 * chance.randint(1, 3), chance.randint(5, 11), chance.randint(5, 11)]
        stride, padding, dilation = (
            [chance.randint(least, 2) for _ in range(2)] for least in (1, 0, 1)
        )
        kernel = [chance.randint(1, 3), chance.randint(1, 3)]
        line = f"y = c: conv2d(h, {4 * groups}, {kernel}, stride = {stride}, padding = {padding}, "
        line += f"dilation = {dilation}, groups = {groups})"
        return (
            shape,
            line,
            lambda P, h: F.conv2d(h, P["c.weight"], P["c.bias"], stride, padding, dilation, groups),
        )
    heads, features = chance.randint(1, 3), chance.randint(1, 5)
    tokens, p = chance.randint(1, 9), 0.0
    mask = [chance.choice([1, each]) for each in (1, heads, tokens, tokens)]
    masked, causal = chance.choice([(True, False), (False, False), (False, True)])
    scale = chance.choice([None, chance.uniform(0.1, 2)])
    line = f"param c: f32{mask} = 0.1\n" if masked else ""
    line += f"q, k, v = chunk(h, 3)\ny = attention(q, k, v{', c' if masked else ''}, {heads}"
    line += f", causal = {str(causal).lower()}" + (f", scale = {scale!r})" if scale else ")")

    def reference(P, h):
        q, k, v = (t.unflatten(2, (heads, -1)).transpose(1, 2) for t in h.chunk(3, -1))
        bias = P["c"] if masked else None
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, is_causal=causal, scale=scale, dropout_p=p
        )
        return y.transpose(1, 2).flatten(2)

    return [tokens, 3 * heads * features], line, reference


KINDS = "slice permute sum expand stack hardtanh leaky_relu pow conv2d attention".split()


@pytest.mark.parametrize("plan", ["off", "lossless"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_random_shapes_are_autograds(tmp_path, kind, plan):
    for seed in range(4):
        chance = random.Random(f"{kind} {seed}")
        shape, lines, reference = random_case(kind, chance)
        case = (", ".join(map(str, ["N", *shape])), lines, reference)
        for dtype in (torch.float32, torch.float64):
            pairs = operators.compare(tmp_path, case, dtype, "--plan", plan)
            for name, (mine, other) in pairs.items():
                torch.testing.assert_close(mine, other, msg=f"{name} of {lines}")


SMALL_UNET = """
model small_unet
input x: f32[N, 3, 16, 16]
target y: f32[N, 3, 16, 16]
a = k1: conv2d(x, 32, 3, padding = 1)
b = silu(k2: conv2d(silu(a), 32, 3, padding = 1))
c = k3: conv2d(max_pool2d(b, 2), 32, 3, padding = 1)
u = k4: conv2d(upsample(silu(c), 2, "nearest"), 32, 3, padding = 1)
d = cat([u, a])
e = silu(norm: group_norm(d, 8))
f = k6: conv2d(e, 32, 3, padding = 1) + k7: conv2d(d, 32, 1)
loss mse_loss(k8: conv2d(f, 3, 3, padding = 1), y)
"""


@pytest.mark.parametrize("ratio", [3, 6])
def test_a_plan_may_store_what_a_concatenation_is_rebuilt_from(tmp_path, ratio):
    """Nothing else reads one of its parts in the backward pass."""
    text, plan = tmp_path / "small_unet.tpm", tmp_path / "plan.json"
    text.write_text(SMALL_UNET)
    command = [PROGRAM, "model", "plan", text, "--batch", "16", "--ratio", str(ratio), "-o", plan]
    subprocess.run(command, check=True, capture_output=True)
    rules = json.loads(plan.read_text())["by_name"]
    assert rules["cat"] == {"codec": "rebuild"}
    torch.manual_seed(0)
    exact = emit(tmp_path, SMALL_UNET, "--plan", "off").Step()
    planned = emit(tmp_path, SMALL_UNET, "--plan", str(plan)).Step()
    planned.load_state_dict(exact.state_dict())
    batch = torch.randn(16, 3, 16, 16), torch.randn(16, 3, 16, 16)
    for step in (exact, planned):
        step(*batch)
        step.backward()
    for mine, other in zip(planned.parameters(), exact.parameters(), strict=True):
        assert F.cosine_similarity(mine.grad.flatten(), other.grad.flatten(), 0) > 0.99


# --- Memory ---------------------------------------------------------------------------------------

AT_THE_PEAK = {
    "attention": "q, k, v = chunk(b: linear(h, 768), 3)\nh = attention(q, k, v, 4, dropout = 0.1)",
    "leaky_relu": "h = leaky_relu(h)",
    "relu6": "h = relu6(h)",
    "where": "h = where(h > 0, h, otherwise = 0)",
    "sum": "h = h * sum(h, [1], true)",
    "expand": "h = h * expand(slice(h, 1, 0, 1), h)",
    "slice": "h = relu(slice(cat([h, h], 1), 1, 0, 64) * 2)",
}


@pytest.mark.parametrize("plan", ["off", "lossless", "balanced"])
@pytest.mark.parametrize("case", AT_THE_PEAK)
def test_the_predicted_peak_is_measured(tmp_path, case, plan):
    text = (
        "input x: f32[N, 64, 256]\ntarget t: f32[N, 64, 64]\nh = a: linear(x, 256)\n"
        f"{AT_THE_PEAK[case]}\nloss mse_loss(c: linear(h, 64), t)\n"
    )
    module = emit(tmp_path, text, "--plan", plan, "--batch", "32")
    predicted = int(re.search(r"peak of everything else: (\d+) bytes", module.source).group(1))
    step, inputs = module.Step(), (torch.randn(32, 64, 256), torch.randn(32, 64, 64))
    for _ in range(2):  # the first pass allocates what PyTorch keeps
        step.zero_grad(set_to_none=True)
        with measured_peak(step) as peaks:
            step(*inputs)
            step.backward()
    measured = peaks[0].activations_and_gradients + sum(each.nbytes for each in inputs)
    assert predicted == pytest.approx(measured, rel=0.06)
