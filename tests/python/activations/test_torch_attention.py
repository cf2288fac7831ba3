"""Fused attention keeps one logarithm a row, by which backward makes probabilities of what was
stored of queries and keys."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tensorpress.torch import compress_activations
from tensorpress.torch.policy.saved_by import Call, is_log_sum


class Sharp(nn.Module):
    """Attention in which one pair has most of each row."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.dropout = dropout
        self.qkv = nn.Linear(64, 192, bias=False)
        self.qkv.weight.data[:128] *= 6

    def forward(self, x):
        q, k, v = (h.unflatten(2, (4, 16)).transpose(1, 2) for h in self.qkv(x).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout, is_causal=True)


def gradient(model, x, level):
    model.zero_grad()
    with compress_activations(model, level) as run:
        y = model(x)
    y.backward(torch.ones_like(y).cumsum(-1))
    return model.qkv.weight.grad.clone(), run


@pytest.mark.parametrize("level, most", [("safe", 0.2), ("balanced", 0.3), ("max", 1.0)])
def test_levels_do_not_blow_gradients_of_sharp_attention_up(level, most):
    torch.manual_seed(0)
    model, x = Sharp(), torch.randn(4, 128, 64)
    exact, _ = gradient(model, x, "off")
    lossy, run = gradient(model, x, level)
    assert run.report().ratio > 2
    assert float((lossy - exact).norm() / exact.norm()) < most


def test_the_logarithms_are_kept_exactly_whatever_the_rule():
    torch.manual_seed(0)
    model, x = Sharp(), torch.randn(4, 128, 64)
    rule = {"level": "max", "default": {"codec": "quantize", "bits": 2}}
    _, run = gradient(model, x, rule)
    rows = [each for each in run.report().activations if each.shape == (4, 4, 128)]
    assert [each.bytes_after for each in rows] == [4 * 4 * 128 * 4]


def test_attention_with_dropout_is_not_mistaken_for_logarithms():
    """It runs as products and a softmax, whose tensors have three axes as the logarithms have."""
    torch.manual_seed(0)
    model, x = Sharp(dropout=0.1), torch.randn(4, 128, 64)
    torch.manual_seed(1)
    exact, _ = gradient(model, x, "off")
    torch.manual_seed(1)
    lossy, run = gradient(model, x, "safe")
    saved = [each for each in run.report().activations if "attention" in each.name]
    assert sum(each.shape == (16, 128, 16) for each in saved) == 2  # queries and values
    assert all(each.bytes_after < 0.3 * each.bytes_before for each in saved)
    assert float((lossy - exact).norm() / exact.norm()) < 0.05


def test_logarithms_have_a_place_for_each_query():
    query = torch.empty(2, 8, 100, 64)
    call = Call("scaled_dot_product_attention", (query, query, query), {})
    assert is_log_sum(call, torch.empty(2, 8, 100))
    assert is_log_sum(call, torch.empty(2, 8, 128))  # as GPUs pad them
    assert is_log_sum(call, torch.empty(2, 8, 100, 1))
    assert not is_log_sum(call, torch.empty(16, 100, 64))
    assert not is_log_sum(call, torch.empty(16, 100, 100))
    assert not is_log_sum(Call("linear", (query,), {}), torch.empty(2, 8, 100))


def test_the_logarithms_inside_a_module_of_pytorch_are_found():
    query = torch.empty(128, 2, 64)
    call = Call("multi_head_attention_forward", (query, query, query, 64, 8), {})
    assert is_log_sum(call, torch.empty(2, 8, 128))
    assert not is_log_sum(call, torch.empty(128, 2, 64))
    one = Call("multi_head_attention_forward", (query[:, 0], query, query, 64, 8), {})
    assert is_log_sum(one, torch.empty(1, 8, 128))


def test_a_batch_of_as_many_as_heads_is_not_mistaken_for_logarithms():
    query = torch.empty(128, 8, 64)
    call = Call("multi_head_attention_forward", (query, query, query, 64, 8), {})
    assert is_log_sum(call, torch.empty(8, 8, 128))
    assert not is_log_sum(call, query)
