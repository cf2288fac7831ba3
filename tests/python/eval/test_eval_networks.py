"""The networks of the evaluations: sizes as published, and shapes that fit the benchmarks."""

import doctest

import pytest

torch = pytest.importorskip("torch")

from tensorpress.eval import networks


def parameters(network):
    return sum(parameter.numel() for parameter in network.parameters())


def test_the_example_prints_what_it_says():
    assert doctest.testmod(networks).failed == 0


# The usual counts for CIFAR-10: 11.17 and 21.28 million, 0.078 and 0.15 million in the study.
@pytest.mark.parametrize(
    "make, count",
    [
        (networks.resnet18, 11_173_962),
        (networks.resnet34, 21_282_122),
        (networks.resnet_small, 78_042),
        (networks.alexnet_small, 147_082),
    ],
)
def test_classifiers_have_the_published_number_of_parameters(make, count):
    network = make()
    assert parameters(network) == count
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


@pytest.mark.parametrize(
    "network, shape, outputs",
    [
        (networks.EncoderDecoder(), (2, 1, 64, 64), 1),
        (networks.EncoderDecoder(widths=(4, 8)), (1, 1, 32, 48), 1),
        (networks.UNet(widths=(8, 16, 32, 64)), (2, 9, 64, 64), 1),
        (networks.Autoencoder(extent=(40, 24), latent=16), (2, 1, 40, 24), 1),
    ],
)
def test_networks_on_planes_keep_height_and_width(network, shape, outputs):
    assert network(torch.zeros(shape)).shape == (shape[0], outputs, *shape[2:])


def test_width_and_depth_are_parameters():
    wide = networks.ResNet((1, 2), (8, 24), classes=5, channels=1)
    assert wide(torch.zeros(3, 1, 16, 16)).shape == (3, 5)
    assert parameters(networks.resnet18(width=8)) < parameters(networks.resnet18()) / 50
