"""Tensors that compute in their own way are kept: torchao's quantized weights."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchao")

from tiny_training import check_levels, trained
from torch import nn
from torchao.prototype.quantized_training import (
    int8_mixed_precision_training,
    int8_weight_only_quantized_training,
)
from torchao.quantization import Int8WeightOnlyConfig, quantize_

pytestmark = pytest.mark.usefixtures("one_thread")


def network():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 8)
    )


def batches():
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(8, 64, 64, generator=generator)
    return 12 * [(x, x[..., :8].square())]


def squares(model, batch):
    x, y = batch
    return nn.functional.mse_loss(model(x), y)


def frozen():
    """Weights of the middle layer in 8 bits, without gradients."""
    model = network()
    quantize_(model[2], Int8WeightOnlyConfig())
    model[2].requires_grad_(False)
    return model


def made_by(config):
    def make():
        model = network()
        quantize_(model[2], config)
        return model

    return make


KINDS = {
    "frozen weights": frozen,
    "weights in 8 bits that train": made_by(int8_weight_only_quantized_training()),
    "products in 8 bits": made_by(int8_mixed_precision_training()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_quantized_weights(kind):
    def train(level):
        model = KINDS[kind]()
        torch.manual_seed(3)
        found = trained(model, batches(), squares, level, rate=3e-3)
        plain = {
            name: weight.dequantize() if hasattr(weight, "dequantize") else weight
            for name, weight in found.weights.items()
        }
        return found._replace(weights=plain)

    check_levels(train, 2)
