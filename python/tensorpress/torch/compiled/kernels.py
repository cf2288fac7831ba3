"""The kernels that a compiler makes of a graph, and the buffers between them.

Inductor writes cheap values again into everything that reads them, and puts what is left into
kernels that read and write each number once. So most nodes of a graph never are a tensor in memory.
Which of them are decides about the peak of a step; here we repeat Inductor's rules in short:

    matrix products, convolutions, attention, operators of others    a kernel each, on whole tensors
    sums over some axes                                              a buffer, made with what is
                                                                     around in one loop if it can be
    everything else                                                  a buffer if a result, if read
                                                                     by a product, or if it is read
                                                                     twice and not cheap; otherwise
                                                                     part of what reads it

Without Inductor (backends aot_eager) every node is a kernel.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import fx

from .needs import hint, packet_of

aten, prims = torch.ops.aten, torch.ops.prims

PRODUCTS = frozenset(
    (
        *(aten.mm, aten.bmm, aten.addmm, aten.baddbmm, aten.mv, aten.addmv, aten.dot),
        *(aten.convolution, aten.convolution_backward, aten._scaled_dot_product_attention_math),
        *(
            aten._scaled_dot_product_flash_attention_for_cpu,
            aten._scaled_dot_product_flash_attention,
        ),
        *(aten._scaled_dot_product_efficient_attention, aten._scaled_dot_product_cudnn_attention),
        *(aten._scaled_dot_product_flash_attention_for_cpu_backward,),
        *(aten._scaled_dot_product_flash_attention_backward,),
        *(aten._scaled_dot_product_efficient_attention_backward,),
        *(aten._scaled_dot_product_cudnn_attention_backward,),
        *(aten.sort, aten.topk, aten.upsample_bilinear2d_backward, aten.cumsum),
        *(aten._embedding_bag, aten.embedding_dense_backward),
    )
)
# Into a new tensor, from values that are made on the way.
SCATTERED = frozenset((aten.index_put, aten.scatter_add, aten.scatter, aten.index_add))
SUMS = frozenset(
    (
        *(aten.sum, aten.mean, aten.amax, aten.amin, aten.var_mean, aten.var, aten.prod, aten.max),
        *(aten.min, aten.any, aten.all, aten.argmax, aten.argmin, prims.var),
    )
)
VIEWS = frozenset((aten._unsafe_view, aten.reshape, aten.detach, aten.alias, aten.lift_fresh))
CONSTANTS = frozenset(
    (aten.full, aten.zeros, aten.ones, aten.arange, aten.scalar_tensor, prims.iota, aten.empty)
)
COSTLY = frozenset(
    (aten.exp, aten.log, aten.log1p, aten.log2, aten.log10, aten.sigmoid, aten.tanh, aten.silu)
)
READS_ON_REUSE, READS_AT_MOST = 4, 12  # of Inductor's settings, for CPUs


@dataclasses.dataclass(eq=False)
class Buffer:
    """Memory of one storage. `made` is the kernel, None for an input of the graph."""

    node: fx.Node
    bytes: int
    made: Kernel | None = None
    readers: set[Kernel] = dataclasses.field(default_factory=set)
    result: bool = False  # of the graph


@dataclasses.dataclass(eq=False)
class Kernel:
    place: int  # of its first node in the graph
    product: bool
    nodes: list[fx.Node]
    makes: list[Buffer] = dataclasses.field(default_factory=list)
    reads: list[Buffer] = dataclasses.field(default_factory=list)
    into: Kernel | None = None  # joined with this one


@dataclasses.dataclass
class KernelGraph:
    kernels: list[Kernel]
    buffers: dict[fx.Node, Buffer]

    def bases(self, node: fx.Node) -> list[fx.Node]:
        """Whose buffers a node of the graph lies in."""
        return [base for base in bases_of(node) if base in self.buffers]


def bytes_of(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return hint(value.numel()) * value.dtype.itemsize
    if isinstance(value, (tuple, list)):
        return sum(map(bytes_of, value))
    return 0


def is_view(node: fx.Node) -> bool:
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], fx.Node):
        return False
    if packet_of(node) in VIEWS:
        return True
    return isinstance(node.target, torch._ops.OpOverload) and node.target.is_view


def base_of(node: fx.Node) -> fx.Node:
    """The node that made the memory: of a view what it shows, of one of several results itself."""
    while True:
        if is_view(node):
            node = node.args[0]  # type: ignore[assignment]
        elif node.target is operator.getitem and is_view(node.args[0]):  # type: ignore[arg-type]
            node = node.args[0].args[0]  # type: ignore[union-attr,assignment]
        else:
            return node


def bases_of(node: fx.Node) -> list[fx.Node]:
    base = base_of(node)
    if isinstance(base.meta.get("val"), (tuple, list)):
        return [user for user in base.users if user.target is operator.getitem]
    return [base]


def kernels_of(graph: fx.Graph, fusing: bool) -> KernelGraph:
    return _Fusion(graph, fusing).made()


class _Fusion:
    def __init__(self, graph: fx.Graph, fusing: bool) -> None:
        self._graph, self._fusing = graph, fusing
        self._place = {node: place for place, node in enumerate(graph.nodes)}
        output = next(iter(graph.find_nodes(op="output")))
        self._results = {base_of(node) for node in output.all_input_nodes}
        self._readers: dict[fx.Node, set[fx.Node]] = {}  # of memory, through views
        for node in graph.nodes:
            if node.op == "call_function" and not _passes(node):
                for operand in node.all_input_nodes:
                    self._readers.setdefault(base_of(operand), set()).add(node)
        self._sources: dict[fx.Node, list[fx.Node]] = {}  # of a node: the buffers that it reads
        self._costly: set[fx.Node] = set()
        self._real: dict[fx.Node, Kernel | None] = {}  # memory -> kernel, None: input

    def made(self) -> KernelGraph:
        for node in self._graph.nodes:
            if node.op == "placeholder":
                self._real[node] = None
            elif node.op == "call_function" and not _passes(node):
                self._enter(node)
        if self._fusing:
            _Joining([kernel for kernel in self._real.values() if kernel], self._inputs).join()
        return self._finished()

    def _enter(self, node: fx.Node) -> None:
        sources: list[fx.Node] = []
        costly = packet_of(node) in COSTLY
        for operand in node.all_input_nodes:
            base = base_of(operand)
            if base in self._real:
                sources.append(base)
            else:
                sources += self._sources.get(base, ())
                costly = costly or base in self._costly
        sources = list(dict.fromkeys(sources))
        self._sources[node] = sources
        if costly:
            self._costly.add(node)
        memory = [node]
        if isinstance(node.meta.get("val"), (tuple, list)):
            memory = [user for user in node.users if user.target is operator.getitem]
        if not self._is_real(node, memory, sources, costly):
            return
        kernel = Kernel(self._place[node], not self._fusing or is_product(node), [node])
        for each in memory:
            self._real[each] = kernel
            self._sources[each] = sources

    def _is_real(
        self, node: fx.Node, memory: list[fx.Node], sources: list[fx.Node], costly: bool
    ) -> bool:
        alone = packet_of(node) in SUMS or packet_of(node) in SCATTERED
        if not self._fusing or is_product(node) or alone or len(memory) != 1:
            return True
        readers = self._readers.get(node, set())
        if packet_of(node) in CONSTANTS:
            return any(is_product(reader) for reader in readers)
        if node in self._results or any(is_product(reader) for reader in readers):
            return True
        if len(sources) > READS_AT_MOST:
            return True
        return len(readers) > 1 and (costly or len(sources) > READS_ON_REUSE)

    def _inputs(self, kernel: Kernel) -> set[Kernel]:
        found = {
            self._real[source] for node in kernel.nodes for source in self._sources.get(node, ())
        }
        return {each for each in found if each is not None and each is not kernel}

    def _finished(self) -> KernelGraph:
        final: dict[Kernel, Kernel] = {}
        for kernel in self._real.values():
            if kernel is not None:
                final[kernel] = _last(kernel)
        buffers: dict[fx.Node, Buffer] = {}
        for node, kernel in self._real.items():
            size = bytes_of(node.meta.get("val"))
            made = None if kernel is None else final[kernel]
            buffers[node] = Buffer(node, size, made, result=node in self._results)
        for node, kernel in self._real.items():
            if kernel is None:
                continue
            reader = final[kernel]
            for source in self._sources[node]:
                if buffers[source].made is not reader:
                    buffers[source].readers.add(reader)
        kernels = sorted(set(final.values()), key=lambda kernel: kernel.place)
        if self._fusing:
            self._write_into_wholes(buffers)
        for node, buffer in list(buffers.items()):
            unread = not buffer.readers and not buffer.result
            if buffer.made is not None and unread and not buffer.made.product:
                del buffers[node]  # only its own kernel reads it
                continue
            if buffer.made is not None:
                buffer.made.makes.append(buffer)
            for reader in buffer.readers:
                reader.reads.append(buffer)
        return KernelGraph(kernels, buffers)

    def _write_into_wholes(self, buffers: dict[fx.Node, Buffer]) -> None:
        """What loops make and something concatenates is written where it belongs in the whole,
        which is there from its first part on."""
        for node, whole in buffers.items():
            if packet_of(node) is not aten.cat or whole.made is None:
                continue
            own, first = whole.made, whole.made
            for part in dict.fromkeys(map(base_of, node.args[0])):  # type: ignore[arg-type]
                buffer = buffers.get(part)
                if buffer is None or buffer.made is None or buffer.made.product or buffer.result:
                    continue
                buffer.bytes = 0
                first = min(first, buffer.made, key=lambda kernel: kernel.place)
                whole.readers |= buffer.readers - {buffer.made}
            whole.made = first
            if first is not own:
                whole.readers.add(own)


def is_product(node: fx.Node) -> bool:
    """Whether it has a kernel of its own, on whole tensors."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return node.op == "call_function" and target is not operator.getitem
    return packet_of(node) in PRODUCTS or target.namespace not in ("aten", "prims")


