"""Compressed activations under torch.compile.

    compiled = tensorpress.torch.compile(model, "balanced")
    compiled = torch.compile(model, options=tensorpress.torch.compile_options("balanced"))

torch.compile makes a graph of forward and backward and divides it in two. `partitioner` is where we
come in: what crosses is packed by operators in the graphs (`stash`), chosen by what the backward
graph does with it (`needs`) and by the policy (`rewrite`). `names` finds the module of a node, and
`report` tells what was done. docs/guide/activations.md has what users should know.
"""

from .entry import compile, compile_options
from .report import compiled_report

__all__ = ["compile", "compile_options", "compiled_report"]
