"""DCT+Chop for PyTorch, on any device that PyTorch has, and compressed training data.

>>> import torch, tensorpress.torch
>>> compressor = tensorpress.torch.ChopCompressor((32, 32), cf=4)
>>> compressor(torch.zeros(100, 3, 32, 32)).shape
torch.Size([100, 3, 16, 16])

Inside this package `import torch` is PyTorch; importing tensorpress does not import it.
"""

from . import ops  # registers torch.ops.tensorpress
from .activations import CompressedActivations, compress_activations
from .chop import ChopCompressor, ChopDecompressor, compressed_shape
from .data import CompressedDataset, CompressedLoader
from .plan import Plan

__all__ = [
    "ChopCompressor",
    "ChopDecompressor",
    "CompressedActivations",
    "CompressedDataset",
    "CompressedLoader",
    "Plan",
    "compress_activations",
    "compressed_shape",
    "ops",
]
