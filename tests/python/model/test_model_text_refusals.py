"""What model text cannot say is refused with a reason, or said in a comment of the text."""

import logging
import math
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tensorpress.torch import to_text


def test_what_has_no_text_is_named_with_its_line():
    class Spectrum(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            y = torch.cumprod(self.fc(x), 1)
            return torch.fft.fft(y).real

    with pytest.raises(ValueError) as refused:
        to_text(Spectrum(), torch.zeros(2, 4))
    message = str(refused.value)
    assert "Spectrum cannot be written as model text" in message
    assert "aten.cumprod.default has no text" in message
    assert "test_model_text_refusals.py, line" in message
    assert "y = torch.cumprod(self.fc(x), 1)" in message
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


def test_other_infinite_limits_of_hardtanh_are_refused():
    with pytest.raises(ValueError, match="hardtanh from -inf to 0.5"):
        to_text(nn.Sequential(nn.Linear(8, 8), nn.Hardtanh(-math.inf, 0.5)), torch.randn(6, 8))


class Around(nn.Module):
    """`between` of a convolution's result, then a classifier."""

    def __init__(self, between, **modules):
        super().__init__()
        self.conv = nn.Conv2d(4, 6, 3)
        self.between = between
        self.fc = nn.Linear(6, 5)
        for name, each in modules.items():
            setattr(self, name, each)

    def forward(self, x):
        return self.fc(self.between(self, self.conv(x)).mean((2, 3)))


def refusal(module, x=None):
    with pytest.raises(ValueError, match="cannot be written as model text") as refused:
        to_text(module, torch.randn(6, 4, 9, 7) if x is None else x)
    return str(refused.value)


def set_a_part(module, h):
    h = h * 1
    h[0] = 0
    return h


def computed_bias(module, h):
    return F.conv2d(h, module.weight, module.bias * 2)


def test_what_is_no_tensor_of_the_text_is_refused_with_its_line():
    own = {"weight": nn.Parameter(torch.randn(6, 6, 1, 1)), "bias": nn.Parameter(torch.randn(6))}
    message = refusal(Around(set_a_part))
    assert "an assignment along an open axis" in message
    message = refusal(Around(lambda module, h: h / h.shape[0]))
    assert "the size of an open dimension" in message and "test_model_text_refusals.py" in message
    assert "conv2d with a bias that is not a parameter" in refusal(Around(computed_bias, **own))
    assert ".item()" in refusal(Around(lambda module, h: h * h.sum().item()))
    assert "+ of conditions" in refusal(
        nn.Sequential(Added(), nn.Embedding(9, 5), nn.Flatten(1), nn.Linear(35, 5)),
        torch.randint(0, 8, (6, 7)),
    )


class Added(nn.Module):
    def forward(self, ids):
        return ids + (ids > 3)


def test_modules_that_change_what_a_step_keeps_are_named():
    table = nn.Sequential(nn.Embedding(9, 6, max_norm=1.0), nn.Flatten(), nn.Linear(42, 5))
    assert "embedding with max_norm, which changes its table ('0')" in refusal(
        table, torch.randint(0, 9, (6, 7))
    )
    norm = nn.BatchNorm2d(6, momentum=None)
    assert "'norm' has momentum=None" in refusal(
        Around(lambda module, h: module.norm(h), norm=norm)
    )
    message = refusal(nn.Sequential(nn.Linear(4, 4), nn.Dropout(1.0)), torch.randn(6, 4))
    assert "dropout of everything" in message
    named = nn.Sequential()
    named.add_module("größe", nn.Linear(4, 4))
    assert "a module called 'größe'" in refusal(named, torch.randn(6, 4))


class Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    "module, inputs, words",
    [
        (nn.Linear(8, 4), torch.zeros(2, 9), "same reduction dim"),
        (nn.Conv2d(3, 4, 3), torch.zeros(2, 4, 8, 8), "4 channels"),
        (Branch(), torch.zeros(2, 8), "data-dependent"),
    ],
)
def test_a_refusal_is_all_that_is_said(module, inputs, words, capsys, monkeypatch):
    logs = [logging.getLogger(name) for name in logging.root.manager.loggerDict if "torch" in name]
    for handler in {each for log in logs for each in log.handlers}:
        if isinstance(handler, logging.StreamHandler):
            monkeypatch.setattr(handler, "stream", sys.stderr)  # the one that is watched
    with pytest.raises(ValueError, match=words):
        to_text(module, inputs)
    assert capsys.readouterr() == ("", "")
    assert not any(log.disabled for log in logs)


