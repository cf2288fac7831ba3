"""A small network trained by two processes, with plain or compressed gradients."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tensorpress.torch import GradientCompression, compress_gradients


def small_model(dtype=torch.float32):
    torch.manual_seed(3)
    layers = nn.Sequential(
        nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3)
    )
    return layers.to(dtype)


def batch_of(rank, step, rows=16, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.randn(rows, 40, generator=generator).to(dtype)
    return x, x[:, :3].sin()


def train(rank, state, steps=6, rows=16, model=None, dtype=torch.float32, lr=0.2, **ddp):
    """Gradients of every step, and the weights at the end."""
    model = model or small_model(dtype)
    parallel = DistributedDataParallel(model, **ddp)
    if state is not None:
        parallel.register_comm_hook(state, compress_gradients)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=lr)
    gradients, losses = [], []
    for step in range(steps):
        x, y = batch_of(rank, step, rows[rank] if isinstance(rows, tuple) else rows, dtype)
        loss = nn.functional.mse_loss(parallel(x), y)
        optimizer.zero_grad()
        loss.backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
        losses.append(loss.item())
        optimizer.step()
    return gradients, [p.detach().clone() for p in model.parameters()], losses


def flat(tensors):
    return torch.cat([each.flatten().double() for each in tensors])


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def plain(rank, *rest):
    return train(rank, None, *rest)


def with_codec(rank, name, settings, *rest):
    state = GradientCompression(name, **settings)
    return (*train(rank, state, *rest), state.report().to_dict())
