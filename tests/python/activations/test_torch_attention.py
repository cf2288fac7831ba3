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

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(64, 192, bias=False)
        self.qkv.weight.data[:128] *= 6

    def forward(self, x):
        q, k, v = (h.unflatten(2, (4, 16)).transpose(1, 2) for h in self.qkv(x).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


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


def test_the_logarithms_inside_a_module_of_pytorch_are_found():
    call = Call("multi_head_attention_forward", (None, None, None, 64, 8), {})
    assert is_log_sum(call, torch.empty(2, 8, 128))
    assert not is_log_sum(call, torch.empty(128, 2, 64))
    assert not is_log_sum(Call("linear", (), {}), torch.empty(2, 8, 128))
