"""Dropout that follows from a seed: its share, and that nothing but seed and place decide."""

import pytest
import torch

from tensorpress.torch.packing.seeded_dropout import dropout_

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_so_many_stay_and_the_mean_too(keep):
    dropped = dropout_(torch.ones(1_000_001), keep, 7)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / keep])
    deviation = (keep * (1 - keep) / 1e6) ** 0.5
    assert (dropped != 0).float().mean().item() == pytest.approx(keep, abs=5 * deviation)


def test_everything_may_stay():
    values = torch.randn(5)
    assert torch.equal(dropout_(values.clone(), 1.0, 7), values)


def test_seeds_choose_independently():
    kept = torch.stack([dropout_(torch.ones(100_000), 0.5, seed) != 0 for seed in range(-2, 6)])
    signs = 2 * kept.float() - 1
    likeness = signs @ signs.T / signs.shape[1]
    assert (likeness - torch.eye(len(signs))).abs().max() < 0.02
    for shift in (1, 2, 3, 64):  # nor is one the other, shifted
        assert (signs[2, shift:] * signs[3, :-shift]).mean().abs() < 0.02


def test_places_decide_and_not_threads_strides_or_types():
    shape = (301, 1000)
    expected = dropout_(torch.ones(shape), 0.75, 11)
    torch.set_num_threads(2)
    assert torch.equal(dropout_(torch.ones(shape), 0.75, 11), expected)
    assert torch.equal(dropout_(torch.ones(shape[::-1]).t(), 0.75, 11), expected)
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        other = dropout_(torch.ones(shape, dtype=dtype), 0.75, 11)
        assert torch.equal(other != 0, expected != 0) and other.dtype == dtype


@pytest.mark.parametrize("keep", [0.0, -1.0, 1.5, float("nan")])
def test_a_share_that_cannot_be_kept_is_refused(keep):
    with pytest.raises(ValueError, match="cannot be kept"):
        dropout_(torch.ones(4), keep, 1)
