"""Functions of PyTorch whose backward takes values with an error: all that they save is compressed,
except for weights."""

import pytest

torch = pytest.importorskip("torch")

from gradient_checks import gradients, near, plain_gradients
from torch import nn

from tensorpress.torch import compress_activations

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN"),
    pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN"),
]


class Between(nn.Module):
    """A function with a weight between two layers."""

    def __init__(self, function, *weight):
        super().__init__()
        self.first, self.last = nn.Linear(32, 64), nn.Linear(64, 16)
        self.weight = nn.Parameter(torch.randn(weight) / 8)
        self.function = function

    def forward(self, x):
        return self.last(self.function(torch.tanh(self.first(x)), self.weight))


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.first, self.layer, self.last = nn.Linear(32, 64), layer, nn.Linear(128, 16)

    def forward(self, x):
        return self.last(self.layer(self.first(x))[0])


def experts(x, weight):
    """As a mixture of experts runs them, rows by rows."""
    rows = x.flatten(0, 1)
    ends = torch.arange(1, 5, dtype=torch.int32) * (len(rows) // 4)
    return torch._grouped_mm(rows.bfloat16(), weight.bfloat16(), offs=ends).float().view(x.shape)


MODELS = {
    "tensordot": lambda: Between(lambda x, w: torch.tensordot(x, w, 1), 64, 64),
    "inner": lambda: Between(torch.inner, 64, 64),
    "linalg.matmul": lambda: Between(torch.linalg.matmul, 64, 64),
    "grouped_mm": lambda: Between(experts, 4, 64, 64),
    "sigmoid_": lambda: Between(lambda x, w: (x + w).sigmoid_(), 64),
    "erf": lambda: Between(lambda x, w: torch.erf(x + w), 64),
    "hardswish": lambda: Between(lambda x, w: nn.functional.hardswish(5 * x + w), 64),
    "gru": lambda: Recurrent(nn.GRU(64, 128, 2)),
    "rnn": lambda: Recurrent(nn.RNN(64, 128)),
    "lstm with projections": lambda: Recurrent(nn.LSTM(64, 192, proj_size=128)),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_a_function_saves_is_compressed_and_gradients_stay_near(name):
    model, x = MODELS[name](), torch.randn(64, 32, 32)
    plain = plain_gradients(model, x)
    with compress_activations(model, "lossless"):
        model(x).square().mean().backward()
    assert near(plain, gradients(model), 0)
    model.zero_grad()
    with compress_activations(model, "balanced") as run:
        model(x).square().mean().backward()
    assert near(plain, gradients(model), 0.1)
    large = [each for each in run.report().activations if each.bytes_before > 16384]
    inputs = {"first:linear", "square"}  # the batch, and what the loss saves
    lossy = [each for each in large if each.lossy or each.rebuilt]
    whole = [each.name for each in large if each not in lossy and each.name not in inputs]
    assert large and not whole


def test_computed_weights_of_a_recurrent_network_stay_exact():
    layer = nn.utils.parametrizations.weight_norm(nn.GRU(64, 128), "weight_hh_l0")
    model = Recurrent(layer)
    with compress_activations(model, "balanced") as run:
        model(torch.randn(64, 32, 32)).square().mean().backward()
    weights = [each for each in run.report().activations if each.shape in ((384, 128), (128, 384))]
    assert weights and not any(each.lossy for each in weights)


def test_the_workspace_of_an_lstm_is_named_with_the_way_around_it():
    model, x = Recurrent(nn.LSTM(64, 128)), torch.randn(64, 32, 32)
    with compress_activations(model, "balanced") as run:
        model(x).square().mean().backward()
    if not torch.backends.mkldnn.is_available():
        pytest.skip("this PyTorch has no oneDNN")
    assert any("torch.backends.mkldnn.flags(enabled=False)" in each for each in run.report().notes)
    model.zero_grad()
    with torch.backends.mkldnn.flags(enabled=False):
        plain = plain_gradients(model, x)
        with compress_activations(model, "balanced") as run:
            model(x).square().mean().backward()
    assert near(plain, gradients(model), 0.1)
    assert run.report().ratio > 3.5 and not run.report().notes
