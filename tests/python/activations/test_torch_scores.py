"""The score of a stored activation against its definition, and measured on an emitted step."""

import math

import pytest
import torch
from emitted import emit

from tensorpress.torch import measure_activations
from tensorpress.torch.scores import LEVELS, ONE_BIT, dct_energy, least_score, score, zeros

SMALL = """
model small
input x: f32[N, 3, 16, 16]
target y: i64[N]
h = conv1: conv2d(x, 8, 3, padding = 1)
h = relu(h)
h = conv2: conv2d(h, 8, 3, padding = 1)
h = relu(h)
h = fc: linear(flatten(h), 10)
loss cross_entropy(h, y)
"""


def test_a_shrunk_gradient_scores_by_its_length():
    exact = torch.randn(1000, generator=torch.Generator().manual_seed(1))
    for factor in (1.0, 0.9, 0.5, 1.2):
        error = (1 - factor) ** 2
        expected = min(1 - abs(1 - factor), 1 / (1 + error / 2))
        assert score(exact, factor * exact) == pytest.approx(expected, abs=1e-6)
    assert score(exact, -exact) == 0
    assert score(exact, 3 * exact) == 0


def test_noise_across_the_gradient_scores_by_its_energy():
    exact = torch.zeros(100)
    exact[0] = 2.0
    lossy = exact.clone()
    lossy[1:] = 0.1  # at a right angle: the projection stays 1
    error = 99 * 0.1**2 / 2.0**2
    assert score(exact, lossy) == pytest.approx(1 / (1 + error / 2), rel=1e-6)


def test_bias_scores_worse_than_noise_of_the_same_size():
    generator = torch.Generator().manual_seed(2)
    exact = torch.randn(100_000, generator=generator)
    noise = torch.randn(100_000, generator=generator)
    assert score(exact, exact + 0.3 * noise) > score(exact, 0.7 * exact) + 0.2


def test_gradients_that_are_zero_or_not_finite_have_a_score():
    nothing = torch.zeros(4)
    assert score(nothing, nothing) == 1
    assert score(nothing, torch.ones(4)) == 0
    assert score(torch.ones(4), torch.full((4,), math.nan)) == 0
    assert score(torch.ones(4), torch.full((4,), math.inf)) == 0


def test_the_worst_parameter_decides_unless_its_gradient_is_rounding():
    exact = {"w": torch.ones(4), "b": torch.ones(2)}
    assert least_score(exact, {"w": torch.ones(4), "b": 0.5 * torch.ones(2)}) == 0.5
    exact["b"] = torch.full((2,), 1e-9)
    assert least_score(exact, {"w": torch.ones(4), "b": -exact["b"]}) == 1


def test_energy_and_zeros_of_known_tensors():
    assert zeros(torch.tensor([0.0, 1.0, 0.0, -0.0])) == 0.75
    assert dct_energy(torch.ones(2, 3, 16, 24)) == pytest.approx(1)
    white = torch.randn(50, 4, 16, 16, generator=torch.Generator().manual_seed(3))
    assert dct_energy(white) == pytest.approx(0.25, abs=0.01)  # 16 of 64 coefficients
    place = torch.arange(8.0)
    highest = torch.cos((2 * place + 1) * 7 * math.pi / 16)
    assert dct_energy(highest.outer(highest)) == pytest.approx(0, abs=1e-12)
    assert dct_energy(torch.ones(5, 7)) is None


def test_an_emitted_step_is_measured_and_left_as_it_was(tmp_path):
    torch.manual_seed(4)
    step = emit(tmp_path, SMALL, "--plan", "balanced").Step()
    x, y = torch.randn(6, 3, 16, 16), torch.randint(10, (6,))
    before = torch.ones_like(step.fc.bias)
    step.fc.bias.grad = before
    activations = measure_activations(step, x, y)["activations"]
    assert step.fc.bias.grad is before and step.conv1.weight.grad is None
    assert {"relu", "relu_2"} <= set(activations)
    for each in activations.values():
        scores = [each["scores"][level] for level in LEVELS]
        assert scores == sorted(scores, reverse=True)  # fewer bits, less score
        assert scores[0] > 0.999 and 0.5 < scores[-1] < 1
    assert 0.3 < activations["relu"]["zeros"] < 0.7
    # The definition, by hand: only the weight gradient of conv2 reads the packed relu.
    values = torch.relu(
        torch.nn.functional.conv2d(x, step.conv1.weight, step.conv1.bias, padding=1)
    )
    assert activations["relu"]["zeros"] == pytest.approx(float((values == 0).double().mean()))


def test_only_packing_steps_can_be_measured(tmp_path):
    step = emit(tmp_path, SMALL, "--plan", "off").Step()
    with pytest.raises(ValueError, match="--plan balanced"):
        measure_activations(step, torch.randn(2, 3, 16, 16), torch.randint(10, (2,)))
    with pytest.raises(ValueError, match="quantize 3 bits"):
        measure_activations(step, levels=["quantize 3 bits"])


def test_several_batches_give_the_mean_of_each(tmp_path):
    torch.manual_seed(5)
    step = emit(tmp_path, SMALL, "--plan", "balanced").Step()
    batches = [(torch.randn(6, 3, 16, 16), torch.randint(10, (6,))) for _ in range(3)]
    single = [measure_activations(step, *each)["activations"] for each in batches]
    together = measure_activations(step, (each for each in batches))["activations"]
    for name, found in together.items():
        for level in LEVELS:
            mean = sum(each[name]["scores"][level] for each in single) / 3
            assert found["scores"][level] == pytest.approx(mean, rel=1e-12)
        for key in ("zeros", "dct_energy"):
            assert found[key] == pytest.approx(sum(each[name][key] for each in single) / 3)
    assert len({each["relu"]["zeros"] for each in single}) == 3  # there was something to average
    with pytest.raises(ValueError, match="no batch"):
        measure_activations(step, [])


def test_one_bit_is_measured_when_asked_for(tmp_path):
    torch.manual_seed(6)
    step = emit(tmp_path, SMALL, "--plan", "balanced").Step()
    x, y = torch.randn(6, 3, 16, 16), torch.randint(10, (6,))
    found = measure_activations(step, x, y, levels=[*LEVELS, ONE_BIT])["activations"]
    for each in found.values():
        assert each["scores"][ONE_BIT] < each["scores"]["quantize 2 bits stochastic"]
    assert ONE_BIT not in measure_activations(step, x, y)["activations"]["relu"]["scores"]
