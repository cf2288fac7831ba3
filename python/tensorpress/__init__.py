"""Tensors made smaller, with a stated error.

>>> import numpy, tensorpress
>>> field = numpy.linspace(0, 1, 10000, dtype="float32").reshape(100, 100)
>>> packed = tensorpress.compress(field, absolute=1e-3)
>>> copy = tensorpress.decompress(packed)
>>> len(packed) < field.nbytes / 10 and bool(abs(copy - field).max() <= 1e-3)
True

`tensorpress.zarr`, `tensorpress.numcodecs` and `tensorpress.xarray` register themselves with those
packages; `tensorpress.torch` and `tensorpress.onnx` have DCT+Chop for PyTorch and ONNX. Importing
tensorpress imports none of these. It does tell HDF5 libraries where our filter is, those in the
process and, through HDF5_PLUGIN_PATH, those that come later, so that h5py, netCDF4 and xarray read
and write datasets that are compressed with it.

Threads belong to the caller. Every function with `threads=` works on one thread unless told
otherwise; threads=0 is all cores that the process may use. The bytes do not depend on it. Two
functions exist only for their threads and use all cores unless told otherwise:
hdf5.read_parallel and hdf5.write_parallel. Activations of tensorpress.torch use the threads that
PyTorch is set to.

Ctrl-C ends compress, decompress, verify, save, load and the reading of parts between two chunks,
within about a tenth of a second, and raises KeyboardInterrupt.
"""

from ._codec import Codec
from ._compression import codecs, compress, decompress, info, show_config, verify
from ._core import (
    CorruptError,
    LikelyFillError,
    TooLargeError,
    UnsupportedError,
    __version__,
)
from ._files import load, save
from ._hdf5_plugin import announce as _announce_hdf5_plugin
from ._reader import Reader, open

__all__ = [
    "Codec",
    "CorruptError",
    "LikelyFillError",
    "Reader",
    "TooLargeError",
    "UnsupportedError",
    "__version__",
    "codecs",
    "compress",
    "decompress",
    "info",
    "load",
    "open",
    "save",
    "show_config",
    "verify",
]

_announce_hdf5_plugin()
