"""Model texts become steps whose losses and gradients are those of the same nn.Module."""

import pytest
import torch
import torch.nn.functional as F
from emitted import assert_same, gradients, step_of
from torch import nn

from tensorpress.eval import networks
from tensorpress.eval.networks.autoencoder import Autoencoder
from tensorpress.eval.networks.encoder_decoder import EncoderDecoder
from tensorpress.eval.networks.unet import UNet

SMALL = """
model small
input x: f32[N, 3, 8, 8]
target y: i64[N]
h = conv1: conv2d(x, 8, 3, padding = 1)
h = relu(h)
h = conv2: conv2d(h, 8, 3, stride = 2, bias = false)
h = relu(h)
h = fc1: linear(flatten(h), 16)
h = relu(h)
h = fc2: linear(h, 10)
loss cross_entropy(h, y)
"""


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, stride=2, bias=False)
        self.fc1 = nn.Linear(72, 16)
        self.fc2 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def images(count, channels, size, classes=10):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(count, channels, size, size, generator=generator)
    return x, torch.randint(classes, (count,), generator=generator)


def test_small_network_off_is_autograd_bit_by_bit(tmp_path):
    torch.manual_seed(1)
    twin = Small()
    step = step_of(tmp_path, SMALL, twin)
    for count in (20, 7):  # a short last batch
        x, y = images(count, 3, 8)
        step.zero_grad()
        twin.zero_grad()
        loss = F.cross_entropy(twin(x), y)
        loss.backward()
        step_loss = step(x, y)
        step.backward()
        assert_same(step, step_loss, twin, loss)


def cloudy(count, channels, size):
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(count, channels, size, size, generator=generator)
    return x, torch.rand(count, 1, size, size, generator=generator)


class Vgg11(nn.Module):
    """Configuration A of Simonyan and Zisserman 2015, for 32x32 images."""

    def __init__(self):
        super().__init__()
        layers, channels = [], 3
        for size in (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"):
            if size == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [nn.Conv2d(channels, size, 3, padding=1), nn.ReLU()]
                channels = size
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(512, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Convolutions(nn.Module):
    """The graph convolutions of Kipf and Welling 2017."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Linear(128, 256, bias=False)
        self.conv2 = nn.Linear(256, 256, bias=False)
        self.conv3 = nn.Linear(256, 40, bias=False)

    def forward(self, adjacency, x):
        for layer in (self.conv1, self.conv2):
            x = F.relu(torch.sparse.mm(adjacency, layer(F.dropout(x, 0.5))))
        return torch.sparse.mm(adjacency, self.conv3(F.dropout(x, 0.5)))


def test_shipped_gcn_off_is_autograd_bit_by_bit(tmp_path):
    torch.manual_seed(2)
    twin = Convolutions()
    step = step_of(tmp_path, "gcn.tpm", twin)
    adjacency = (torch.rand(30, 30) * (torch.rand(30, 30) < 0.2)).to_sparse_csr()
    x, y = torch.randn(30, 128), torch.randint(40, (30,))
    torch.manual_seed(5)  # the same dropout
    loss = F.cross_entropy(twin(adjacency, x), y)
    loss.backward()
    torch.manual_seed(5)
    step_loss = step(adjacency, x, y)
    step.backward()
    assert_same(step, step_loss, twin, loss)


class VitLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(192), nn.LayerNorm(192)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(192, 576), "proj": nn.Linear(192, 192)})
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(192, 768), "fc2": nn.Linear(768, 192)})

    def forward(self, x):
        parts = self.attn["qkv"](self.norm1(x)).chunk(3, -1)
        q, k, v = (part.unflatten(2, (3, 64)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.attn["proj"](mixed)
        return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class VitTiny(nn.Module):
    """Dosovitskiy et al. 2021, for 32x32 images in patches of 4x4."""

    def __init__(self):
        super().__init__()
        self.pos_embed = nn.Parameter(torch.randn(1, 64, 192))
        self.patch_embed = nn.Conv2d(3, 192, 4, 4)
        self.blocks = nn.Sequential(*(VitLayer() for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 10)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2) + self.pos_embed
        return self.head(self.norm(self.blocks(x)).mean(1))


NETWORKS = {
    "vit_tiny": (VitTiny, lambda: images(2, 3, 32), F.cross_entropy),
    "vgg11": (Vgg11, lambda: images(4, 3, 32), F.cross_entropy),
    "resnet34": (networks.resnet34, lambda: images(4, 3, 32), F.cross_entropy),
    "resnet18": (networks.resnet18, lambda: images(4, 3, 32), F.cross_entropy),
    "alexnet": (networks.alexnet, lambda: images(4, 3, 32), F.cross_entropy),
    "unet": (UNet, lambda: cloudy(1, 9, 256), F.binary_cross_entropy_with_logits),
    "encoder_decoder": (EncoderDecoder, lambda: cloudy(1, 1, 256), F.mse_loss),
    "autoencoder": (Autoencoder, lambda: cloudy(2, 1, 200), F.mse_loss),
}


def both(tmp_path, name, *options):
    """The losses of the emitted step and of the nn.Module, which both have gradients then."""
    make, data, loss_of = NETWORKS[name]
    torch.manual_seed(2)
    twin = make()
    step = step_of(tmp_path, f"{name}.tpm", twin, *options)
    x, y = data()
    torch.manual_seed(5)  # the same dropout
    loss = loss_of(twin(x), y)
    loss.backward()
    torch.manual_seed(5)
    step_loss = step(x, y)
    step.backward()
    return step, step_loss, twin, loss


@pytest.mark.parametrize("name", NETWORKS)
def test_shipped_model_off_is_autograd_bit_by_bit(tmp_path, name):
    assert_same(*both(tmp_path, name))


@pytest.mark.parametrize("name", ["resnet18", "unet", "encoder_decoder"])
@pytest.mark.parametrize("options", [("safe",), ("balanced",), ("balanced", "--portable")])
def test_lossy_gradients_stay_near(tmp_path, name, options):
    step, step_loss, twin, loss = both(tmp_path, name, "--plan", *options)
    torch.testing.assert_close(step_loss, loss.detach())
    mine, other = gradients(step), gradients(twin)
    error = sum(float((mine[n] - other[n]).square().sum()) for n in other)
    size = sum(float(other[n].square().sum()) for n in other)
    # 8 bits: steps of 1/255 of a group's range; 4 bits: of 1/15, sixteen times as much.
    assert error**0.5 < (0.02 if options == ("safe",) else 0.32) * size**0.5


def test_lossless_plan_is_autograd_bit_by_bit(tmp_path):
    assert_same(*both(tmp_path, "resnet18", "--plan", "lossless"))


def test_update_in_backward_is_that_of_sgd(tmp_path):
    torch.manual_seed(1)
    twin = Small()
    step = step_of(tmp_path, SMALL, twin, "--optimizer", "sgd")
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.01, momentum=0.9)
    x, y = images(8, 3, 8)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(twin(x), y).backward()
        optimizer.step()
        step(x, y)
        step.backward()
    for name, parameter in twin.named_parameters():
        assert step.get_parameter(name).grad is None
        torch.testing.assert_close(step.get_parameter(name), parameter)
