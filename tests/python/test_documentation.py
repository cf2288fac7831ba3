"""Examples run as they are written: in docstrings, in the guide and in examples/."""

import doctest
import importlib
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

import tensorpress

MODULES = [
    "tensorpress",
    "tensorpress._codec",
    "tensorpress._compression",
    "tensorpress._reader",
    "tensorpress.zarr",
    "tensorpress.numcodecs",
]
WITH_EXAMPLES = [
    "Codec",
    "Reader",
    "codecs",
    "compress",
    "decompress",
    "info",
    "open",
    "show_config",
    "verify",
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_print_what_they_say(name, tpz, field):
    module = importlib.import_module(name)
    names = {"tensorpress": tensorpress, "field": field, "path": tpz, "numpy": np}
    result = doctest.testmod(module, extraglobs=names)
    assert result.failed == 0


def test_every_public_name_has_an_example():
    for name in WITH_EXAMPLES:
        assert ">>> " in getattr(tensorpress, name).__doc__, name


def test_the_guide_runs_as_written(tmp_path):
    """All python blocks of the guide, one after the other, in an empty folder."""
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "guide" / "python.md").read_text(), re.DOTALL
    )
    assert len(blocks) >= 6
    (tmp_path / "guide.py").write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "guide.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_example_with_zarr_and_dask_keeps_its_bound(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "zarr_dask.py", tmp_path, "--workers", "2"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "land kept" in done.stdout
