"""The networks of the evaluations, one file each; widths and depths are parameters.

>>> from tensorpress.eval.networks import resnet_small
>>> sum(parameter.numel() for parameter in resnet_small().parameters())
78042
"""

from .alexnet import AlexNet, alexnet, alexnet_small
from .autoencoder import Autoencoder
from .encoder_decoder import EncoderDecoder
from .graphs import GraphConvolutions, GraphSage
from .lora import LoraLinear, with_lora
from .resnet import ResNet, resnet18, resnet34, resnet50, resnet_small
from .resnet20 import ResNet20
from .transformers import Gpt2, VitTiny
from .unet import UNet
from .vgg import Vgg11

__all__ = [
    "AlexNet",
    "Autoencoder",
    "EncoderDecoder",
    "Gpt2",
    "GraphConvolutions",
    "GraphSage",
    "LoraLinear",
    "ResNet",
    "ResNet20",
    "UNet",
    "Vgg11",
    "VitTiny",
    "alexnet",
    "alexnet_small",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet_small",
    "with_lora",
]
