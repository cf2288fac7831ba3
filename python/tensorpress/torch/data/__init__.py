"""Training data that is stored compressed and decompressed on its way to the model.

`CompressedDataset` keeps samples compressed in memory or in a folder of .tpz files;
`CompressedLoader` brings them to the model as batches, decompressed by a worker or on the device,
and says what that cost. `CompressedRecords` is for samples of several parts: tokens, masks, dicts.
docs/guide/training-data.md shows all of them.
"""

from .dataset import CompressedDataset
from .loader import CompressedLoader
from .records import CompressedRecords
from .report import LoaderReport

__all__ = ["CompressedDataset", "CompressedLoader", "CompressedRecords", "LoaderReport"]
