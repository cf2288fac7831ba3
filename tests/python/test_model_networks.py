"""Model texts become steps whose losses and gradients are those of the same nn.Module."""

import torch
import torch.nn.functional as F
from emitted import assert_same, step_of
from torch import nn

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
