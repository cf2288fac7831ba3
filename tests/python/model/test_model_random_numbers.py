"""No two draws of random numbers in emitted steps are the same, and a seed decides about all."""

import itertools
import re

import torch
from emitted import emit

DRAWING = (
    "input x: f32[N, 16, 32]\ntarget t: f32[N, 16, 32]\n"
    "h = dropout(gelu(a: linear(x, 96)), 0.2)\n"
    "q, k, v = chunk(h, 3)\n"
    "h = dropout(x + attention(q, k, v, 4, dropout = 0.1), 0.2)\n"
    "repeat i in 0..3\n  h = h + (b.{i}: linear(dropout(h, 0.1), 32))\nend\n"
    "loss mse_loss(c: linear(h, 32), t)\n"
)


def draws_of(module, steps):
    """What every step draws: the seeds of dropout and of stochastic rounding."""
    drawn = []
    drop, pack = module.drop_, module.packing.quantize_pack

    def seen_drop(x, keep, seed):
        drawn[-1].append(("dropout", seed))
        return drop(x, keep, seed)

    class Packing:
        def __getattr__(self, name):
            return getattr(PACKING, name)

        def quantize_pack(self, x, bits, group, rounding, seed):
            if rounding == "stochastic":
                drawn[-1].append(("rounding", seed))
            return pack(x, bits, group, rounding, seed)

    PACKING = module.packing
    module.drop_, module.packing = seen_drop, Packing()
    step = module.Step()
    for _ in range(steps):
        drawn.append([])
        step(torch.randn(40, 16, 32), torch.randn(40, 16, 32))
        step.backward()
    return drawn


def test_no_two_draws_of_a_step_or_of_two_steps_are_the_same(tmp_path):
    torch.manual_seed(8)
    module = emit(tmp_path, DRAWING, "--plan", "max", "--batch", "40")
    steps = draws_of(module, 3)
    for drawn in steps:
        dropouts = [seed for purpose, seed in drawn if purpose == "dropout"]
        roundings = [seed for purpose, seed in drawn if purpose == "rounding"]
        assert len(roundings) == 5
        assert len(set(roundings)) == len(roundings)
        # Forward and backward draw the same noise, once each at least, and nothing else does.
        assert len(set(dropouts)) == 6
        assert all(dropouts.count(seed) >= 2 for seed in set(dropouts))
        assert not set(dropouts) & set(roundings)
    for one, two in itertools.combinations(steps, 2):
        assert not {seed for _, seed in one} & {seed for _, seed in two}


def test_a_waiting_gradient_is_not_rounded_as_its_value_was(tmp_path):
    """A value and its gradient are both packed to few bits, in one step."""
    text = (
        "input x: f32[N, 64, 64]\ntarget t: f32[N, 64, 64]\nh = a: linear(x, 64)\ns = h\n"
        "repeat i in 0..5\n  h = gelu(b.{i}: linear(h, 64))\nend\nloss mse_loss(h + s, t)\n"
    )
    source = emit(tmp_path, text, "--plan", "max", "--batch", "128").source
    seeds = re.findall(r'"stochastic", (?:seed|S\[":seed"\]) \+ (\d+)\)', source)
    assert "_waiting = pack_bits(" in source
    assert len(seeds) >= 3 and len(set(seeds)) == len(seeds), seeds


def test_the_same_manual_seed_draws_the_same(tmp_path):
    module = emit(tmp_path, DRAWING, "--plan", "max", "--batch", "40")
    step = module.Step()
    x, t = torch.randn(40, 16, 32), torch.randn(40, 16, 32)
    gradients = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        step.zero_grad()
        step(x, t)
        step.backward()
        gradients.append(step.get_parameter("a.weight").grad.clone())
    assert torch.equal(gradients[0], gradients[1])
    assert not torch.equal(gradients[0], gradients[2])


