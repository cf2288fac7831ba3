"""A second reader of .tpz: Python and NumPy, written from docs/format.md alone. If it agrees with
the library to the last bit, the page is enough to write a third.

    tensor = tpz_reader.read(stream)        # tensor.elements: NumPy, in C order; bf16 as uint16

It reads every codec, believes nothing that it can check (an assertion fails on a wrong stream), and
is slow.
"""

from .container import Tensor, payload_places, read

__all__ = ["Tensor", "payload_places", "read"]
