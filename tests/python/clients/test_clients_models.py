"""Models of libraries that leave the loop to their users: timm, diffusers, PyTorch Geometric."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from tiny_training import check_levels, trained

pytestmark = pytest.mark.usefixtures("one_thread")


class WithoutTorchvision(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """timm imports torchvision, whose wheels are for GPUs and do not load beside PyTorch for CPUs.
    What timm's models need of it are names, which they compare types with."""

    def __enter__(self):
        sys.meta_path.insert(0, self)

    def __exit__(self, *error):
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = placeholder
        return module

    def exec_module(self, module):
        pass


def placeholder(name):
    if name.startswith("__") or name == "InterpolationMode":  # which timm does without
        raise AttributeError(name)
    return type(name, (), {})


@pytest.fixture(scope="module")
def timm():
    if importlib.util.find_spec("timm") is None:
        pytest.skip("timm is not installed")
    with WithoutTorchvision():
        import timm
    return timm


@pytest.mark.parametrize(
    "name, ratio", [("test_resnet", 5), ("test_vit", 2.5), ("test_convnext", 4)]
)
def test_a_model_of_timm(timm, name, ratio):
    generator = torch.Generator().manual_seed(4)
    labels = torch.arange(16) % 4
    images = torch.randn(16, 3, 160, 160, generator=generator)
    images[torch.arange(16), labels % 3] += 1.0 + labels.view(-1, 1, 1)

    def train(level):
        torch.manual_seed(1)
        model = timm.create_model(name, num_classes=4)
        batches = 8 * [(images, labels)]
        return trained(model, batches, classify, level, rate=1e-3)

    check_levels(train, ratio)


def classify(model, batch):
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def test_a_training_step_of_a_diffusion_model():
    diffusers = pytest.importorskip("diffusers")
    generator = torch.Generator().manual_seed(4)
    batches = []
    scheduler = diffusers.DDPMScheduler(num_train_timesteps=100)
    clean = torch.rand(4, 3, 16, 16, generator=generator)
    for _ in range(10):
        noise = torch.randn(clean.shape, generator=generator)
        times = torch.randint(100, (4,), generator=generator)
        batches.append((scheduler.add_noise(clean, noise, times), times, noise))

    def train(level):
        torch.manual_seed(1)
        model = diffusers.UNet2DModel(
            sample_size=16,
            block_out_channels=(32, 64),
            layers_per_block=1,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
            norm_num_groups=8,
        )
        return trained(model, batches, denoise, level, rate=2e-3)

    check_levels(train, 3)


def denoise(model, batch):
    noisy, times, noise = batch
    return F.mse_loss(model(noisy, times).sample, noise)


@pytest.mark.parametrize("kind", ["GCNConv", "GATConv", "SAGEConv"])
def test_a_graph_network_of_pytorch_geometric(kind):
    geometric = pytest.importorskip("torch_geometric.nn")
    layer = getattr(geometric, kind)
    generator = torch.Generator().manual_seed(4)
    vertices = 4096
    edges = torch.randint(vertices, (2, 2 * vertices), generator=generator)
    labels = torch.arange(vertices) % 4
    features = torch.randn(vertices, 64, generator=generator)
    features[torch.arange(vertices), labels] += 2

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList([layer(64, 64), layer(64, 64), layer(64, 4)])

        def forward(self, x, edges):
            for each in self.layers[:-1]:
                x = F.dropout(each(x, edges).relu(), 0.2, self.training)
            return self.layers[-1](x, edges)

    def train(level):
        torch.manual_seed(1)
        return trained(
            Network(), 16 * [(features, edges, labels)], label_vertices, level, rate=2e-2
        )

    check_levels(train, 1.5)


def label_vertices(model, batch):
    features, edges, labels = batch
    return F.cross_entropy(model(features, edges), labels)
