"""Examples run as they are written: in docstrings, in the guide and in examples/."""

import doctest
import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import PROGRAM, ROOT, python_blocks

import tensorpress

MODULES = [
    "tensorpress",
    "tensorpress._codec",
    "tensorpress._compression",
    "tensorpress._reader",
    "tensorpress.zarr",
    "tensorpress.numcodecs",
    "tensorpress.torch",
    "tensorpress.torch.activations",
    "tensorpress.torch.budget",
    "tensorpress.torch.checkpoint",
    "tensorpress.torch.chop",
    "tensorpress.torch.data.dataset",
    "tensorpress.torch.data.loader",
    "tensorpress.torch.gradients",
    "tensorpress.torch.graph",
    "tensorpress.torch.model_text",
    "tensorpress.torch.plan",
    "tensorpress.torch.scores",
    "tensorpress.torch.tensor_codecs",
    "tensorpress.onnx",
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


# With the least number of blocks that each has, so that none gets lost.
PAGES = [
    ("README.md", 2),
    ("docs/guide/accelerators.md", 1),
    ("docs/guide/activations.md", 4),
    ("docs/guide/checkpoints-and-gradients.md", 5),
    ("docs/guide/model-compiler.md", 6),
    ("docs/guide/python.md", 6),
    ("docs/guide/training-data.md", 5),
]


@pytest.mark.parametrize("page, blocks", PAGES)
def test_the_python_examples_of_a_page_run_as_written(tmp_path, page, blocks):
    """All of them, one after the other, in an empty folder."""
    assert len(python_blocks(page)) >= blocks
    (tmp_path / "page.py").write_text("\n".join(python_blocks(page)))
    program = {"TENSORPRESS": str(PROGRAM.absolute())}
    # Threads that wait for each other are slow where others compute too.
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, **program, "OMP_NUM_THREADS": "1"},
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
