"""Codec cast: bf16, f16 and the two 8-bit types. Numbers beyond the largest become the largest;
NaN and infinities stay what they are, but e4m3 has no infinity and they become NaN there."""

from __future__ import annotations

from collections.abc import Sequence

import torch

LARGEST = {"bf16": 3.3895313892515355e38, "f16": 65504.0, "e4m3": 448.0, "e5m2": 57344.0}
TYPES = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}


def cast_pack(values: torch.Tensor, to: str) -> torch.Tensor:
    flat = values.detach().reshape(-1).float()
    if to in ("e4m3", "e5m2"):
        return to_fp8(flat, to)
    infinite = flat.abs() == torch.inf
    limited = torch.where(infinite, flat, flat.clamp(-LARGEST[to], LARGEST[to]))
    return limited.to(TYPES[to]).view(torch.uint8)


def cast_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
) -> torch.Tensor:
    if to in ("e4m3", "e5m2"):
        return of_fp8(packed, to).to(dtype).view(shape)
    return packed.view(TYPES[to]).to(dtype).view(shape)


# ---- 8 bits, in integers: not every device has these types ---------------------------------------


def to_fp8(values: torch.Tensor, to: str) -> torch.Tensor:
    """Of f32; rounded to nearest, ties to even."""
    fraction, rebias, smallest = (3, 120, 121) if to == "e4m3" else (2, 112, 113)
    rounder, largest = (2.0**14, 0x7E) if to == "e4m3" else (2.0**7, 0x7B)
    infinity = 0x7F if to == "e4m3" else 0x7C
    shift = 23 - fraction
    bits = values.view(torch.int32)
    sign = (bits >> 24) & 0x80
    magnitude = bits & 0x7FFFFFFF
    small = magnitude.view(torch.float32) + rounder
    subnormal = small.view(torch.int32) - torch.full_like(small, rounder).view(torch.int32)
    half = (1 << (shift - 1)) - 1 + ((magnitude >> shift) & 1)
    finite = magnitude < 0x7F800000
    rounded = torch.where(finite, magnitude, 0) + half
    normal = ((rounded >> shift) - (rebias << fraction)).clamp_max(largest)
    code = torch.where(magnitude < smallest << 23, subnormal, normal)
    code = torch.where(magnitude == 0x7F800000, infinity, code)
    code = torch.where(magnitude > 0x7F800000, 0x7F, code)
    return (sign | code).to(torch.uint8)


def of_fp8(codes: torch.Tensor, to: str) -> torch.Tensor:
    """To f32."""
    fraction, rebias, unit = (3, 120, 2.0**-9) if to == "e4m3" else (2, 112, 2.0**-16)
    code = codes.to(torch.int32)
    sign = (code & 0x80) << 24
    magnitude = code & 0x7F
    small = (magnitude.float() * unit).view(torch.int32)
    normal = (magnitude << (23 - fraction)) + (rebias << 23)
    bits = torch.where(magnitude < 1 << fraction, small, normal)
    if to == "e4m3":
        bits = torch.where(magnitude == 0x7F, 0x7FC00000, bits)
    else:
        special = 0x7F800000 | ((magnitude & 3) << 21)
        special = torch.where(magnitude > 0x7C, special | 0x400000, special)
        bits = torch.where(magnitude >= 0x7C, special, bits)
    return (sign | bits).view(torch.float32)
