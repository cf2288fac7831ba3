"""DCT+Chop for PyTorch, on any device that PyTorch has, and compressed training data.

>>> import torch, tensorpress.torch
>>> compressor = tensorpress.torch.ChopCompressor((32, 32), cf=4)
>>> compressor(torch.zeros(100, 3, 32, 32)).shape
torch.Size([100, 3, 16, 16])

Inside this package `import torch` is PyTorch; importing tensorpress does not import it.
"""

from . import ops  # registers torch.ops.tensorpress
from .activations import CompressedActivations, compress_activations
from .adaptive import Adaptive, AdaptiveStep
from .checkpoint import Checkpoint, CheckpointReport, load, save
from .chop import ChopCompressor, ChopDecompressor, compressed_shape
from .data import CompressedDataset, CompressedLoader
from .gradients import GradientCompression, GradientReport, compress_gradients
from .graph import write_graph
from .model_text import to_text
from .plan import Plan
from .scores import measure_activations

__all__ = [
    "Adaptive",
    "AdaptiveStep",
    "Checkpoint",
    "CheckpointReport",
    "ChopCompressor",
    "ChopDecompressor",
    "CompressedActivations",
    "CompressedDataset",
    "CompressedLoader",
    "GradientCompression",
    "GradientReport",
    "Plan",
    "compress_activations",
    "compress_gradients",
    "compressed_shape",
    "load",
    "measure_activations",
    "ops",
    "save",
    "to_text",
    "write_graph",
]
