"""What compiled models need of PyTorch, where some of it is missing: in processes of their own that
take it away before the package is loaded. Inductor's code is really made and run."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch")

OLD = """
import torch._inductor.compile_fx, torch._inductor.custom_graph_pass
del torch._inductor.custom_graph_pass.CustomPartitionerFn  # came with torch 2.9
"""
STEP = """
import json, torch
from small_networks import gradients_of, network_and_batch, relative_error
import tensorpress.torch
from tensorpress.torch.compiled import versions

model, x, y = network_and_batch("transformer")
exact = gradients_of(model, model, x, y)
run = tensorpress.torch.compile(model, "balanced")
found = relative_error(gradients_of(model, run, x, y), exact)
report = tensorpress.torch.compiled_report(run)
try:
    tensorpress.torch.compile_options("balanced")
    refused = ""
except RuntimeError as error:
    refused = str(error)
print(json.dumps([versions.AS_OPTION, found, report.ratio, refused]))
"""
NOTHING = """
import torch._inductor.compile_fx, torch._inductor.custom_graph_pass
del torch._inductor.custom_graph_pass.CustomPartitionerFn
del torch._inductor.compile_fx.min_cut_rematerialization_partition
import torch, tensorpress.torch
for backend in ("inductor", "aot_eager"):
    try:
        run = tensorpress.torch.compile(torch.nn.Linear(4, 4), "balanced", backend=backend)
        run(torch.ones(2, 4)).sum().backward()
        print(backend, "works")
    except RuntimeError as error:
        print(error)
"""


def output_of(script, tmp_path):
    here = pathlib.Path(__file__).resolve().parents[1]
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_the_option_the_partitioner_is_replaced_while_compiling(tmp_path):
    found = json.loads(output_of(OLD + STEP, tmp_path)[-1])
    as_option, error, ratio, refused = found
    assert not as_option
    assert error < 0.05 and ratio > 3.5
    assert "came with 2.9" in refused and "tensorpress.torch.compile(model, policy)" in refused


def test_without_any_way_into_inductor_a_sentence_says_so_and_graphs_still_run_as_they_are(
    tmp_path,
):
    inductor, eager = output_of(NOTHING, tmp_path)
    assert "has no torch._inductor.config.custom_partitioner_fn" in inductor
    assert "torch 2.4 to 2.13" in inductor
    assert eager == "aot_eager works"
