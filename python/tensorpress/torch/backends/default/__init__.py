"""The operators in PyTorch's own operations: any device, and torch.compile can fuse them. The bytes
are those of the library. Nothing here asks the host for a value."""

from .bits import (
    mask_pack,
    mask_pack_flagged,
    mask_unpack,
    restore_signs,
    sign_pack,
    sign_unpack,
)
from .cast import cast_pack, cast_unpack
from .ceresz import ceresz_pack, ceresz_unpack
from .chop import chop_pack, chop_unpack
from .fp8 import fp8_pack, fp8_unpack
from .quantize import quantize_pack, quantize_unpack

__all__ = [
    "cast_pack",
    "cast_unpack",
    "ceresz_pack",
    "ceresz_unpack",
    "chop_pack",
    "chop_unpack",
    "fp8_pack",
    "fp8_unpack",
    "mask_pack",
    "mask_pack_flagged",
    "mask_unpack",
    "quantize_pack",
    "quantize_unpack",
    "restore_signs",
    "sign_pack",
    "sign_unpack",
]