def _passes(node: fx.Node) -> bool:
    """Views, parts of several results, and arithmetic on sizes: they take no memory."""
    value = node.meta.get("val")
    if node.target is operator.getitem or is_view(node):
        return True
    return not isinstance(value, (torch.Tensor, tuple, list))


# ---- One loop for several ------------------------------------------------------------------------


def _last(kernel: Kernel) -> Kernel:
    while kernel.into is not None:
        kernel = kernel.into
    return kernel


class _Joining:
    """Puts kernels together that run over the same elements, if nothing has to run in between."""

    def __init__(self, kernels: Iterable[Kernel], inputs: Callable[[Kernel], set[Kernel]]) -> None:
        self._kernels = sorted(set(kernels), key=lambda kernel: kernel.place)
        self._before: dict[Kernel, set[Kernel]] = {each: inputs(each) for each in self._kernels}
        self._after: dict[Kernel, set[Kernel]] = {each: set() for each in self._kernels}
        for kernel, before in self._before.items():
            for each in before:
                self._after[each].add(kernel)
        self._loops = {each: _loop_of(each) for each in self._kernels}

    def join(self) -> None:
        for kernel in self._kernels:
            if kernel.product:
                continue
            for before in sorted(self._before[kernel], key=lambda each: -each.place):
                first = _last(before)
                second = _last(kernel)
                if first is second or first.product or not self._alike(first, second):
                    continue
                if not self._passes_between(first, second):
                    self._merge(first, second)

    def _alike(self, first: Kernel, second: Kernel) -> bool:
        return bool(self._loops[first] & self._loops[second])

    def _passes_between(self, first: Kernel, second: Kernel) -> bool:
        """Whether something that reads the first is read by the second."""
        waiting = [each for each in self._after[first] if each is not second]
        seen: set[Kernel] = set(waiting)
        while waiting:
            kernel = waiting.pop()
            if kernel is second:
                return True
            for each in self._after[kernel]:
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return False

    def _merge(self, first: Kernel, second: Kernel) -> None:
        second.into = first
        first.nodes += second.nodes
        self._loops[first] = self._loops[first] & self._loops[second]
        for before in self._before.pop(second):
            self._after[before].discard(second)
            if before is not first:
                self._after[before].add(first)
                self._before[first].add(before)
        for after in self._after.pop(second):
            self._before[after].discard(second)
            self._before[after].add(first)
            self._after[first].add(after)
        self._after[first].discard(second)


def _loop_of(kernel: Kernel) -> frozenset[tuple[str, int]]:
    """What a kernel of one node runs over. Sums over the last axes run as elements do; sums over
    the first axes run in another order."""
    node = kernel.nodes[0]
    value = node.meta.get("val")
    sizes = [
        hint(operand.meta["val"].numel())
        for operand in node.all_input_nodes
        if isinstance(operand.meta.get("val"), torch.Tensor)
    ]
    if packet_of(node) not in SUMS:
        own = hint(value.numel()) if isinstance(value, torch.Tensor) else max(sizes, default=0)
        return frozenset([("elements", own)])
    operand = node.args[0]
    shape = operand.meta["val"].shape if isinstance(operand, fx.Node) else ()
    over = node.args[1] if len(node.args) > 1 else None
    axes = (
        sorted(axis % len(shape) for axis in over)
        if isinstance(over, (list, tuple)) and shape
        else None
    )
    last = axes is None or axes == list(range(len(shape) - len(axes), len(shape)))
    return frozenset([("elements" if last else f"across {axes}", max(sizes, default=0))])
