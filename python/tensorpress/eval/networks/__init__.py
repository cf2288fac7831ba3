"""The networks of the evaluations, one file each; widths and depths are parameters.

>>> from tensorpress.eval.networks import resnet_small
>>> sum(parameter.numel() for parameter in resnet_small().parameters())
78042
"""

from .alexnet import AlexNet, alexnet, alexnet_small
from .autoencoder import Autoencoder
from .encoder_decoder import EncoderDecoder
from .resnet import ResNet, resnet18, resnet34, resnet_small
from .unet import UNet

__all__ = [
    "AlexNet",
    "Autoencoder",
    "EncoderDecoder",
    "ResNet",
    "UNet",
    "alexnet",
    "alexnet_small",
    "resnet18",
    "resnet34",
    "resnet_small",
]