def test_a_module_that_cannot_be_exported_is_refused_with_the_reason():
    class Branches(nn.Module):
        def forward(self, x):
            raise KeyError("nothing here")

    with pytest.raises(ValueError, match="torch.export cannot follow it: KeyError") as refused:
        to_text(Branches(), torch.randn(6, 4))
    assert isinstance(refused.value.__cause__, KeyError)


def reversal():
    class Reversed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, gradient):
            return -gradient

    return Reversed


Reversed = reversal()
taken_before = Reversed.apply


def made_in_forward(h):
    return reversal().apply(h)


@pytest.mark.parametrize("call", [lambda h: Reversed.apply(h), taken_before, made_in_forward])
def test_a_backward_of_ones_own_is_refused(call):
    message = refusal(Around(lambda module, h: call(h)))
    assert message.count("the autograd.Function Reversed has a backward of its own") == 1
    assert "test_model_text_refusals.py, line" in message


def test_what_was_watched_is_as_it_was():
    base, hook = torch.autograd.Function.__dict__["apply"], torch.Tensor.register_hook
    forward = Reversed.__dict__["forward"]
    refusal(Around(lambda module, h: Reversed.apply(h)))
    assert torch.autograd.Function.__dict__["apply"] is base
    assert torch.Tensor.register_hook is hook
    assert Reversed.__dict__["forward"] is forward


def test_hooks_on_gradients_are_refused():
    def hooked(module, h):
        h.register_hook(lambda gradient: 0.1 * gradient)
        return h

    assert "register_hook puts a hook on a gradient" in refusal(Around(hooked))
    module = Around(lambda module, h: h)
    handle = module.conv.weight.register_hook(lambda gradient: 0 * gradient)
    assert "the parameter 'conv.weight' has a hook" in refusal(module)
    handle.remove()
    to_text(module, torch.randn(6, 4, 9, 7))


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_only_whole_factors_enlarge(mode):
    def by(**options):
        return Around(lambda module, h: F.interpolate(h, mode=mode, **options))

    x = torch.randn(6, 4, 11, 9)  # 9 x 7 after the convolution, 18 x 14 after either
    assert "interpolate by scale_factor [2.1, 2.1]" in refusal(by(scale_factor=2.1), x)
    same = [to_text(by(**each), x) for each in ({"scale_factor": 2.0}, {"size": (18, 14)})]
    assert same[0] == same[1] and "upsample(conv2d" in same[0]


def test_a_text_says_why_its_batch_is_not_open():
    assert "not open" not in to_text(nn.Linear(3, 2), torch.zeros(2, 3))
    text = to_text(nn.Linear(3, 2), torch.zeros(1, 3))
    assert "# The first dimension of input_1 is not open, it is 1: the example has one" in text

    class Six(nn.Linear):
        def forward(self, x):
            assert x.shape[0] == 6
            return super().forward(x)

    text = to_text(Six(3, 2), torch.zeros(6, 3))
    assert "# The first dimension of x is not open, it is 6: torch.export could not" in text


def test_the_batch_is_open_where_forward_takes_any_number_of_inputs():
    class Any(nn.Linear):
        def forward(self, *xs):
            return super().forward(xs[0] + xs[1])

    text = to_text(Any(3, 2), (torch.zeros(6, 3), torch.zeros(6, 3)))
    assert "input xs_0: f32[N, 3]" in text and "input xs_1: f32[N, 3]" in text


def test_a_text_lists_parameters_that_are_frozen_in_the_module():
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 5))
    assert "#" not in to_text(net, torch.zeros(2, 8))
    net[0].requires_grad_(False)
    text = to_text(net, torch.zeros(2, 8))
    assert "requires_grad_(False)" in text and "#   0.weight\n#   0.bias\n" in text


def test_an_input_that_is_not_used_is_named():
    class Half(nn.Module):
        def forward(self, x, mask):
            return x.mean(1)

    with pytest.raises(ValueError, match="does not use its input 'mask'"):
        to_text(Half(), [torch.randn(4, 6, 8), torch.randn(4, 6)])
