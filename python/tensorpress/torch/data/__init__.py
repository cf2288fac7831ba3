"""Training data that is stored compressed and decompressed on its way to the model.

`CompressedDataset` keeps samples compressed in memory or in a folder of .tpz files;
`CompressedLoader` brings them to the model as batches, decompressed by a worker or on the device,
and says what that cost. docs/guide/training-data.md shows both.
"""

from .dataset import CompressedDataset
from .loader import CompressedLoader
from .report import LoaderReport

__all__ = ["CompressedDataset", "CompressedLoader", "LoaderReport"]
