"""Gradients of convolutions one after the other, and concatenation when it is read."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import relative_error
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop

import tensorpress.torch
from tensorpress.torch.compiled import partitioner

aten = torch.ops.aten


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def targets(graph):
    return [node.target for node in graph.nodes if node.op == "call_function"]


def as_for_inductor(policy, seen):
    """A backend that makes the graphs that Inductor gets, and runs them as they are."""
    ours = tensorpress.torch.compile_options(policy)["custom_partitioner_fn"]

    def divide(joint, inputs, **options):
        seen[:] = ours(joint, inputs, **{**options, "compiler": "inductor"})
        return tuple(seen)

    import torch._inductor.lowering  # noqa: F401  decompositions look for it
    from torch._inductor.decomposition import select_decomp_table

    return aot_autograd(
        fw_compiler=boxed_nop,
        bw_compiler=boxed_nop,
        decompositions=select_decomp_table,
        partition_fn=divide,
    )


@pytest.mark.parametrize(
    "options, size",
    [
        ({"padding": 1}, 16),
        ({"stride": 2, "padding": 1}, 16),
        ({"stride": 2}, 17),
        ({"stride": 3, "padding": 2, "dilation": 2}, 19),
        ({"padding": 1, "groups": 4}, 16),  # left as it is
    ],
)
def test_gradients_by_inputs_are_exact_whatever_the_input_was_packed_to(options, size):
    torch.manual_seed(0)
    first, second = nn.Conv2d(3, 16, 1), nn.Conv2d(16, 32, 3, bias=False, **options)
    model = nn.Sequential(first, second)
    x, seen = torch.randn(8, 3, size, size), []
    model(x).square().sum().backward()
    exact = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    torch.compile(model, backend=as_for_inductor("balanced", seen))(x).square().sum().backward()
    found = {name: weight.grad for name, weight in model.named_parameters()}
    error = (found["0.bias"] - exact["0.bias"]).norm() / exact["0.bias"].norm()
    assert error < 1e-5
    assert 1e-4 < relative_error(found, exact) < 0.1
    transposed = [
        node
        for node in seen[1].graph.find_nodes(op="call_function", target=aten.convolution.default)
        if node.args[6]
    ]
    assert len(transposed) == (0 if "groups" in options else 1)


class UNet(nn.Module):
    """Of one level."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU())
        self.down = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.up = nn.Sequential(nn.ConvTranspose2d(32, 16, 2, 2), nn.ReLU())
        self.decoder = nn.Sequential(nn.Conv2d(32, 16, 3, padding=1), nn.ReLU())
        self.last = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        skipped = self.encoder(x)
        deep = self.up(self.down(skipped))
        return self.last(self.decoder(torch.cat([skipped, deep], 1)))


def test_a_unet_concatenates_when_it_is_read_and_its_gradients_are_right(monkeypatch):
    torch.manual_seed(0)
    model, seen = UNet(), []
    x = torch.randn(4, 3, 32, 32)

    def gradients(run):
        model.zero_grad()
        run(x).square().mean().backward()
        return {name: weight.grad.clone() for name, weight in model.named_parameters()}

    exact = gradients(model)
    for channels_last in (False, True):
        torch._dynamo.reset()
        monkeypatch.setattr(partitioner, "_moves_channels", lambda _, last=channels_last: last)
        run = torch.compile(model, backend=as_for_inductor("balanced", seen))
        assert relative_error(gradients(run), exact) < 0.05
        made = targets(seen[0].graph)
        assert (torch.ops.tensorpress.widen.default in made) == channels_last
        assert (aten.cat.default in made) != channels_last
        ranges = [
            node.args[1]
            for node in seen[1].graph.find_nodes(
                op="call_function", target=aten.convolution.default
            )
            if node.args[1].target is aten.slice.Tensor
        ]
        assert len(ranges) == 2  # each part of what was concatenated has a gradient of its own
