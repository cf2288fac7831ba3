"""torch modules become model texts, and these become steps with the gradients of the modules."""

import pytest
import torch
import torch.nn.functional as F
from emitted import assert_same, step_of
from torch import nn

from tensorpress.torch import to_text


def same_gradients(tmp_path, module, inputs, loss="cross_entropy", seed=1):
    """The text of a module, after its emitted step has given the module's gradients."""
    text = to_text(module, inputs, loss=loss)
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    step = step_of(tmp_path, text, module)
    generator = torch.Generator().manual_seed(seed)
    result = module(*inputs)
    buffers = dict(step.named_buffers())
    for name, buffer in module.named_buffers():  # the call above has moved running means
        buffers[name].copy_(buffer)
    if loss is None:
        targets, twin_loss = (), module(*inputs)
    elif loss == "cross_entropy":
        shape = [result.shape[0], *result.shape[2:]]
        targets = (torch.randint(result.shape[1], shape, generator=generator),)
        twin_loss = F.cross_entropy(module(*inputs), *targets)
    else:
        targets = (torch.rand(result.shape, generator=generator),)
        twin_loss = getattr(F, loss)(module(*inputs), *targets)
    twin_loss.backward()
    step_loss = step(*inputs, *targets)
    step.backward()
    assert_same(step, step_loss.detach(), module, twin_loss.detach())
    return text


def test_a_sequence_of_modules_keeps_its_names(tmp_path):
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding="same"),
        nn.ReLU(inplace=True),
        nn.Conv2d(8, 8, (3, 5), stride=2, padding=(0, 1), bias=False),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 3 * 3, 10),
    )
    text = same_gradients(tmp_path, net, torch.randn(4, 3, 8, 8))
    assert "= 0: conv2d(input_1, 8, kernel=3, padding=1)" in text
    assert "kernel=[3, 5], stride=2, padding=[0, 1], bias=false" in text
    assert "input input_1: f32[N, 3, 8, 8]" in text


class Tied(nn.Module):
    """One module called twice, one weight under two names, one layer without a module."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 6)
        self.b = nn.Linear(6, 6)
        self.b.weight = self.a.weight
        self.act = nn.ReLU()
        self.free = nn.Parameter(torch.randn(6, 6))

    def forward(self, x):
        x = self.act(self.a(x))
        x = self.act(self.b(x))
        return F.linear(self.a(x), self.free)


def test_shared_modules_and_tied_weights_stay_one_parameter():
    text = to_text(Tied(), torch.randn(5, 6))
    assert "share a: linear(" in text
    assert "b: linear(relu, 6, weight=@a.weight)" in text
    assert "param free: f32[6, 6]" in text


def test_what_has_no_text_is_named_with_its_line():
    class Spectrum(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            y = torch.cumsum(self.fc(x), 1)
            return torch.fft.fft(y).real

    with pytest.raises(ValueError) as refused:
        to_text(Spectrum(), torch.zeros(2, 4))
    message = str(refused.value)
    assert "Spectrum cannot be written as model text" in message
    assert "aten.cumsum.default has no text" in message
    assert "test_model_text.py, line" in message
    assert "y = torch.cumsum(self.fc(x), 1)" in message
    assert "aten.fft_fft.default" in message


def test_unknown_losses_and_inputs_are_refused():
    with pytest.raises(ValueError, match="cross_entropy"):
        to_text(nn.Linear(2, 2), torch.zeros(2, 2), loss="hinge")
    with pytest.raises(TypeError, match="not a tensor"):
        to_text(nn.Linear(2, 2), [[1.0, 2.0]])
    with pytest.raises(ValueError, match="complex64"):
        to_text(nn.Linear(2, 2), torch.zeros(2, 2, dtype=torch.complex64))


def test_a_batch_of_one_keeps_its_size():
    text = to_text(nn.Linear(3, 2), torch.zeros(1, 3))
    assert "input input_1: f32[1, 3]" in text
