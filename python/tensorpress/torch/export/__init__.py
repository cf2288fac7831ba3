"""A module for other tools: as model text for `tensorpress model`, and as a graph of operators and
shapes for `tensorpress device check`."""

from .graph import write_graph
from .text import to_text

__all__ = ["to_text", "write_graph"]
