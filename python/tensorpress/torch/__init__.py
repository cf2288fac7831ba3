"""DCT+Chop for PyTorch, on any device that PyTorch has.

>>> import torch, tensorpress.torch
>>> compressor = tensorpress.torch.ChopCompressor((32, 32), cf=4)
>>> compressor(torch.zeros(100, 3, 32, 32)).shape
torch.Size([100, 3, 16, 16])

Inside this package `import torch` is PyTorch; importing tensorpress does not import it.
"""

from .chop import ChopCompressor, ChopDecompressor, compressed_shape
from .graph import write_graph

__all__ = ["ChopCompressor", "ChopDecompressor", "compressed_shape", "write_graph"]
