"""The levels of tensorpress.torch and of the model compiler are one file."""

import importlib.resources

import pytest
from conftest import ROOT

pytest.importorskip("torch")

from tensorpress.torch.policy import levels


def test_the_package_has_the_file_of_the_compiler():
    ours = (importlib.resources.files(levels.__package__) / "levels.toml").read_bytes()
    assert ours == (ROOT / "src" / "model" / "policy" / "levels.toml").read_bytes()


@pytest.mark.parametrize(
    "name, linear, smooth, exponential, exact_forms",
    [
        ("off", "keep", "keep", "keep", False),
        ("lossless", "keep", "keep", "keep", True),
        ("safe", *["quantize bits=8"] * 3, True),
        ("balanced", "quantize bits=4", "quantize bits=8", "quantize bits=8", True),
        (
            "max",
            "quantize bits=2 rounding=stochastic",
            "quantize bits=4 rounding=stochastic",
            "quantize bits=8",
            True,
        ),
    ],
)
def test_the_levels_are_those_of_the_documentation(name, linear, smooth, exponential, exact_forms):
    level = levels.LEVELS[name]
    codecs = (level.linear, level.smooth, level.exponential)
    assert tuple(codec.describe() for codec in codecs) == (linear, smooth, exponential)
    assert level.exact_forms == exact_forms
    assert list(levels.LEVELS) == ["off", "lossless", "safe", "balanced", "max"]
