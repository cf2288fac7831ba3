"""Compressed activations on two processes: DistributedDataParallel, FSDP, tensor parallelism."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from gradient_checks import near
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from tensorpress.torch import compress_activations

FEATURES, TOKENS = 64, 32


class Block(nn.Module):
    """A layer of a transformer. `heads` are those of this process."""

    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.first_norm, self.last_norm = nn.LayerNorm(FEATURES), nn.LayerNorm(FEATURES)
        self.query, self.key, self.value, self.output = (
            nn.Linear(FEATURES, FEATURES) for _ in range(4)
        )
        self.up, self.down = nn.Linear(FEATURES, 4 * FEATURES), nn.Linear(4 * FEATURES, FEATURES)

    def forward(self, x):
        rows = self.first_norm(x)
        parts = [
            part(rows).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.last_norm(x))))


def blocks(heads=4):
    torch.manual_seed(1)
    return nn.Sequential(Block(heads), Block(heads))


def batch_of(rank, dtype=torch.float32):
    generator = torch.Generator().manual_seed(10 + rank)
    return torch.randn(8, TOKENS, FEATURES, generator=generator).to(dtype)


def whole(gradient):
    return gradient.full_tensor() if isinstance(gradient, DTensor) else gradient.clone()


def steps_of(model, x, level, steps=2, accumulated=1):
    """Gradients of the last step, and the report."""
    run = None if level is None else compress_activations(model, level)
    for _ in range(steps):
        model.zero_grad()
        for _ in range(accumulated):
            if run is None:
                loss = model(x).square().mean()
            else:
                with run:
                    loss = model(x).square().mean()
            loss.backward()
    gradients = [whole(parameter.grad) for parameter in model.parameters()]
    report = None if run is None else run.report()
    return gradients, report and (report.ratio, report.steps, report.saved_bytes, report.notes)


def exact(found, expected):
    return all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


# ---- DistributedDataParallel ------------------------------------------------------------------


def in_ddp(rank, level, dtype, accumulated):
    model = DistributedDataParallel(blocks().to(dtype))
    return steps_of(model, batch_of(rank, dtype), level, accumulated=accumulated)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("accumulated", [1, 2])
def test_distributed_data_parallel(ranks, dtype, accumulated):
    plain, off, balanced = (
        ranks.run(in_ddp, level, dtype, accumulated) for level in (None, "off", "balanced")
    )
    assert exact(balanced[0][0], balanced[1][0])  # averaged
    for rank in range(2):
        assert exact(off[rank][0], plain[rank][0])
        assert near(plain[rank][0], balanced[rank][0], 0.1)
        ratio, steps, _, _ = balanced[rank][1]
        assert ratio > (3.5 if dtype == torch.float32 else 2)
        assert steps == 2 * accumulated


# ---- FSDP -------------------------------------------------------------------------------------


def in_fsdp(rank, level, autocast):
    model = blocks()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16) if autocast else None
    settings = {"mp_policy": policy} if policy else {}
    mesh = init_device_mesh("cpu", (2,))
    for block in model:
        fully_shard(block, mesh=mesh, **settings)
    fully_shard(model, mesh=mesh, **settings)
    return steps_of(model, batch_of(rank), level)


@pytest.mark.parametrize("autocast", [False, True])
def test_fully_sharded_parameters(ranks, autocast):
    plain, off, balanced = (
        ranks.run(in_fsdp, level, autocast) for level in (None, "off", "balanced")
    )
    for rank in range(2):
        assert exact(off[rank][0], plain[rank][0])
        assert near(plain[rank][0], balanced[rank][0], 0.1)
        assert balanced[rank][1][0] > (2 if autocast else 3.5)


# ---- Tensor parallelism -----------------------------------------------------------------------

COLUMNS = dict.fromkeys(("query", "key", "value", "up"), ColwiseParallel)
ROWS = dict.fromkeys(("output", "down"), RowwiseParallel)


def in_tensor_parallel(rank, level, sequence):
    """With `sequence`, norms and residuals are of a part of the tokens, as DTensors."""
    mesh = init_device_mesh("cpu", (2,))
    model = blocks(heads=2)
    for block in model:
        plan = {name: style() for name, style in {**COLUMNS, **ROWS}.items()}
        if sequence:
            plan = {
                "": PrepareModuleInput(
                    input_layouts=(Replicate(),), desired_input_layouts=(Shard(1),)
                ),
                "first_norm": SequenceParallel(),
                "last_norm": SequenceParallel(),
                "query": ColwiseParallel(input_layouts=Shard(1)),
                "key": ColwiseParallel(input_layouts=Shard(1)),
                "value": ColwiseParallel(input_layouts=Shard(1)),
                "up": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
                "output": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
                "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
            }
        parallelize_module(block, mesh, plan)
    return steps_of(model, batch_of(0), level)


def alone():
    return steps_of(blocks(), batch_of(0), None)[0]


@pytest.mark.parametrize("sequence", [False, True])
def test_local_tensors_of_tensor_parallelism_are_packed(ranks, sequence):
    plain, off, balanced = (
        ranks.run(in_tensor_parallel, level, sequence) for level in (None, "off", "balanced")
    )
    for rank in range(2):
        assert exact(off[rank][0], plain[rank][0])
        assert near(alone(), plain[rank][0], 1e-5)
        assert near(plain[rank][0], balanced[rank][0], 0.1)
        ratio, steps, saved, notes = balanced[rank][1]
        assert ratio > 3.5 and steps == 2 and not notes
        assert saved == off[rank][1][2]


def in_place(rank, level):
    """The same memory, saved before and after it is changed, by DTensors."""
    mesh = init_device_mesh("cpu", (2,))
    x = DTensor.from_local(batch_of(rank), mesh, [Shard(0)])
    first, last = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    holder = nn.ParameterList([first, last])
    factors = [DTensor.from_local(each, mesh, [Replicate()]) for each in (first, last)]
    with compress_activations(holder, level):
        hidden = x.clone()
        hidden.requires_grad_(False)
        before = hidden * factors[0]
        copy = hidden.clone()
        hidden.mul_(3)
        after = hidden * factors[1]
    after.sum().backward()
    changed = None
    try:
        before.sum().backward()
    except RuntimeError as error:
        changed = str(error)
    return last.grad, 3 * copy.full_tensor().sum(), changed


@pytest.mark.parametrize("level", ["off", "safe"])
def test_memory_of_a_dtensor_that_changed_is_another_value(ranks, level):
    for gradient, expected, changed in ranks.run(in_place, level):
        assert near([expected.view(1)], [gradient], 0.1)
        assert "modified by an inplace operation" in changed
