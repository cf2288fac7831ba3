"""f32 to the smaller types, to nearest, ties to even; and what stands for T in the page: f32 or
f64."""

import numpy as np


def bf16_bits(values: np.ndarray) -> np.ndarray:
    """f32 to the bits of bf16."""
    bits = values.astype("<f4").view("<u4").astype("u8")
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype("<u2")


def bf16_values(bits: np.ndarray) -> np.ndarray:
    return (bits.astype("<u4") << 16).view("<f4")


def as_elements(values: np.ndarray, dtype: str) -> np.ndarray:
    """Values in f32 (or f64 for f64) as elements."""
    if dtype == "bf16":
        return bf16_bits(values)
    return values.astype({"f32": "<f4", "f64": "<f8", "f16": "<f2"}[dtype])
