"""write_graph: the real program of a module, judged by `tensorpress device check`."""

import json
import subprocess

import pytest
from conftest import PROGRAM

torch = pytest.importorskip("torch")

from tensorpress.torch import ChopCompressor, write_graph

ALL = {"a100", "cs2", "groqchip", "ipu", "sn30"}


def devices_for(module, inputs, path, **options):
    """The devices on which the exported program compiles and fits."""
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    write_graph(module, inputs, path, **options)
    command = [PROGRAM, "device", "check", path, "--device", "all", "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return {each["device"] for each in json.loads(done.stdout) if each["fits"]}


def planes(n, batch=2):
    return torch.zeros(batch, 3, n, n)


@pytest.mark.parametrize("serialize", [1, 2])
def test_the_portable_modules_compile_everywhere(tmp_path, serialize):
    compressor = ChopCompressor((64, 64), cf=4, serialize=serialize)
    assert devices_for(compressor, [planes(64)], tmp_path / "c.json") == ALL
    inputs = [compressor(planes(64))]
    assert devices_for(compressor.decompressor(), inputs, tmp_path / "d.json") == ALL


def test_the_triangle_compiles_where_gather_and_scatter_are(tmp_path):
    compressor = ChopCompressor((32, 32), cf=4, layout="triangle")
    assert devices_for(compressor, [planes(32)], tmp_path / "c.json") == {"a100", "ipu"}
    inputs = [compressor(planes(32))]
    assert devices_for(compressor.decompressor(), inputs, tmp_path / "d.json") == {"a100", "ipu"}


def test_two_parts_make_the_real_program_fit_on_sn30(tmp_path):
    whole = ChopCompressor((512, 512), cf=4)
    parts = ChopCompressor((512, 512), cf=4, serialize=2)
    assert "sn30" not in devices_for(whole, [planes(512, 1)], tmp_path / "w.json")
    assert "sn30" in devices_for(parts, [planes(512, 1)], tmp_path / "p.json")


def test_the_exported_program_has_the_operators_of_the_codecs_description(tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    path = tmp_path / "g.json"
    write_graph(ChopCompressor((512, 512), cf=4, serialize=2), [planes(512, 1)], path)
    arguments = ["--codec", "dct-chop", "--shape", "1x3x512x512", "--serialize", "2"]
    outcomes = []
    for program in ([path], arguments):
        command = [PROGRAM, "device", "check", *program, "--device", "sn30", "--json"]
        outcomes.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    counts = [{each["name"]: each["count"] for each in one["operators"]} for one in outcomes]
    assert counts[0]["matmul"] == counts[1]["matmul"] == 8
    needs = [{each["where"]: each["needed"] for each in one["requirements"]} for one in outcomes]
    assert needs[0] == needs[1]


def test_a_dynamic_batch_compiles_only_where_shapes_may_change(tmp_path):
    batch = torch.export.Dim("batch", min=2)
    found = devices_for(
        ChopCompressor((32, 32)), [planes(32)], tmp_path / "g.json", dynamic_shapes=({0: batch},)
    )
    assert found == {"a100"}


def test_a_shift_is_found_in_the_real_program(tmp_path):
    class Shift(torch.nn.Module):
        def forward(self, x):
            return x << 3

    inputs = [torch.zeros(8, dtype=torch.int32)]
    assert devices_for(Shift(), inputs, tmp_path / "g.json") == {"a100"}


def test_weights_are_constants_and_the_file_says_what_it_is(tmp_path):
    write_graph(torch.nn.Linear(4, 3), [torch.zeros(2, 4)], tmp_path / "g.json")
    graph = json.loads((tmp_path / "g.json").read_text())
    assert graph["format"] == "tensorpress-graph" and graph["name"] == "Linear"
    roles = [each["role"] for each in graph["tensors"]]
    assert roles.count("constant") == 2 and roles.count("input") == 1 and roles[-1] == "output"
    assert graph["tensors"][-1]["shape"] == [2, 3]
