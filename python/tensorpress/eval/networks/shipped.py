"""The PyTorch twins of the texts in models/: the same parameters by the same names, with a loss and
batches of the right shape. Tests compare both; benchmarks measure both.

>>> twin = TWINS["resnet18"]
>>> model, (x, labels) = twin.make(), twin.batch(4)
>>> twin.loss(model, x, labels).shape
torch.Size([])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from .alexnet import alexnet
from .autoencoder import Autoencoder
from .encoder_decoder import EncoderDecoder
from .graphs import GraphConvolutions, GraphSage
from .resnet import resnet18, resnet34, resnet50
from .transformers import Gpt2, VitTiny
from .unet import UNet
from .vgg import Vgg11

Batch = Sequence[torch.Tensor]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Twin:
    make: Callable[[], nn.Module]
    batch: Callable[[int], Batch]
    """Inputs, then the target, for so many samples (vertices of a graph)."""
    criterion: Loss = F.cross_entropy
    open_dimension: str = "N"

    def loss(self, model: nn.Module, *batch: torch.Tensor) -> torch.Tensor:
        *inputs, target = batch
        return self.criterion(model(*inputs), target)


def _images(count: int) -> Batch:
    return torch.randn(count, 3, 32, 32), torch.randint(10, (count,))


def _maps(channels: int, extent: int) -> Callable[[int], Batch]:
    def batch(count: int) -> Batch:
        shape = (count, channels, extent, extent)
        return torch.randn(shape), torch.rand(count, 1, extent, extent)

    return batch


def _sentences(count: int) -> Batch:
    tokens = torch.randint(4096, (count, 257))
    return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()


def _next_token(logits: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, following.reshape(-1))


def _graph(weighted: bool) -> Callable[[int], Batch]:
    """About eight neighbours a vertex; every vertex is its own, as in both papers."""

    def batch(count: int) -> Batch:
        ends = torch.randint(count, (2, 8 * count))
        own = torch.arange(count).expand(2, count)
        ones = torch.sparse_coo_tensor(
            torch.cat([ends, ends.flip(0), own], 1), torch.ones(17 * count), (count, count)
        ).coalesce()
        values = torch.rand(ones.values().shape) if weighted else torch.ones_like(ones.values())
        adjacency = torch.sparse_coo_tensor(ones.indices(), values, (count, count)).to_sparse_csr()
        return adjacency, torch.randn(count, 128), torch.randint(40, (count,))

    return batch


TWINS = {
    "alexnet": Twin(alexnet, _images),
    "vgg11": Twin(Vgg11, _images),
    "resnet18": Twin(resnet18, _images),
    "resnet34": Twin(resnet34, _images),
    "resnet50": Twin(resnet50, _images),
    "unet": Twin(UNet, _maps(9, 256), F.binary_cross_entropy_with_logits),
    "encoder_decoder": Twin(EncoderDecoder, _maps(1, 256), F.mse_loss),
    "autoencoder": Twin(Autoencoder, _maps(1, 200), F.mse_loss),
    "gpt2": Twin(Gpt2, _sentences, _next_token),
    "vit_tiny": Twin(VitTiny, _images),
    "gcn": Twin(GraphConvolutions, _graph(weighted=True), open_dimension="V"),
    "graphsage": Twin(GraphSage, _graph(weighted=False), open_dimension="V"),
}
