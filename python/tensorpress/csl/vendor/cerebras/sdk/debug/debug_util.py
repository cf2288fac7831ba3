"""Traces of the library <debug>, by the vendor's name."""

from tensorpress.csl.traces import Traces as debug_util

__all__ = ["debug_util"]
