"""The words of the filter: those of Python are those of the program."""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import ROOT

from tensorpress.hdf5 import Filter

PROGRAM = pathlib.Path(os.environ.get("TENSORPRESS", ROOT / "build/bin/tensorpress"))

BOUNDS = {
    "absolute": "--abs",
    "relative": "--rel",
    "pointwise_relative": "--pw-rel",
    "psnr": "--psnr",
}
SETTINGS = [
    *(
        {"codec": codec, bound: 0.25}
        for codec in ("dense", "ceresz", "ceresz2")
        for bound in BOUNDS
    ),
    *({"absolute": 1e-3, "effort": effort} for effort in ("fast", "normal", "best")),
    *({"codec": "ceresz2", "relative": 1, "codebook": book} for book in ("default", "dynamic")),
    {"codec": "dct-chop"},
    *({"cf": cf} for cf in range(1, 9)),
    *({"cf": cf, "transform": "zfp"} for cf in range(1, 5)),
    *({"layout": layout} for layout in ("square", "triangle")),
    *({"transform": transform} for transform in ("dct", "zfp")),
    *({"coefficients": coefficients} for coefficients in ("f32", "bf16", "f16")),
    {"cf": 3, "layout": "triangle", "transform": "zfp", "coefficients": "f16"},
    {"absolute": 0.1, "fill_values": [-1e34, 0, -999.25], "threads": 7},
    {"cf": 2, "fill_values": [-999]},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_python_gives_the_words_that_the_program_prints(settings):
    options = []
    for name, value in settings.items():
        if name == "fill_values":
            options += [word for fill in value for word in ("--fill", str(fill))]
        elif name == "threads":
            options += ["--filter-threads", str(value)]
        else:
            options += [BOUNDS.get(name, f"--{name}"), str(value)]
    printed = subprocess.run(
        [PROGRAM, "hdf5", "args", "--json", *options], capture_output=True, check=True, text=True
    )
    assert list(Filter(**settings).filter_options) == json.loads(printed.stdout)["values"]


def test_one_fill_value_need_not_be_a_list():
    one, several = (Filter(absolute=1, fill_values=fill) for fill in (-999, [-999]))
    assert one.filter_options == several.filter_options
