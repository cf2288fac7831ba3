"""Views of arrays as hosts and PEs see them, by the vendor's name."""

from tensorpress.csl.arrays import input_array_to_u32, memcpy_view

__all__ = ["input_array_to_u32", "memcpy_view"]
