"""Gradients of a policy beside exact ones, and the warning where batch norms suffer."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from tensorpress.torch import compare_gradients


def expanding(channels):
    """As in MobileNet: wide inside, one filter a channel, a batch norm behind each convolution."""
    wide = 6 * channels
    return nn.Sequential(
        *(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU()),
        *(nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), nn.BatchNorm2d(wide)),
        *(nn.SiLU(), nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels)),
    )


def small_mobilenet():
    torch.manual_seed(0)
    blocks = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *(expanding(16) for _ in range(3)))
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    x, labels = torch.randn(8, 3, 16, 16), torch.randint(10, (8,))
    return model, lambda: nn.functional.cross_entropy(model(x), labels)


def test_batch_norms_that_suffer_get_a_warning_and_a_plan_that_helps():
    model, loss = small_mobilenet()
    with pytest.warns(RuntimeWarning, match="parameters of batch norms are far from exact"):
        found = compare_gradients(model, loss, "max")
    assert found.suffering[0].cosine < 0.9 and found.suffering[0].module == "BatchNorm2d"
    assert found.advice["by_type"] == {"BatchNorm2d": {"codec": "quantize", "bits": 6}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better = compare_gradients(model, loss, found.advice)
    assert better.advice is None  # the plan says what they have
    worst = {each.name: each.cosine for each in found.suffering}
    cosines = {each.name: each.cosine for each in better.parameters}
    assert sum(cosines[name] for name in worst) > 1.2 * sum(worst.values())


def test_nothing_is_said_where_gradients_are_near():
    model, loss = small_mobilenet()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare_gradients(model, loss, "safe")
    assert found.cosine > 0.999 and found.error < 0.05 and not found.suffering
    assert found.parameters == sorted(found.parameters, key=lambda each: each.cosine)
    assert "cosine" in str(found)


def test_off_has_the_same_gradients_and_everything_is_left_as_it_was():
    model, loss = small_mobilenet()
    loss().backward()
    before = {name: each.grad.clone() for name, each in model.named_parameters()}
    buffers = {name: each.clone() for name, each in model.named_buffers()}
    state = torch.get_rng_state()
    found = compare_gradients(model, lambda: nn.functional.dropout(loss().expand(64)).sum(), "off")
    assert found.error == 0
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(each.grad, before[name]) for name, each in model.named_parameters())
    assert all(torch.equal(each, buffers[name]) for name, each in model.named_buffers())


def test_a_loss_without_parameters_is_an_error():
    model = nn.Linear(4, 4)
    x = torch.randn(4, 4, requires_grad=True)
    with pytest.raises(ValueError, match="reaches no parameter"):
        compare_gradients(model, lambda: x.square().sum())
