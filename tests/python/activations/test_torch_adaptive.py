"""Adaptive codecs: the target is kept, exact training is not disturbed, divergence is noticed."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from emitted import emit
from torch import nn

from tensorpress.torch import Adaptive, AdaptiveStep, compress_activations
from tensorpress.torch.activations.adaptive import LADDER, choose_for_score


def network():
    torch.manual_seed(5)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(16 * 64, 10),
    )


def batches(count):
    generator = torch.Generator().manual_seed(6)
    for _ in range(count):
        x = torch.randn(16, 3, 8, 8, generator=generator)
        yield x, (x.mean((1, 2, 3)) * 40 + 5).clamp(0, 9).long()


def losses(model, step, count):
    torch.manual_seed(7)
    found = []
    for x, y in batches(count):
        found.append(float(step(lambda x=x, y=y: F.cross_entropy(model(x), y))))
    return found


def plain_losses(count):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)

    def step(closure):
        optimizer.zero_grad()
        loss = closure()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return losses(model, step, count)


def test_the_choice_is_as_small_as_any_of_its_mean_score_allows():
    sizes = {"a": [100, 50, 25], "b": [100, 50, 25], "c": [10, 5, 2]}
    scores = {"a": [1, 0.9, 0.8], "b": [1, 0.99, 0.95], "c": [1, 0.5, 0.2]}
    for target in (1.0, 0.99, 0.95, 0.9):
        choice = choose_for_score(sizes, scores, target, 0.6)
        mean = sum(scores[name][place] for name, place in choice.items()) / 3
        assert mean >= target - 1e-9
        assert choice["c"] == 0  # below the least
        size = sum(sizes[name][place] for name, place in choice.items())
        best = min(
            sum(sizes[name][place] for name, place in zip(sizes, places, strict=True))
            for places in itertools.product(range(3), repeat=3)
            if sum(scores[name][place] for name, place in zip(sizes, places, strict=True)) / 3
            >= target - 1e-9
            and all(scores[name][place] >= 0.6 for name, place in zip(sizes, places, strict=True))
        )
        assert size == best, target


def test_a_target_of_one_trains_as_without():
    model = network()
    adaptive = Adaptive(model, target=1.0, every=4, guard_steps=2)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    found = losses(model, lambda closure: adaptive.step(optimizer, closure), 6)
    assert found == plain_losses(6)
    assert adaptive.fallbacks == 0


def test_the_mean_score_stays_at_the_target_and_bytes_are_won():
    model = network()
    adaptive = Adaptive(model, target=0.9, every=5, guard_steps=0)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    found = losses(model, lambda closure: adaptive.step(optimizer, closure), 6)
    assert 0.9 <= adaptive.mean_score < 1
    assert any(place > 0 for place in adaptive.choice.values())
    assert all(0 <= each <= 1 for row in adaptive.scores.values() for each in row.values())
    assert found[0] == plain_losses(1)[0]  # forward is exact; only gradients change


def test_values_that_two_functions_save_are_compressed_as_the_plan_says():
    """A ReLU and the convolution after it; the batch is kept, and not in the plan."""
    torch.manual_seed(5)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 3)
    )
    adaptive = Adaptive(model, target=0.9, guard_steps=0)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x = torch.randn(16, 3, 32, 32)
    adaptive.step(optimizer, lambda: model(x).square().mean())
    assert set(adaptive.choice) == {"1:relu", "3:relu"}
    assert all(each < 1 for row in adaptive.scores.values() for each in row.values())
    with compress_activations(model, adaptive.plan) as run:
        model(x).sum().backward()
    stored = {each.name: each.codec for each in run.report().activations}
    for name, place in adaptive.choice.items():
        assert place > 0 and stored[name] == f"sign + {LADDER[place].describe()}"


def test_a_diverging_loss_makes_everything_exact(monkeypatch):
    model = network()
    adaptive = Adaptive(model, target=0.9, every=50, guard_steps=2, tolerance=0.01)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    train = adaptive._train

    def ruined(optimizer, closure, plan):
        loss = train(optimizer, closure, plan)
        return loss if plan == "off" else loss + 1  # as if the codecs had cost a whole unit

    monkeypatch.setattr(adaptive, "_train", ruined)
    losses(model, lambda closure: adaptive.step(optimizer, closure), 3)
    assert adaptive.fallbacks == 1
    assert adaptive.target == pytest.approx(0.95)
    assert set(adaptive.choice.values()) == {0}


def test_a_batch_that_fails_leaves_the_weights_that_were_there():
    """In the guard's steps a copy without codecs takes the model's place for a while."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    adaptive = Adaptive(model, target=0.5, every=9)
    ((images, labels),) = batches(1)
    adaptive.step(optimizer, lambda: F.cross_entropy(model(images), labels))
    before = {name: each.clone() for name, each in model.state_dict().items()}

    def fails():
        raise KeyError("a picture is missing")

    with pytest.raises(KeyError):
        adaptive.step(optimizer, fails)
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())


