"""What a choice costs, before anything runs: seconds of a step, and noise in its gradients.

The unit of cost is a step that takes 10 % longer. Noise costs one unit where all values that cross
come back from 4 bits; other bits cost as their mean squared error is to that of 4 bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import fx

from ..packing.codecs import Quantize, TensorCodec
from .kernels import Kernel, KernelGraph, bytes_of
from .needs import hint, packet_of

aten = torch.ops.aten

# Of one core of an EPYC 7003, as the model compiler's planner has it (src/model/planner/offload.h);
# the two speeds of packing are those of bench/results for 4 bits. Only ratios of them count.
FLOPS = 5e10
MEMORY_BYTES = 1e10  # per second, read or written
PACKING_BYTES = 4e9  # per second, of unpacked values
UNPACKING_BYTES = 8e9
LONGER = 0.10  # a unit of cost, as part of the step's time
BITS_OF_A_UNIT = 4


def seconds_of(graph: KernelGraph) -> float:
    return sum(map(_seconds_of_kernel, graph.kernels))


def _seconds_of_kernel(kernel: Kernel) -> float:
    moved = sum(buffer.bytes for buffer in (*kernel.reads, *kernel.makes))
    return flops_of(kernel.nodes) / FLOPS + moved / MEMORY_BYTES


def seconds_of_packing(size: int, packed: int) -> float:
    """`size` bytes of values, there and back."""
    return size / PACKING_BYTES + size / UNPACKING_BYTES + 2 * packed / MEMORY_BYTES


def noise_of(codec: TensorCodec) -> float:
    """Mean squared error relative to that of 4 bits."""
    if codec.exact:
        return 0.0
    bits = codec.bits if isinstance(codec, Quantize) else codec.fidelity
    steps = (2**bits - 1) / (2**BITS_OF_A_UNIT - 1)
    stochastic = isinstance(codec, Quantize) and codec.rounding == "stochastic"
    # To the nearest the error is even within half a step; stochastically its variance is f (1 - f).
    return (2.0 if stochastic else 1.0) / steps**2


def flops_of(nodes: Iterable[fx.Node]) -> float:
    """Of matrix products, convolutions and attention."""
    return sum(map(_flops_of_node, nodes))


def _flops_of_node(node: fx.Node) -> float:
    packet = packet_of(node)
    shapes = [
        [hint(size) for size in operand.meta["val"].shape]
        if isinstance(operand, fx.Node) and isinstance(operand.meta.get("val"), torch.Tensor)
        else []
        for operand in node.args
    ]
    if packet in (aten.mm, aten.bmm, aten.mv):
        return 2.0 * math.prod(shapes[0]) * (shapes[1][-1] if len(shapes[1]) > 1 else 1)
    if packet in (aten.addmm, aten.baddbmm):
        return 2.0 * math.prod(shapes[1]) * shapes[2][-1]
    if packet is aten.convolution:
        return _convolution(shapes[1], node.meta["val"], bool(node.args[6]))
    if packet is aten.convolution_backward:
        wanted = node.args[10]
        passes = sum(map(bool, wanted[:2])) if isinstance(wanted, (list, tuple)) else 2
        value = node.args[0].meta["val"]  # type: ignore[union-attr]
        return passes * _convolution(shapes[2], value, bool(node.args[7]))
    name = str(packet)
    if "scaled_dot_product" in name:
        back = "backward" in name
        query, key = (shapes[1], shapes[2]) if back else (shapes[0], shapes[1])
        return (10.0 if back else 4.0) * math.prod(query) * key[-2]
    return 0.0


def _convolution(weight: list[int], result: torch.Tensor, transposed: bool) -> float:
    """Every result takes a product with the weights of its output channel; of a transposed
    convolution the roles are exchanged, which is the same number for a stride of 1."""
    outputs = weight[1] if transposed else weight[0]
    return 2.0 * bytes_of(result) / result.dtype.itemsize * math.prod(weight) / max(outputs, 1)
