"""The memory of a compiled training step over time, from its two graphs.

    forward kernels | the loss of others | backward kernels

A buffer lives from the kernel that makes it to the last that reads it. Saved tensors live from
forward to their last reader in backward, gradients from where they are made to the end. Weights and
the batch are there anyway and do not count. A loop may write over an input that nothing else reads.
Inductor takes the order with the lowest peak of several; so do we, of the graph's own and of one
that always runs the kernel that leaves least memory (Ritz et al., DAC 2006).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import torch
from torch import fx

from .kernels import Buffer, Kernel, KernelGraph, base_of, bytes_of, kernels_of


@dataclasses.dataclass
class Lifetime:
    """In kernels of one graph, both included."""

    first: int
    last: int
    bytes: int


@dataclasses.dataclass
class SavedMemory:
    """That backward frees: `entries` are the placeholders of all views of it."""

    entries: list[fx.Node]
    bytes: int


class GraphMemory:
    """Of one graph: `order` of its kernels, `lifetimes` of its buffers by the node that made them,
    and bytes `saved_in_place` while a kernel runs."""

    def __init__(
        self, graph: fx.Graph, fusing: bool, freed_inputs: Sequence[SavedMemory] = ()
    ) -> None:
        self.kernels = kernels_of(graph, fusing)
        freed = {memory.entries[0] for memory in freed_inputs}
        for memory in freed_inputs:
            first, *others = (self.kernels.buffers[entry] for entry in memory.entries)
            first.bytes = memory.bytes
            for other in others:
                first.readers |= other.readers
                first.result = first.result or other.result
        self._counted = [
            buffer
            for node, buffer in self.kernels.buffers.items()
            if buffer.made is not None or node in freed
        ]
        orders = [_in_order(self.kernels)]
        if fusing:
            orders.append(_frugal_order(self.kernels, self._counted))
        measured = [
            (max(_live(self._lifetimes(order), len(order)), default=0), order) for order in orders
        ]
        self.order = min(measured, key=lambda pair: pair[0])[1]
        lifetimes = self._lifetimes(self.order)
        self.lifetimes = {buffer.node: lifetime for buffer, lifetime in lifetimes.items()}
        self.saved_in_place = [0] * len(self.order)
        if fusing:
            self._write_in_place(lifetimes)

    def bytes_over_time(self) -> list[int]:
        live = _live(self.lifetimes, len(self.order))
        return [size - less for size, less in zip(live, self.saved_in_place, strict=True)]

    def _lifetimes(self, order: Sequence[Kernel]) -> dict[Buffer, Lifetime]:
        at = {kernel: place for place, kernel in enumerate(order)}
        end = max(len(order) - 1, 0)
        found = {}
        for buffer in self._counted:
            first = 0 if buffer.made is None else at[buffer.made]
            last = max((at[reader] for reader in buffer.readers), default=first)
            if buffer.result or (buffer.made is None and not buffer.readers):
                last = end
            found[buffer] = Lifetime(first, max(first, last), buffer.bytes)
        return found

    def _write_in_place(self, lifetimes: dict[Buffer, Lifetime]) -> None:
        for place, kernel in enumerate(self.order):
            if kernel.product:
                continue
            ending = [
                buffer.bytes
                for buffer in kernel.reads
                if buffer in lifetimes and lifetimes[buffer].last == place and not buffer.result
            ]
            for buffer in kernel.makes:
                if buffer.bytes in ending:
                    ending.remove(buffer.bytes)
                    self.saved_in_place[place] += buffer.bytes


def _live(lifetimes: dict[Buffer, Lifetime] | dict[fx.Node, Lifetime], count: int) -> list[int]:
    change = [0] * (count + 1)
    for lifetime in lifetimes.values():
        change[lifetime.first] += lifetime.bytes
        change[lifetime.last + 1] -= lifetime.bytes
    return list(itertools.accumulate(change))[:count]


def _in_order(graph: KernelGraph) -> list[Kernel]:
    """As the graph has them; what a kernel reads comes first."""
    done: dict[Kernel, None] = {}
    for kernel in graph.kernels:
        waiting = [kernel]
        while waiting:
            each = waiting[-1]
            if each in done:
                waiting.pop()
                continue
            needed = [b.made for b in each.reads if b.made is not None and b.made not in done]
            if needed:
                waiting += sorted(set(needed), key=lambda made: -made.place)
            else:
                done[waiting.pop()] = None
    return list(done)


def _frugal_order(graph: KernelGraph, counted: list[Buffer]) -> list[Kernel]:
    return _Frugal(graph, counted).order()


class _Frugal:
    """Runs what stays below the peak so far and leaves least; otherwise what needs least."""

    def __init__(self, graph: KernelGraph, counted: list[Buffer]) -> None:
        self._size = {buffer: buffer.bytes for buffer in counted}
        buffers = graph.buffers.values()
        self._readers = {buffer: len(buffer.readers) + buffer.result for buffer in buffers}
        made_by = {
            kernel: {buffer.made for buffer in kernel.reads if buffer.made is not None}
            for kernel in graph.kernels
        }
        self._missing = {kernel: len(before) for kernel, before in made_by.items()}
        self._after: dict[Kernel, list[Kernel]] = {kernel: [] for kernel in graph.kernels}
        for kernel, before in made_by.items():
            for each in before:
                self._after[each].append(kernel)
        self._live = sum(buffer.bytes for buffer in counted if buffer.made is None)
        results = sum(self._size.get(buffer, 0) for buffer in buffers if buffer.result)
        self._most = max(self._live, results)

    def order(self) -> list[Kernel]:
        ready = [kernel for kernel, missing in self._missing.items() if not missing]
        order: list[Kernel] = []
        while ready:
            kernel = min(ready, key=self._cost)
            ready.remove(kernel)
            order.append(kernel)
            self._run(kernel)
            for each in self._after[kernel]:
                self._missing[each] -= 1
                if self._missing[each] == 0:
                    ready.append(each)
        return order

    def _cost(self, kernel: Kernel) -> tuple[int, int, int]:
        made = sum(self._size.get(buffer, 0) for buffer in kernel.makes)
        freed = sum(self._size.get(b, 0) for b in kernel.reads if self._readers[b] == 1)
        freed += sum(self._size.get(b, 0) for b in kernel.makes if self._readers[b] == 0)
        return (made if made > self._most - self._live else 0, made - freed, kernel.place)

    def _run(self, kernel: Kernel) -> None:
        self._live += sum(self._size.get(buffer, 0) for buffer in kernel.makes)
        self._most = max(self._most, self._live)
        for buffer in kernel.reads:
            self._readers[buffer] -= 1
            if self._readers[buffer] == 0:
                self._live -= self._size.get(buffer, 0)
        self._live -= sum(self._size.get(b, 0) for b in kernel.makes if self._readers[b] == 0)


class StepMemory:
    """Both graphs of a step, one after the other. `outside`: bytes while others compute the loss of
    the results; 0 if the result is a loss."""

    def __init__(
        self,
        forward: fx.Graph,
        backward: fx.Graph,
        outputs: int,
        fusing: bool,
        channels_last: bool = False,
    ) -> None:
        self.forward = GraphMemory(forward, fusing)
        self._weights = _weights_in_another_order(forward) if channels_last else {}
        saved = [node for node in backward.find_nodes(op="placeholder")]
        inputs = {node.name for node in forward.find_nodes(op="placeholder")}
        by_name = {node.name: node for node in forward.nodes}
        freed = [
            node
            for node in saved
            if node.name not in by_name or base_of(by_name[node.name]).name not in inputs
        ]
        self.backward = GraphMemory(backward, fusing, _memories(freed, by_name))
        output = next(iter(forward.find_nodes(op="output")))
        results = [node for node in list(output.args[0])[:outputs] if isinstance(node, fx.Node)]
        bases = {base_of(node) for node in results}
        self.results = sum(
            self.forward.lifetimes[base].bytes for base in bases if base in self.forward.lifetimes
        )
        held = sum(
            lifetime.bytes
            for node, lifetime in self.forward.lifetimes.items()
            if self.forward.kernels.buffers[node].result
        )
        small = all(
            node.meta["val"].numel() == 1
            for node in results
            if isinstance(node.meta.get("val"), torch.Tensor)
        )
        copies = sum(self._weights.values())
        self.between = held + (0 if small else self.results) + copies

    def bytes_over_time(self) -> list[int]:
        copies = sum(self._weights.values())
        forward = [size + copies for size in self.forward.bytes_over_time()]
        backward = self.backward.bytes_over_time()
        for place, size in enumerate(self._copies_in_backward(len(backward))):
            backward[place] += size
        return [*forward, self.between, *backward]

    def _copies_in_backward(self, count: int) -> list[int]:
        at = {kernel: place for place, kernel in enumerate(self.backward.order)}
        lifetimes = {}
        for node, buffer in self.backward.kernels.buffers.items():
            if node.name in self._weights and buffer.made is None:
                last = max((at[reader] for reader in buffer.readers), default=0)
                lifetimes[node] = Lifetime(0, last, self._weights[node.name])
        return _live(lifetimes, count)

    @property
    def peak(self) -> int:
        return max(self.bytes_over_time())


def _weights_in_another_order(forward: fx.Graph) -> dict[str, int]:
    """Where Inductor makes convolutions channels_last it copies their weights once a step, before
    anything else, and backward reads the copies."""
    found = {}
    for node in forward.find_nodes(op="call_function", target=torch.ops.aten.convolution.default):
        weight = node.args[1]
        value = weight.meta["val"]  # type: ignore[union-attr]
        there = value.is_contiguous(memory_format=torch.channels_last) if value.dim() == 4 else True
        if weight.op == "placeholder" and not there:  # type: ignore[union-attr]
            found[weight.name] = bytes_of(value)  # type: ignore[union-attr]
    return found


def _memories(saved: list[fx.Node], by_name: dict[str, fx.Node]) -> list[SavedMemory]:
    """One view holds all of the memory that it is a part of, and so do several."""
    found: dict[fx.Node, SavedMemory] = {}
    for entry in saved:
        base = base_of(by_name[entry.name]) if entry.name in by_name else entry
        memory = found.setdefault(base, SavedMemory([], bytes_of(base.meta.get("val"))))
        memory.entries.append(entry)
    return list(found.values())
