"""Examples run as they are written: in docstrings and in examples/."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

import tensorpress

MODULES = ["tensorpress"] + [
    module.name
    for module in pkgutil.walk_packages(tensorpress.__path__, "tensorpress.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_print_what_they_say(
    name, tpz, field, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # some write files
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if not name.startswith("tensorpress.torch.clients."):
            raise
        pytest.skip(str(error))
    names = {"tensorpress": tensorpress, "field": field, "path": tpz, "numpy": np}
    result = doctest.testmod(module, extraglobs=names)
    assert result.failed == 0


def test_every_public_function_and_class_has_an_example():
    for name in tensorpress.__all__:
        found = getattr(tensorpress, name)
        if callable(found) and not (isinstance(found, type) and issubclass(found, Exception)):
            assert ">>> " in found.__doc__, name


def test_the_example_with_zarr_and_dask_keeps_its_bound(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "zarr_dask.py", tmp_path, "--workers", "2"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "land kept" in done.stdout
