"""A model on the device meta says what it would save and store, to the byte, without memory."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn

from tensorpress.eval.networks import Gpt2, UNet, VitTiny, resnet_small
from tensorpress.torch import compress_activations

pytestmark = pytest.mark.usefixtures("one_thread")


class Pooled(nn.Module):
    """What the others lack: max-pooling, dropout, a masked attention of nn.MultiheadAttention."""

    def __init__(self):
        super().__init__()
        self.conv, self.pool = nn.Conv2d(3, 48, 3, padding=1), nn.MaxPool2d(2)
        self.attention = nn.MultiheadAttention(48, 4, batch_first=True)
        self.act, self.drop, self.head = nn.SiLU(), nn.Dropout(0.2), nn.Linear(48, 10)

    def forward(self, x):
        x = self.pool(self.act(self.conv(x))).flatten(2).transpose(1, 2)
        x, _ = self.attention(x, x, x, need_weights=False)
        return self.drop(self.head(x)).mean(1)


def pictures(device):
    return torch.rand(4, 3, 32, 32, device=device), torch.zeros(4, dtype=torch.long, device=device)


def scenes(device):
    shape = (2, 9, 32, 32)
    return torch.rand(shape, device=device), torch.zeros(2, 1, 32, 32, device=device)


def tokens(device):
    return torch.zeros(2, 64, dtype=torch.long, device=device), torch.zeros(
        128, dtype=torch.long, device=device
    )


NETWORKS = {
    "resnet": (resnet_small, pictures, F.cross_entropy),
    "vit": (lambda: VitTiny(layers=2, features=96), pictures, F.cross_entropy),
    "gpt2": (lambda: Gpt2(500, 64, 2, 96), tokens, F.cross_entropy),
    "unet": (lambda: UNet(widths=(8, 16)), scenes, F.binary_cross_entropy_with_logits),
    "pooled": (Pooled, pictures, F.cross_entropy),
}
PLANS = [
    "off",
    "lossless",
    "balanced",
    "max",
    {"level": "lossless", "default": {"codec": "quantize", "bits": 2}},
    {"level": "lossless", "default": {"codec": "cast", "to": "e4m3"}},
]


def report_of(make, batch, loss, plan, device, steps=1):
    torch.manual_seed(0)
    with torch.device(device):
        model = make()
    with compress_activations(model, plan) as run:
        for _ in range(steps):
            inputs, targets = batch(device)
            loss(model(inputs), targets).backward()
    return run.report()


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("network", NETWORKS)
def test_an_estimate_is_what_training_reports(network, plan):
    estimated = report_of(*NETWORKS[network], plan, "meta")
    measured = report_of(*NETWORKS[network], plan, "cpu")
    assert estimated.saved_bytes == measured.saved_bytes > 100_000
    rows = [
        [(each.name, each.shape, each.codec, each.bytes_after) for each in report.activations]
        for report in (estimated, measured)
    ]
    assert rows[0] == rows[1]
    assert estimated.stored_bytes == measured.stored_bytes
    assert any("estimated without values" in note for note in estimated.notes)
    assert not any("estimated" in note for note in measured.notes)


def test_steps_after_the_first_and_gradients_have_sizes(network="gpt2"):
    estimated = report_of(*NETWORKS[network], "balanced", "meta", steps=2)
    assert estimated.steps == 2
    assert estimated.stored_bytes == report_of(*NETWORKS[network], "balanced", "cpu").stored_bytes


def test_a_model_larger_than_this_machine_is_estimated():
    with torch.device("meta"):
        model = Gpt2(tokens=50304, length=1024, layers=12, features=768)
        batch = torch.zeros(512, 1024, dtype=torch.long)
    with compress_activations(model, "balanced") as run:
        F.cross_entropy(model(batch), batch.flatten()).backward()
    report = run.report()
    assert report.saved_bytes > 400e9 and 3 < report.ratio < 8


def test_a_codec_whose_size_depends_on_values_is_refused():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))
    plan = {"default": {"codec": "dense", "relative": 1e-2}}
    with compress_activations(model, plan), pytest.raises(TypeError, match="on meta.*dense"):
        model(torch.rand(100, 64, device="meta"))
