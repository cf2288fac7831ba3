"""Tensors made smaller at the speed of memory, with a stated error.

>>> import numpy, tensorpress
>>> field = numpy.linspace(0, 1, 10000, dtype="float32").reshape(100, 100)
>>> packed = tensorpress.compress(field, absolute=1e-3)
>>> copy = tensorpress.decompress(packed)
>>> len(packed) < field.nbytes / 10 and bool(abs(copy - field).max() <= 1e-3)
True

`tensorpress.zarr`, `tensorpress.numcodecs` and `tensorpress.xarray` are found by those packages
themselves; `tensorpress.torch` and `tensorpress.onnx` have DCT+Chop for PyTorch and ONNX. Importing
tensorpress imports none of these.
"""

from ._codec import Codec
from ._compression import codecs, compress, decompress, info, show_config, verify
from ._core import CorruptError, TooLargeError, UnsupportedError, __version__
from ._reader import Reader, open

__all__ = [
    "Codec",
    "CorruptError",
    "Reader",
    "TooLargeError",
    "UnsupportedError",
    "__version__",
    "codecs",
    "compress",
    "decompress",
    "info",
    "open",
    "show_config",
    "verify",
]
