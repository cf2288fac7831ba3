"""Random graphs of operators that share values, memory and shapes: gradients are autograd's."""

import random

import pytest
import torch
import torch.nn.functional as F
from emitted import emit

TOKENS, FEATURES = 4, 6

# Lines that make one tensor of [N, 4, 6] from others, and the same in PyTorch.
MAKERS = {
    "{a} + {b}": lambda a, b: a + b,
    "{a} - {b} * 0.5": lambda a, b: a - b * 0.5,
    "{a} * tanh({b})": lambda a, b: a * torch.tanh(b),
    "relu({a})": lambda a, b: F.relu(a),
    "leaky_relu({a}, 0.3)": lambda a, b: F.leaky_relu(a, 0.3),
    "hardtanh({a}, low = -0.4, high = 0.3)": lambda a, b: F.hardtanh(a, -0.4, 0.3),
    "gelu({a})": lambda a, b: F.gelu(a),
    "exp({a} * 0.1)": lambda a, b: torch.exp(a * 0.1),
    "sqrt({a} * {a} + 0.1)": lambda a, b: torch.sqrt(a * a + 0.1),
    "pow({a}, 2) * 0.3": lambda a, b: a.pow(2) * 0.3,
    "where({a} > {b}, {a}, {b})": lambda a, b: torch.where(a > b, a, b),
    "masked_fill({a}, {b} < 0, 0.2)": lambda a, b: a.masked_fill(b < 0, 0.2),
    "{a} + sum({b}, [1], true)": lambda a, b: a + b.sum([1], True),
    "{a} - mean({b}, [-1], true)": lambda a, b: a - b.mean([-1], True),
    "expand(slice({a}, 1, 1, 2), {b})": lambda a, b: a[:, 1:2].expand_as(b),
    "cat([slice({a}, 1, 2), slice({b}, 1, stop = 2)])": lambda a, b: torch.cat(
        [a[:, 2:], b[:, :2]], 1
    ),
    "permute(permute({a}, [0, 2, 1]) * 2, [0, 2, 1])": lambda a, b: (a.mT * 2).mT,
    "squeeze(slice(stack([{a}, {b}], 2), 2, 1), 2)": lambda a, b: torch.stack([a, b], 2)[:, :, 1],
    "reshape(relu(reshape({a}, [0, -1])), [0, 4, 6])": lambda a, b: F.relu(a.flatten(1)).view_as(a),
    "attention({a}, {b}, {a}, 2)": lambda a, b: attention(a, b, a),
    "attention(relu({a}), {a}, {b}, 2, causal = true)": lambda a, b: attention(
        F.relu(a), a, b, is_causal=True
    ),
    "linear": lambda a, b, weight: F.linear(a, weight),
    "softmax({a})": lambda a, b: F.softmax(a, -1),
}


def attention(q, k, v, **options):
    q, k, v = (t.unflatten(2, (2, -1)).transpose(1, 2) for t in (q, k, v))
    y = F.scaled_dot_product_attention(q, k, v, **options)
    return y.transpose(1, 2).flatten(2)


def random_graph(seed, operations=14):
    """Text, and its loss from parameters and x."""
    chance = random.Random(seed)
    lines, steps = [], []
    for i in range(operations):
        form = chance.choice(list(MAKERS))
        # Mostly what was made last, so that chains grow; but also what is long ago.
        a, b = (i - min(i, int(chance.expovariate(0.7))) for _ in range(2))
        steps.append((form, a, b))
        if form == "linear":
            lines.append(f"h{i + 1} = l{i}: linear(h{a}, 6, bias = false)")
        else:
            lines.append(f"h{i + 1} = " + form.format(a=f"h{a}", b=f"h{b}"))
    used = {i for form, a, b in steps for i in ((a, b) if "{b}" in form else (a,))}
    ends = [i + 1 for i in range(operations) if i + 1 not in used] or [operations]
    for i in ends:  # everything is used
        lines.append(f"h0 = h0 + tanh(h{i})")
    text = f"input x: f32[N, {TOKENS}, {FEATURES}]\nparam w: f32[{FEATURES}] = 0.5\nh0 = x * w\n"
    text += "\n".join(lines) + "\nloss mean(flatten(h0 * h0, 0), 0)\n"

    def loss(P, x):
        made = [x * P["w"]]
        for i, (form, a, b) in enumerate(steps):
            extra = [P[f"l{i}.weight"]] if form == "linear" else []
            made.append(MAKERS[form](made[a], made[b], *extra))
        total = made[0]
        for i in ends:
            total = total + torch.tanh(made[i])
        return (total * total).flatten().mean(0)

    return text, loss


def check(tmp_path, seed, *options, exact_bits=False):
    """The text, and pairs of gradients: emitted, and autograd's. `exact_bits`: what is to be packed
    waits as it is, by the same lines."""
    text, loss = random_graph(seed)
    module = emit(tmp_path, text, *options)
    if exact_bits:
        module.pack_bits = lambda x, *arguments: x.clone()
    dtype = torch.float64
    step = module.Step().to(dtype)
    generator = torch.Generator().manual_seed(seed)
    for parameter in step.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator).to(dtype)
    x = torch.randn(50, TOKENS, FEATURES, generator=generator).to(dtype)
    P = {n: p.detach().clone().requires_grad_() for n, p in step.named_parameters()}
    expected = loss(P, x)
    expected.backward()
    torch.testing.assert_close(step(x), expected.detach())
    step.backward()
    return text, {n: (p.grad, P[n].grad) for n, p in step.named_parameters()}


@pytest.mark.parametrize("options", [("off",), ("lossless",), ("lossless", "--portable")])
@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_have_the_gradients_of_autograd(tmp_path, seed, options):
    text, gradients = check(tmp_path, seed, "--plan", *options)
    rough = 1e-5 if "--portable" in options else 1e-9
    for name, (mine, other) in gradients.items():
        torch.testing.assert_close(mine, other, rtol=rough, atol=rough, msg=f"{name} of\n{text}")


@pytest.mark.parametrize("plan", ["safe", "max"])
@pytest.mark.parametrize("seed", range(8))
def test_lines_of_lossy_plans_lose_nothing_besides_what_is_packed(tmp_path, seed, plan):
    """At a batch of 1000 every value is large enough to be packed."""
    options = ("--plan", plan, "--batch", "1000")
    text, gradients = check(tmp_path, seed, *options, exact_bits=True)
    for name, (mine, other) in gradients.items():
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-9, msg=f"{name} of\n{text}")
