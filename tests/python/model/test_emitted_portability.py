"""The emitted train_step, exported by PyTorch, compiles where a device's file has its operators."""

import json
import subprocess

import pytest
import torch
from emitted import PROGRAM, emit

import tensorpress.torch

TEXT = """
model small
input x: f32[N, 3, 32, 32]
target y: i64[N]
h = conv1: conv2d(x, 8, 3, padding = 1)
h = max_pool2d(relu(h), 2)
h = fc: linear(flatten(h), 10)
loss cross_entropy(h, y)
"""


class Pure(torch.nn.Module):
    """train_step over the parameters of the emitted Step."""

    def __init__(self, module):
        super().__init__()
        self.step = module.train_step
        self.names = []
        for name, parameter in module.Step().named_parameters():
            self.names.append(name)
            self.register_buffer(name.replace(".", "_"), parameter.detach())

    def forward(self, x, y):
        return self.step({name: getattr(self, name.replace(".", "_")) for name in self.names}, x, y)


@pytest.mark.parametrize(
    "plan, fitting",
    [("off", {"a100", "cs2", "groqchip", "ipu", "sn30"}), ("balanced", {"a100", "ipu"})],
)
def test_the_exported_step_compiles_where_its_operators_and_types_are(tmp_path, plan, fitting):
    module = Pure(emit(tmp_path, TEXT, "--portable", "--plan", plan))
    path = tmp_path / "graph.json"
    example = [torch.randn(8, 3, 32, 32), torch.zeros(8, dtype=torch.int64)]
    tensorpress.torch.write_graph(module, example, path)
    names = {each["name"] for each in json.loads(path.read_text())["operators"]}
    assert {"conv2d", "convolution_backward", "mm"} <= names
    command = [PROGRAM, "device", "check", path, "--device", "all", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    outcomes = json.loads(done.stdout)
    reasons = {each["device"]: each["reasons"] for each in outcomes}
    assert {each["device"] for each in outcomes if each["fits"]} == fitting, reasons
    # Packed bytes are what the others lack.
    assert all("uint8" in " ".join(reasons[name]) for name in reasons if name not in fitting)
