"""A small model after a few steps of training, and what tests of checkpoints look at."""

import torch
from torch import nn


class Block(nn.Module):
    """Convolutions, norms, an embedding tied to the output, a buffer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 48, 3)
        self.norm = nn.BatchNorm2d(48)
        self.embedding = nn.Embedding(100, 48)
        self.attention = nn.MultiheadAttention(48, 4)
        self.head = nn.Linear(48, 100, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("positions", torch.arange(64))

    def forward(self, images, words):
        x = self.norm(self.conv(images)).relu().mean((2, 3))
        x = x + self.embedding(words)
        return self.head(self.attention(x, x, x)[0])


def trained(optimizer=torch.optim.Adam, steps=3, **settings):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = Block()
    optimizer = optimizer(model.parameters(), lr=1e-3, **settings)
    for _ in range(steps):
        optimizer.zero_grad()
        out = model(torch.randn(8, 3, 8, 8), torch.randint(0, 50, (8,)))
        nn.functional.cross_entropy(out, torch.randint(0, 100, (8,))).backward()
        optimizer.step()
    return model, optimizer


def tensors_in(value, path=""):
    """(name, tensor) of everything nested."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from tensors_in(each, f"{path}.{key}".lstrip("."))
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(value):
            yield from tensors_in(each, f"{path}.{at}".lstrip("."))


def span(tensor):
    finite = tensor.double()[torch.isfinite(tensor)]
    return float(finite.max() - finite.min())


def bits(tensor):
    return tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