def test_compact_plans_drop_the_same_elements(tmp_path):
    """The loss is that of exact values, and depends on the plan by dropout alone."""
    x, t = torch.randn(40, 16, 32), torch.randn(40, 16, 32)
    losses = []
    for plan in ("lossless", "safe", "max"):
        step = emit(tmp_path, DRAWING, "--plan", plan, "--batch", "40").Step()
        torch.manual_seed(21)
        for parameter in step.parameters():
            parameter.data = torch.randn(parameter.shape) * 0.1
        losses.append(step(x, t))
    assert losses[0] == losses[1] == losses[2]


def test_portable_noise_of_near_seeds_is_not_shifted_or_alike(tmp_path):
    module = emit(tmp_path, DRAWING, "--portable", "--plan", "safe")
    ones = torch.ones(100_000)
    noise = [module.drop_(ones, 0.5, seed) > 0 for seed in (0, 1, 2, 8, 9, 65521, 2**40)]
    for each in noise:
        assert abs(float(each.double().mean()) - 0.5) < 0.01
    for (a, one), (b, two) in itertools.product(enumerate(noise), repeat=2):
        for shift in range(-4, 5):
            if a == b and shift == 0:
                continue
            same = (one[4:-4] == two.roll(shift)[4:-4]).double().mean()
            assert abs(float(same) - 0.5) < 0.01, (a, b, shift, float(same))


def test_the_pure_step_draws_by_the_callers_seed(tmp_path):
    module = emit(tmp_path, DRAWING, "--portable", "--plan", "lossless")
    params = {n: p.detach() for n, p in module.Step().named_parameters()}
    x, t = torch.randn(4, 16, 32), torch.randn(4, 16, 32)
    losses = [module.train_step(params, x, t, seed)[0] for seed in (0, 1, 1, torch.tensor(1))]
    assert losses[0] != losses[1]
    assert losses[1] == losses[2] == losses[3]


def test_an_exported_pure_step_takes_the_seed_as_an_input(tmp_path):
    module = emit(tmp_path, DRAWING, "--portable", "--plan", "lossless")

    class Whole(torch.nn.Module):
        def forward(self, params, x, t, seed):
            return module.train_step(params, x, t, seed)[0]

    params = {n: p.detach() for n, p in module.Step().named_parameters()}
    x, t = torch.randn(4, 16, 32), torch.randn(4, 16, 32)
    exported = torch.export.export(Whole(), (params, x, t, torch.tensor(0))).module()
    for seed in (3, 4):
        torch.testing.assert_close(
            exported(params, x, t, torch.tensor(seed)), module.train_step(params, x, t, seed)[0]
        )


def test_the_callers_seed_decides_about_portable_rounding(tmp_path):
    text = "model m\ninput x: f32[N, 512]\ntarget t: f32[N, 64]\n"
    text += "h = gelu(a: linear(x, 512))\nloss mse_loss(b: linear(h, 64), t)\n"
    module = emit(tmp_path, text, "--portable", "--plan", "max", "--batch", "1000")
    params = {n: p.detach() for n, p in module.Step().named_parameters()}
    torch.manual_seed(0)
    x, t = torch.randn(64, 512), torch.randn(64, 64)
    one, same, other = (
        module.train_step(params, x, t, seed)[1]["b.weight"] for seed in (1, torch.tensor(1), 2)
    )
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_portable_rounding_has_no_bias(tmp_path):
    module = emit(tmp_path, DRAWING, "--portable", "--plan", "max")
    x = torch.rand(1 << 16)
    found = torch.stack(
        [module.unpack_bits(module.pack_bits(x, 2, "stochastic", s), 2, x.shape) for s in range(64)]
    )
    # Steps of a third: the mean of 64 is off by at most 1/6 / 8 in one deviation.
    assert float((found.mean(0) - x).abs().max()) < 6 / 48
    assert abs(float((found.mean(0) - x).mean())) < 1e-3
