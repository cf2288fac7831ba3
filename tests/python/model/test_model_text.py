"""torch modules become model texts, and these become steps with the gradients of the modules."""

import math

import pytest
import torch
import torch.nn.functional as F
from emitted import assert_same, step_of
from module_texts import same_gradients
from torch import nn

from tensorpress.torch import to_text


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


class Residual(nn.Module):
    """Functional calls, a residual, a parameter of its own, in-place ReLU."""

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.scale = nn.Parameter(torch.rand(channels, 1, 1))

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)) * self.scale + x, inplace=True)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.Sequential(Residual(8), Residual(8))
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.norm = nn.GroupNorm(2, 16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        y = self.up(F.silu(self.pool(x)))
        x = self.norm(torch.cat([x, y], 1))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc(0.5 * x - 1)


def test_residuals_functional_calls_and_free_parameters(tmp_path):
    torch.manual_seed(8)
    text = same_gradients(tmp_path, Images(), torch.randn(4, 3, 8, 8))
    assert "param scale: f32[8, 1, 1]" in text
    assert "cat([" in text


class Tokens(nn.Module):
    """Attention as people write it, and a head tied to the embedding."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        x = self.table(ids)
        b, t, f = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (each.view(b, t, 4, f // 4).transpose(1, 2) for each in (q, k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, f))
        return self.head(F.gelu(x))


def test_attention_and_a_tied_head(tmp_path):
    torch.manual_seed(9)
    ids = torch.randint(20, (3, 6))
    text = same_gradients(tmp_path, Tokens(), ids, loss="mse_loss")
    assert "attention(chunk_0, chunk_1, chunk_2, 4, causal=true)" in text
    assert "weight=@table.weight" in text


class Masked(nn.Module):
    """Attention with a mask of padding, a class token, and parts of tensors."""

    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.bias = nn.Parameter(torch.randn(4, 7, 7))
        self.qkv = nn.Linear(16, 48)
        self.head = nn.Linear(16, 10)

    def forward(self, x, counts):
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        q, k, v = self.qkv(x).view(-1, 7, 3, 4, 4).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=counts[:, None, None, :], scale=0.4)
        a = a + F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)
        a = a.transpose(1, 2).reshape(-1, 7, 16)
        return self.head(a[:, 0] + a[:, 1:].sum(1))


def test_attention_with_masks_and_a_class_token(tmp_path):
    torch.manual_seed(12)
    counts = torch.rand(5, 7) < 0.7
    counts[:, 0] = True
    text = same_gradients(tmp_path, Masked(), (torch.randn(5, 6, 16), counts), loss="cross_entropy")
    assert "expand(token, x, shape=[0, -1, -1])" in text
    assert "scale=0.4" in text
    assert "permute(" in text


def test_attention_with_dropout_draws_as_the_module(tmp_path):
    class Dropped(Tokens):
        def forward(self, ids):
            x = self.table(ids)
            q, k, v = self.qkv(x).chunk(3, -1)
            q, k, v = (each.unflatten(2, (4, 4)).transpose(1, 2) for each in (q, k, v))
            a = F.scaled_dot_product_attention(q, k, v, dropout_p=0.3, is_causal=True)
            return self.head(self.out(self.norm(a.transpose(1, 2).flatten(2))))

    torch.manual_seed(9)
    ids, module = torch.randint(20, (3, 6)), Dropped()
    text = to_text(module, ids, loss="mse_loss")
    assert "causal=true, dropout=0.3" in text
    step = step_of(tmp_path, text, module)
    wanted = torch.randn(3, 6, 20)
    torch.manual_seed(10)
    loss = F.mse_loss(module(ids), wanted)
    loss.backward()
    torch.manual_seed(10)
    step_loss = step(ids, wanted)
    step.backward()
    assert_same(step, step_loss.detach(), module, loss.detach())


class Elementwise(nn.Module):
    """Functions of elements as people write them by hand."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(12, 12)
        self.gain = nn.Parameter(torch.rand(12))
        self.act = nn.Sequential(nn.LeakyReLU(0.2), nn.Linear(12, 12), nn.ReLU6(), nn.Hardtanh())

    def forward(self, x, keep, ban):
        h = self.fc(x)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain
        h = self.act(h).square() + torch.exp(-h.abs()) + torch.log(h**2 + 1).sqrt()
        h = torch.where(h > 0.5, h, 0.25 * h) + torch.where(keep, h, self.gain)
        weights = F.softmax(h.masked_fill(ban, float("-inf")), -1)
        return torch.stack(
            [weights.sum(-1), (weights * h).sum(-1), h[:, -1], h[:, ::3].mean(-1)], 1
        )


def test_functions_of_elements_masks_and_parts(tmp_path):
    torch.manual_seed(13)
    keep = torch.rand(6, 12) < 0.7
    keep[:, 0] = True
    inputs = (torch.randn(6, 12), keep, ~keep)
    text = same_gradients(tmp_path, Elementwise(), inputs, loss="mse_loss")
    for part in (
        "leaky_relu(",
        "slope=0.2",
        "relu6(",
        "hardtanh(",
        "-infinity",
        "stack(",
        "rsqrt(",
    ):
        assert part in text, part


class Edges(nn.Module):
    """Attention over the edges of a graph."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 8)
        self.score = nn.Linear(16, 1)

    def forward(self, x, source, target):
        h = self.fc(x)
        pairs = torch.cat([h.index_select(0, source), h[target]], 1)
        e = torch.exp(F.leaky_relu(self.score(pairs), 0.2))
        total = e.new_zeros(x.shape[0], 1).index_add(0, target, e)
        alpha = e / total[target]
        return torch.zeros_like(h).index_add_(0, target, alpha * h[source])


def test_attention_over_edges(tmp_path):
    torch.manual_seed(14)
    source, target = torch.randint(7, (30,)), torch.cat([torch.arange(7), torch.randint(7, (23,))])
    text = same_gradients(tmp_path, Edges(), (torch.randn(7, 6), source, target), loss="mse_loss")
    assert text.count("segment_sum(") == 2


def test_batch_norm_in_evaluation_uses_its_running_statistics(tmp_path):
    torch.manual_seed(15)
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(72, 4)
    )
    net[1].running_mean.normal_()
    net[1].running_var.uniform_(0.5, 2)
    text = same_gradients(tmp_path, net.eval(), torch.randn(4, 3, 5, 5))
    assert "batch_norm(conv2d, training=false)" in text


def test_a_module_that_gives_its_loss(tmp_path):
    class WithLoss(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(6, 6)

        def forward(self, x):
            return F.mse_loss(torch.tanh(self.fc(x)), x)

    text = same_gradients(tmp_path, WithLoss(), torch.randn(4, 6), loss=None)
    assert text.rstrip().endswith("loss mse_loss")


def test_hardtanh_without_an_upper_limit_is_relu(tmp_path):
    torch.manual_seed(16)
    net = nn.Sequential(nn.Linear(8, 8), nn.Hardtanh(0.0, math.inf), nn.Linear(8, 5))
    text = same_gradients(tmp_path, net, torch.randn(6, 8))
    assert "1: relu(linear)" in text


class Assigned(nn.Module):
    """Parts of tensors that are assigned to, and constants of many kinds."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(12, 12)
        self.table = nn.Embedding(9, 12, padding_idx=3)
        self.register_buffer("scale", torch.rand(12), persistent=False)
        self.register_buffer("order", torch.randperm(9), persistent=False)

    def forward(self, x, ids):
        before = self.fc(x)
        h = before * 1
        h[:, 1:4] = self.table(self.order[:3])
        h[..., -2] = 0.5
        shifted = ids.new_zeros(ids.shape)
        shifted[:, 1:] = ids[:, :-1].clone()
        shifted[:, 0] = 3
        shifted.masked_fill_(shifted == 5, 0)
        with torch.no_grad():
            turn = torch.outer(torch.arange(x.shape[1]).float(), self.scale).sin()
        rest = torch.full_like(h, 0.25).cumsum(1) + torch.diff(torch.arange(4.0)).sum()
        return h * turn + self.table(shifted) * before.roll((1, 2), (1, 2)) + rest


def test_assignments_and_constants(tmp_path):
    torch.manual_seed(17)
    inputs = (torch.randn(4, 7, 12), torch.randint(9, (4, 7)))
    text = same_gradients(tmp_path, Assigned(), inputs, loss="mse_loss")
    assert "padding=3" in text and "roll(" in text and "numbers(" in text
    assert "copy" in text and "cat([" in text
    assert "diff" not in text  # of constants


def test_a_constant_of_the_batch_size_is_refused():
    class Averaged(nn.Module):
        def forward(self, x):
            return x * torch.ones_like(x).sum()

    with pytest.raises(ValueError, match="depends on an open size|size of an open dimension"):
        to_text(nn.Sequential(nn.Linear(4, 4), Averaged()), torch.randn(3, 4))


class Attending(nn.Module):
    """PyTorch's own attention; what `attend` gives it are query, key and value."""

    def __init__(self, attend, weights, **options):
        super().__init__()
        self.weights = weights
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True, **options)
        self.head = nn.Linear(32, 10)
        self.attend = attend

    def forward(self, x, *others):
        made, _ = self.attention(*self.attend(x, *others), need_weights=self.weights)
        return self.head(made.mean(1))


