"""Steps of modules have the names of the modules, also where functions call the operators."""

import pytest
import torch
import torch.nn.functional as F
from emitted import step_of
from module_texts import same_gradients
from torch import nn

from tensorpress.torch import to_text


class Attention(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.a = nn.MultiheadAttention(16, 4, batch_first=True, bias=bias)
        self.f = nn.Linear(16, 5)

    def forward(self, x):
        return self.f(self.a(x, x, x, need_weights=False)[0].mean(1))


@pytest.mark.parametrize("bias", [True, False])
def test_multihead_attention_has_its_own_names(tmp_path, bias):
    torch.manual_seed(20)
    text = same_gradients(tmp_path, Attention(bias), torch.randn(6, 7, 16), rounded=True)
    assert "param in_proj_weight: f32[48, 16]" in text


@pytest.mark.parametrize("first", [True, False])
def test_layers_of_a_transformer_have_their_own_names(tmp_path, first):
    torch.manual_seed(21)
    layer = nn.TransformerEncoderLayer(
        16, 4, 32, dropout=0.0, batch_first=True, norm_first=first, activation="gelu"
    )
    inner = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    net = nn.Sequential(inner, nn.Flatten(), nn.Linear(112, 5))
    text = same_gradients(tmp_path, net, torch.randn(6, 7, 16), rounded=True)
    assert "0.layers.1.self_attn: parameters_0_layers_1_self_attn()" in text


class Functional(nn.Module):
    """Parameters of the model and of a module, used by functions; two that forward does not read;
    one that has the name of an input."""

    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(torch.randn(8, 16))
        self.v = nn.Parameter(torch.randn(8))
        self.x = nn.Parameter(torch.randn(16))
        self.scaled = Scaled(8)
        self.aux = nn.Linear(8, 2)
        self.f = nn.Linear(8, 5)

    def forward(self, x):
        h = F.linear(x + self.x, self.W, self.v)
        return self.f(self.scaled(F.relu(h)).mean(1))


class Scaled(nn.Module):
    """A product and other parameters in one module."""

    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features, features))
        self.bias = nn.Parameter(torch.randn(features))
        self.gain = nn.Parameter(torch.rand(features))

    def forward(self, x):
        return F.relu(F.linear(x, self.weight, self.bias)) * self.gain


def test_functions_of_parameters_and_unread_ones_keep_the_state_dict(tmp_path):
    torch.manual_seed(22)
    net, x, labels = Functional(), torch.randn(6, 3, 16), torch.randint(5, (6,))
    step = step_of(tmp_path, to_text(net, x), net)  # compares the names
    net.load_state_dict(step.state_dict())
    loss = F.cross_entropy(net(x), labels)
    loss.backward()
    torch.testing.assert_close(step(x, labels).detach(), loss.detach())
    step.backward()
    for name, each in net.named_parameters():
        mine = step.get_parameter(name).grad
        if each.grad is None:
            assert mine is None, name
        else:
            torch.testing.assert_close(mine, each.grad, msg=name)


def test_a_weight_that_is_read_before_its_module_is_called(tmp_path):
    class Early(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 5)

        def forward(self, x):
            scale = self.fc.weight.abs().mean()
            return self.fc(x) * scale

    torch.manual_seed(23)
    same_gradients(tmp_path, Early(), torch.randn(6, 8), rounded=True)


def test_a_batch_norm_that_is_called_twice(tmp_path):
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(4, 6, 3)
            self.norm = nn.BatchNorm2d(6)
            self.fc = nn.Linear(6, 5)

        def forward(self, x):
            return self.fc(self.norm(F.relu(self.norm(self.conv(x)))).mean((2, 3)))

    torch.manual_seed(24)
    text = same_gradients(tmp_path, Twice(), torch.randn(6, 4, 9, 7))
    assert "share norm: batch_norm(" in text


def test_a_convolution_after_another_operator_of_its_module_keeps_its_name(tmp_path):
    class Padded(nn.Conv2d):
        def forward(self, x):
            return super().forward(F.pad(x, (1, 1, 1, 1)))

    torch.manual_seed(27)
    net = nn.Sequential(Padded(3, 4, 3), nn.Flatten(), nn.Linear(256, 5))
    assert "0: conv2d(" in same_gradients(tmp_path, net, torch.randn(2, 3, 8, 8))


class Evaluated(nn.Module):
    """Dropout gives its argument in evaluation, so both names see a change."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 8)
        self.d = nn.Dropout(0.5)
        self.f = nn.Linear(8, 5)

    def forward(self, x):
        h = self.a(x)
        g = self.d(h)
        g += 1
        return self.f(h * g)


def test_a_change_in_place_is_seen_through_dropout_in_evaluation(tmp_path):
    torch.manual_seed(25)
    same_gradients(tmp_path, Evaluated().eval(), torch.randn(6, 16))


def test_a_change_seen_through_a_view_of_what_dropout_gives_is_refused():
    class View(Evaluated):
        def forward(self, x):
            h = self.a(x)
            g = self.d(h).view(-1, 4, 2)
            h += 1
            return self.f(g.flatten(1))

    with pytest.raises(ValueError, match="through a view"):
        to_text(View().eval(), torch.randn(6, 16))
