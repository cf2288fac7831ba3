"""The codec `rotated`: groups are turned before they are quantized."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn

import tensorpress.torch
from tensorpress.torch.packing.codecs import Quantize
from tensorpress.torch.packing.rotated import Rotated


def error(codec, values):
    return float((codec.store(values, seed=3).values() - values).norm() / values.norm())


@pytest.mark.parametrize("bits, rounding", [(4, "nearest"), (2, "stochastic")])
def test_products_have_half_the_error_and_normal_values_the_same(bits, rounding):
    """SwiGLU's: 0.3 in gradients of a trained network. The step follows the range of a group, which
    for 256 normal values is 5.6 deviations; products of two are wider."""
    torch.manual_seed(0)
    normal, gate = torch.randn(64, 1024), torch.randn(64, 1024)
    ratios = [
        error(Rotated(bits, rounding), values) / error(Quantize(bits, rounding=rounding), values)
        for values in (normal, (nn.functional.silu(3 * gate) * normal) ** 3)
    ]
    assert 0.95 < ratios[0] < 1.05 and ratios[1] < 0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(1,), (255,), (3, 100), (0,), (2, 2, 256)])
def test_any_shape_and_type_comes_back(shape, dtype):
    torch.manual_seed(0)
    values = torch.randn(shape).to(dtype)
    stored = Rotated(8).store(values, seed=0)
    back = stored.values()
    assert back.shape == values.shape and back.dtype == dtype and back.is_contiguous()
    assert stored.held_bytes == Rotated(8).stored_bytes(shape, dtype)
    assert torch.allclose(back.float(), values.float(), atol=0.05)


def test_stochastic_rounding_averages_out():
    torch.manual_seed(0)
    values, codec = torch.randn(512), Rotated(2, "stochastic")
    back = torch.stack([codec.store(values, seed=seed).values() for seed in range(400)])
    one, mean = (float((each - values).norm()) for each in (back[0], back.mean(0)))
    assert mean < 0.1 * one


def test_values_that_are_not_finite_are_kept():
    values = torch.randn(512)
    values[7] = float("nan")
    assert Rotated().store(values, seed=0) is None


def test_a_plan_names_it_and_gradients_are_near():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 256), nn.Linear(256, 8))
    x = torch.randn(16, 64, 128)
    plan = {"level": "lossless", "by_name": {"1": {"codec": "rotated", "bits": 6}}}
    with tensorpress.torch.compress_activations(model, plan) as run:
        model(x * 2).square().mean().backward()
    codecs = {each.name: each.codec for each in run.report().activations}
    assert "rotated bits=6" in codecs.values()
    lossy = model[1].weight.grad.clone()
    model.zero_grad()
    model(x * 2).square().mean().backward()
    assert float((lossy - model[1].weight.grad).norm()) < 0.05 * float(lossy.norm())


def test_compiled_graphs_and_wrong_bits_are_refused():
    plan = {"by_type": {"Linear": {"codec": "rotated", "bits": 4}}}
    with pytest.raises(ValueError, match="compiled graphs have no operator for codec rotated"):
        tensorpress.torch.compile(nn.Linear(4, 4), plan)
    with pytest.raises(ValueError, match="bits=7"):
        Rotated(7)
