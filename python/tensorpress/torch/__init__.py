"""DCT+Chop for PyTorch, on any device that PyTorch has, and compressed training data.

>>> import torch, tensorpress.torch
>>> compressor = tensorpress.torch.ChopCompressor((32, 32), cf=4)
>>> compressor(torch.zeros(100, 3, 32, 32)).shape
torch.Size([100, 3, 16, 16])

Inside this package `import torch` is PyTorch; importing tensorpress does not import it.
"""

from . import (
    clients,
    ops,  # registers torch.ops.tensorpress
)
from .activations import (
    Adaptive,
    AdaptiveStep,
    ComparedGradients,
    CompressedActivations,
    compare_gradients,
    compress_activations,
)
from .checkpoint import (
    Checkpoint,
    CheckpointReport,
    DistributedReader,
    DistributedWriter,
    load,
    load_safetensors,
    save,
    save_safetensors,
)
from .chop import ChopCompressor, ChopDecompressor, compressed_shape
from .compiled import compile, compile_options, compiled_report
from .data import CompressedDataset, CompressedLoader, CompressedRecords
from .export import to_text, write_graph
from .gradients import GradientCompression, GradientReport, compress_gradients
from .logits import LinearCrossEntropy, fuse_logits, linear_cross_entropy

# Files that `tensorpress model emit --native` writes import these by these names.
from .logits import slices as logit_slices  # noqa: F401
from .packing import by_device as native_packing  # noqa: F401
from .packing import codecs as tensor_codecs  # noqa: F401
from .packing import pool_indices, seeded_dropout  # noqa: F401
from .policy.policy import Policy
from .scores import measure_activations

__all__ = [
    "Adaptive",
    "AdaptiveStep",
    "Checkpoint",
    "CheckpointReport",
    "ChopCompressor",
    "ChopDecompressor",
    "ComparedGradients",
    "CompressedActivations",
    "CompressedDataset",
    "CompressedLoader",
    "CompressedRecords",
    "DistributedReader",
    "DistributedWriter",
    "GradientCompression",
    "GradientReport",
    "LinearCrossEntropy",
    "Policy",
    "clients",
    "compare_gradients",
    "compile",
    "compile_options",
    "compiled_report",
    "compress_activations",
    "compress_gradients",
    "compressed_shape",
    "fuse_logits",
    "linear_cross_entropy",
    "load",
    "load_safetensors",
    "measure_activations",
    "ops",
    "save",
    "save_safetensors",
    "to_text",
    "write_graph",
]
