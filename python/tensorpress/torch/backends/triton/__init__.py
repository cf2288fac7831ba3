"""The operators as Triton kernels, for CUDA, ROCm and XPU. Byte for byte what the CPU writes."""

from .bits import (
    mask_pack,
    mask_pack_flagged,
    mask_unpack,
    restore_signs,
    sign_pack,
    sign_unpack,
)
from .cast import cast_pack, cast_unpack, fp8_pack, fp8_unpack
from .ceresz import ceresz_pack, ceresz_unpack
from .chop import chop_pack, chop_unpack
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
