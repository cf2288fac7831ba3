"""Networks small enough to be compiled in a test: a convolutional one and two transformers."""

import torch
import torch.nn.functional as F
from torch import nn


def conv_net():
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.SiLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)),
    )


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.n1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Transformer(nn.Module):
    def __init__(self, width=64, heads=4, layers=1, vocabulary=50):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.embedding(ids))))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6))


def rotated(x):
    """Rotary positions: pairs of features turn by an angle that grows with the place."""
    half = x.shape[-1] // 2
    speed = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
    angle = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * speed
    first, second = x.chunk(2, -1)
    turned = first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()
    return torch.cat(turned, -1)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.n1, self.n2 = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)
        self.heads = heads

    def forward(self, x):
        batch, tokens, width = x.shape
        normed = self.n1(x)
        q, k, v = (
            layer(normed).view(batch, tokens, self.heads, -1).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        mixed = F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, tokens, width))
        normed = self.n2(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Llama(Transformer):
    def __init__(self, width=64, heads=4, layers=1, vocabulary=50):
        super().__init__(width, heads, 0, vocabulary)
        self.blocks = nn.Sequential(*(LlamaBlock(width, heads) for _ in range(layers)))
        self.norm = RmsNorm(width)


NETWORKS = {"conv": conv_net, "transformer": Transformer, "llama": Llama}


def network_and_batch(name, batch=8, **options):
    torch.manual_seed(1)
    if name == "conv":
        data = torch.randn(batch, 3, 32, 32), torch.randint(10, (batch,))
    else:
        data = torch.randint(50, (batch, 64)), torch.randint(50, (batch, 64))
    return NETWORKS[name](**options), *data


def loss_of(output, labels):
    return F.cross_entropy(output.reshape(-1, output.shape[-1]), labels.reshape(-1))


def gradients_of(model, run, x, labels):
    """Of one step through `run`, which is the model or something made of it."""
    model.zero_grad()
    loss_of(run(x), labels).backward()
    return {name: weight.grad.clone() for name, weight in model.named_parameters()}


def relative_error(found, expected):
    difference = sum(float((found[n] - expected[n]).double().square().sum()) for n in expected)
    return (difference / sum(float(g.double().square().sum()) for g in expected.values())) ** 0.5