@pytest.mark.parametrize("options", [{}, {"bias": False}])
@pytest.mark.parametrize("weights", [False, True])
def test_multihead_attention_over_what_it_is_given(tmp_path, weights, options):
    """With one weight for the three it multiplies by parts of that."""
    x, memory, other = torch.randn(4, 6, 32), torch.randn(4, 5, 32), torch.randn(4, 5, 32)
    cases = {
        "itself": (lambda x: (x, x, x), [x]),
        "one example for three": (lambda q, k, v: (q, k, v), [x, x, x]),
        "a memory": (lambda x, memory: (x, memory, memory), [x, memory]),
        "three": (lambda q, k, v: (q, k, v), [x, memory, other]),
    }
    for name, (attend, inputs) in cases.items():
        (tmp_path / name).mkdir()
        module = Attending(attend, weights, **options)
        text = same_gradients(tmp_path / name, module, inputs, rounded=True)
        assert text.count("input ") == len(inputs), name


def test_one_tensor_as_the_example_of_two_inputs_stands_for_two():
    class Difference(nn.Module):
        def forward(self, a, b):
            return (a - 2 * b).mean(1)

    x = torch.randn(4, 6, 8)
    assert to_text(Difference(), [x, x]) == to_text(Difference(), [x, x.clone()])
