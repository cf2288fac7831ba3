"""Compressing again what was compressed before: the bound holds against the first values."""

import numpy as np
import pytest
from conftest import error_of, waves

import tensorpress


@pytest.fixture
def first():
    return 10 * waves((40, 50), "float64")


def test_the_rest_of_an_absolute_bound_is_used(first):
    earlier = tensorpress.compress(first, absolute=0.05)
    copy = tensorpress.decompress(earlier)
    stream = tensorpress.compress(copy, absolute=0.07, earlier_error=0.05)
    again = tensorpress.decompress(stream)
    assert error_of(again, first) <= 0.07
    assert 0 < error_of(again, copy) <= 0.02 + 1e-9
    assert tensorpress.verify(first, stream)["ok"] and tensorpress.verify(copy, stream)["ok"]


def test_the_history_of_a_stream_says_how_much_was_lost(first):
    earlier = tensorpress.compress(first, absolute=0.05)
    assert tensorpress.info(earlier)["history"] == "dense abs 0.05"
    copy = tensorpress.decompress(earlier)
    history = tensorpress.info(earlier)["history"]
    stream = tensorpress.compress(copy, "ceresz", absolute=0.07, earlier_error=history)
    assert error_of(tensorpress.decompress(stream), first) <= 0.07
    steps = tensorpress.info(stream)["history"].split("; ")
    assert steps[0] == "dense abs 0.05" and steps[1].startswith("ceresz abs 0.0")
    # A third step counts both.
    third = tensorpress.compress(
        tensorpress.decompress(stream),
        absolute=0.1,
        earlier_error=tensorpress.info(stream)["history"],
    )
    assert error_of(tensorpress.decompress(third), first) <= 0.1
    assert len(tensorpress.info(third)["history"].split("; ")) == 3
    assert tensorpress.verify(first, third)["ok"]


def test_a_relative_bound_is_of_the_first_values_range(first):
    copy = tensorpress.decompress(tensorpress.compress(first, absolute=0.01))
    stream = tensorpress.compress(copy, relative=1e-2, earlier_error=0.01)
    assert error_of(tensorpress.decompress(stream), first) <= 1e-2 * np.ptp(first)


def test_a_pointwise_bound_counts_a_pointwise_error(first):
    earlier = tensorpress.compress(first, pointwise_relative=0.01)
    stream = tensorpress.compress(
        tensorpress.decompress(earlier), pointwise_relative=0.03, earlier_error=0.01
    )
    assert (np.abs(tensorpress.decompress(stream) - first) <= 0.03 * np.abs(first)).all()
    assert tensorpress.verify(first, stream)["ok"]


@pytest.mark.parametrize(
    "keywords, words",
    [
        ({"absolute": 0.04, "earlier_error": 0.05}, "lost up to 0.05 already"),
        ({"absolute": 0.1, "earlier_error": -1}, "negative"),
        ({"absolute": 0.1, "earlier_error": float("nan")}, "finite"),
        ({"psnr": 60, "earlier_error": 0.05}, "cannot be kept"),
        ({"absolute": 0.1, "earlier_error": "dct-chop"}, "does not say how much was lost"),
        ({"absolute": 0.1, "earlier_error": "dense rel 0.1"}, "dense rel 0.1"),
    ],
)
def test_a_bound_that_cannot_be_kept_is_refused(first, keywords, words):
    with pytest.raises(ValueError, match=words):
        tensorpress.compress(first, **keywords)


def test_an_earlier_error_is_a_number_or_a_history(first):
    with pytest.raises(TypeError, match="earlier_error takes numbers"):
        tensorpress.compress(first, absolute=0.1, earlier_error=[1])


def test_codecs_of_a_fixed_rate_keep_the_history_and_no_bound(first):
    stream = tensorpress.compress(first, "dct-chop", cf=4, earlier_error="dense abs 0.05")
    assert tensorpress.info(stream)["history"] == "dense abs 0.05; dct-chop"


def test_a_strange_history_does_not_hide_a_stream(first):
    stream = tensorpress.compress(first, absolute=0.1, attributes={"tensorpress_history": "; x y"})
    assert tensorpress.info(stream)["history"] == ""
    assert tensorpress.decompress(stream).shape == first.shape
