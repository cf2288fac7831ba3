"""SdkRuntime and its settings, by the vendor's name."""

from tensorpress.csl.runtime import MemcpyDataType, MemcpyOrder, SdkRuntime

__all__ = ["MemcpyDataType", "MemcpyOrder", "SdkRuntime"]
