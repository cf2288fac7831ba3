"""Gradients that travel compressed between the processes of DistributedDataParallel."""

from .compression import GradientCompression, compress_gradients
from .report import GradientReport

__all__ = ["GradientCompression", "GradientReport", "compress_gradients"]
