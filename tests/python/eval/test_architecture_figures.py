"""How bench/architectures.py compares gradients."""

import sys

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
sys.path.append(str(ROOT / "bench"))

import torch.nn.functional as F
from architecture_networks import Case
from architectures import gradients
from torch import nn

pytestmark = pytest.mark.usefixtures("one_thread")


class Attending(nn.Module):
    """Dropout inside attention, which a CPU then computes as products: in autocast, PyTorch's own
    backward of these differs from that outside of autocast."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)

    def forward(self, x):
        q, k, v = self.qkv(x).view(4, 32, 3, 4, 16).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        return self.out(F.dropout(mixed.transpose(1, 2).reshape(4, 32, 64), 0.1))


@pytest.mark.parametrize("level", ["off", "lossless"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_levels_without_error_have_the_bits_of_plain_training(dtype, level):
    torch.manual_seed(0)
    model, x = Attending(), torch.randn(4, 32, 64)
    case = Case(model, lambda: model(x).square().mean())
    exact, _ = gradients(case, dtype, None)
    found, _ = gradients(case, dtype, level)
    assert all(torch.equal(found[name], exact[name]) for name in exact)