def test_senseless_settings_are_refused():
    for wrong in ({"target": 1.5}, {"least": -1}, {"every": 0}, {"tolerance": float("nan")}):
        with pytest.raises(ValueError):
            Adaptive(network(), **wrong)
    assert [codec.describe() for codec in LADDER[:2]] == ["keep", "quantize bits=8"]


TEXT = """
model net
input x: f32[N, 3, 8, 8]
target y: i64[N]
h = relu(bn: batch_norm(conv1: conv2d(x, 16, 3, padding = 1)))
h = relu(conv2: conv2d(h, 16, 3, padding = 1))
h = fc: linear(flatten(h), 10)
loss cross_entropy(h, y)
"""


def adaptive_step(tmp_path, **options):
    plan = tmp_path / "plan.json"
    plan.write_text('{"level": "balanced", "min_bytes": 0, "exact_2d_bytes": 0}')
    torch.manual_seed(5)
    step = emit(tmp_path, TEXT, "--plan", str(plan), "--adaptive").Step()
    optimizer = torch.optim.SGD(step.parameters(), 0.05, momentum=0.9)
    return step, optimizer, AdaptiveStep(step, **options)


def test_an_emitted_step_trains_exactly_at_target_1(tmp_path):
    _, optimizer, adaptive = adaptive_step(tmp_path, target=1.0, every=3)
    torch.manual_seed(5)
    plain = emit(tmp_path, TEXT).Step()
    other = torch.optim.SGD(plain.parameters(), 0.05, momentum=0.9)
    for x, y in batches(4):
        loss = adaptive.step(optimizer, x, y)
        other.zero_grad()
        expected = plain(x, y)
        plain.backward()
        other.step()
        torch.testing.assert_close(loss, expected)
    assert set(adaptive.plan.values()) == {32}


def test_an_emitted_step_is_stored_in_fewer_bits_where_the_score_allows(tmp_path):
    step, optimizer, adaptive = adaptive_step(tmp_path, target=0.97, least=0.5, every=4)
    for x, y in batches(6):
        adaptive.step(optimizer, x, y)
    assert adaptive.mean_score >= 0.97
    assert min(adaptive.plan.values()) <= 4
    assert step.bits == adaptive.plan


def test_an_emitted_step_falls_back_when_its_loss_is_judged_too_high(tmp_path):
    _, optimizer, adaptive = adaptive_step(tmp_path, target=0.2, least=0.0, every=6, guard_steps=3)
    adaptive.tolerance = -1.0  # no loss is low enough
    for x, y in batches(3):
        adaptive.step(optimizer, x, y)
    assert adaptive.fallbacks == 1
    assert adaptive.target == pytest.approx(0.6)
    assert set(adaptive.plan.values()) == {32}


def test_a_step_without_bits_is_refused(tmp_path):
    with pytest.raises(ValueError, match="--adaptive"):
        AdaptiveStep(emit(tmp_path, TEXT).Step())
