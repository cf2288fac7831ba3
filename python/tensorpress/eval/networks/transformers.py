"""Two stacks of transformer blocks: ViT-tiny (Dosovitskiy et al. 2021) for 32 x 32 images in
patches of 4 x 4, and blocks of GPT-2 (Radford et al. 2019) with tied embeddings."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


def _attention(parts: torch.Tensor, heads: int, causal: bool = False) -> torch.Tensor:
    """Of queries, keys and values side by side in the last dimension."""
    q, k, v = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in parts.chunk(3, -1))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return mixed.transpose(1, 2).flatten(2)


class VitLayer(nn.Module):
    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.attn = nn.ModuleDict(
            {"qkv": nn.Linear(features, 3 * features), "proj": nn.Linear(features, features)}
        )
        self.mlp = nn.ModuleDict(
            {"fc1": nn.Linear(features, 4 * features), "fc2": nn.Linear(4 * features, features)}
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn["proj"](_attention(self.attn["qkv"](self.norm1(x)), self.heads))
        return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class VitTiny(nn.Module):
    """The mean of all tokens is classified."""

    def __init__(self, classes: int = 10, layers: int = 12, features: int = 192) -> None:
        super().__init__()
        self.pos_embed = nn.Parameter(torch.randn(1, 64, features))
        self.patch_embed = nn.Conv2d(3, features, 4, 4)
        self.blocks = nn.Sequential(*(VitLayer(features, 3) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(features), nn.Linear(features, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch_embed(x).flatten(2).transpose(1, 2) + self.pos_embed
        return self.head(self.norm(self.blocks(x)).mean(1))


class GptLayer(nn.Module):
    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.attn = nn.ModuleDict(
            {"c_attn": nn.Linear(features, 3 * features), "c_proj": nn.Linear(features, features)}
        )
        self.mlp = nn.ModuleDict(
            {"c_fc": nn.Linear(features, 4 * features), "c_proj": nn.Linear(4 * features, features)}
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed = _attention(self.attn["c_attn"](self.ln_1(x)), self.heads, causal=True)
        x = x + self.attn["c_proj"](mixed)
        hidden = F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
        return x + self.mlp["c_proj"](hidden)


class Gpt2(nn.Module):
    """The head has the weights of the embedding; the result is one row of logits a token.
    Embeddings begin as small as GPT-2's."""

    def __init__(
        self, tokens: int = 4096, length: int = 256, layers: int = 6, features: int = 384
    ) -> None:
        super().__init__()
        self.wpe = nn.Parameter(0.02 * torch.randn(length, features))
        self.wte = nn.Embedding(tokens, features)
        nn.init.normal_(self.wte.weight, std=0.02)
        self.h = nn.Sequential(*(GptLayer(features, 6) for _ in range(layers)))
        self.ln_f = nn.LayerNorm(features)
        self.lm_head = nn.Linear(features, tokens, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.lm_head(self.ln_f(self.h(self.wte(tokens) + self.wpe))).flatten(0, 1)
