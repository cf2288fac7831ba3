"""Compressed activations in the code that Inductor makes, in processes of their own with a cache of
their own: what is compiled once is not compiled again."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

SCRIPT = """
import json, sys
import torch
from small_networks import gradients_of, network_and_batch, relative_error
import tensorpress.torch

name, *levels = sys.argv[1:]
model, x, y = network_and_batch(name)
model.eval()
exact = gradients_of(model, model, x, y)
found, plain = {}, None
for level in levels:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    if level == "plain":
        run = torch.compile(model)
        plain = gradients_of(model, run, x, y)
        continue
    if level.startswith("options "):
        level = level.removeprefix("options ")
        run = torch.compile(model, options=tensorpress.torch.compile_options(level))
        report = tensorpress.torch.compiled_report
    else:
        run = tensorpress.torch.compile(model, level)
        report = lambda: tensorpress.torch.compiled_report(run)
    gradients = gradients_of(model, run, x, y)
    counters = torch._dynamo.utils.counters
    found[level] = {
        "error": relative_error(gradients, exact),
        "as plain": plain and all(torch.equal(gradients[key], plain[key]) for key in plain),
        "hits": counters["aot_autograd"]["autograd_cache_hit"],
        "misses": counters["aot_autograd"]["autograd_cache_miss"],
        "saved": report().saved_bytes,
        "stored": report().stored_bytes,
        "names": [each.name for each in report().activations],
    }
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    cache = tmp_path_factory.mktemp("inductor")

    def started(*arguments):
        here = pathlib.Path(__file__).resolve().parents[1]
        paths = [str(here), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": str(cache),
            "OMP_NUM_THREADS": "1",  # several add up in another order each time
            "PYTHONPATH": os.pathsep.join(paths),
        }
        command = [sys.executable, "-c", SCRIPT, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return started


def test_off_is_plain_compile_and_balanced_comes_from_the_cache_in_a_second_process(run):
    first = run("transformer", "plain", "off", "balanced")
    assert first["off"]["as plain"]
    assert first["off"]["stored"] == first["off"]["saved"]
    assert first["balanced"]["misses"] == 1 and first["balanced"]["hits"] == 0
    assert first["balanced"]["error"] < 0.05
    assert first["off"]["saved"] > 4.5 * first["balanced"]["stored"]
    second = run("transformer", "balanced")["balanced"]
    assert second["hits"] == 1 and second["misses"] == 0
    same = ("error", "saved", "stored", "names")
    assert all(second[key] == first["balanced"][key] for key in same)


@pytest.mark.parametrize("name, most", [("conv", 0.05), ("llama", 0.05)])
def test_options_for_torch_compile_do_the_same(run, name, most):
    found = run(name, "plain", "off", "options balanced")
    assert found["off"]["as plain"]
    assert found["balanced"]["error"] < most
    assert found["off"]["saved"] > 4 * found["balanced"]["stored"]
