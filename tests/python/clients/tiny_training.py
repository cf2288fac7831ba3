"""Tiny models of each library, and what a training of them gives: losses and final weights."""

import contextlib
from typing import NamedTuple

import torch

from tensorpress.torch import compress_activations

VOCABULARY, LENGTH = 64, 64


class Trained(NamedTuple):
    losses: list
    weights: dict
    report: object = None

    def is_exactly(self, other):
        same = self.weights.keys() == other.weights.keys() and self.losses == other.losses
        return same and all(
            torch.equal(weight, other.weights[name]) for name, weight in self.weights.items()
        )

    @property
    def falls(self):
        """Whether the last losses are below the first ones."""
        return sum(self.losses[-2:]) < 0.95 * sum(self.losses[:2])


def weights_of(model):
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def trained(model, batches, loss_of, policy=None, rate=1e-3, run=None):
    """A plain loop, with Adam. `loss_of(model, batch)`."""
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=rate)
    losses = []
    if policy is not None:
        run = compress_activations(model, policy)
    with run if run is not None else contextlib.nullcontext():
        for batch in batches:
            loss = loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return Trained(losses, weights_of(model), run and run.report())


def check_levels(train, ratio):
    """`off` changes no bit, and `balanced` saves bytes and trains."""
    plain, off, balanced = train(None), train("off"), train("balanced")
    assert off.is_exactly(plain)
    assert off.report.ratio == 1
    assert plain.falls, plain.losses
    assert balanced.falls, balanced.losses
    assert balanced.report.ratio > ratio
    assert not balanced.is_exactly(plain)
    return balanced


def sentences(count=32, length=LENGTH):
    """Each counts upwards from its first word, so that a model learns it in a few steps."""
    generator = torch.Generator().manual_seed(7)
    first = torch.randint(VOCABULARY, (count, 1), generator=generator)
    return (first + torch.arange(length)) % VOCABULARY


def tiny_llama(layers=2, **settings):
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2 * LENGTH,
        pad_token_id=0,
        **settings,
    )
    return LlamaForCausalLM(config)


def language_batches(steps=8, batch=8):
    words = sentences(steps * batch)
    return [{"input_ids": each, "labels": each} for each in words.split(batch)]


def language_loss(model, batch):
    return model(**batch).loss
