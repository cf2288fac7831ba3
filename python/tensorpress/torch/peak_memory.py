"""The peak of memory of a training step: measured by PyTorch's profiler, and by the system.

The profiler sees what is allocated and freed while it runs. What was there before (weights,
gradients, the optimizer's state) is counted by its storages.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import itertools
import resource
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile


@dataclasses.dataclass
class Peak:
    """Of one step, measured: what PyTorch counted as allocated, and what the system gave."""

    allocated: int  # with weights, gradients and the optimizer's state
    activations_and_gradients: int  # of these, what the step allocated on top of what there was
    resident: int | None


def bytes_of_training(model: torch.nn.Module) -> int:
    """Weights, buffers, gradients, and the state of every optimizer of these weights."""
    parameters = list(model.parameters())
    tensors: list[Any] = [*parameters, *model.buffers(), *(p.grad for p in parameters)]
    ours = {id(parameter) for parameter in parameters}
    for optimizer in _optimizers():
        groups = optimizer.param_groups
        if any(id(parameter) in ours for group in groups for parameter in group["params"]):
            for state in optimizer.state.values():
                tensors.extend(state.values())
    return _bytes(tensor for tensor in tensors if isinstance(tensor, torch.Tensor))


def _optimizers() -> list[torch.optim.Optimizer]:
    # isinstance would ask proxies for their class, and some warn when asked.
    kind = torch.optim.Optimizer
    return [thing for thing in gc.get_objects() if issubclass(type(thing), kind)]


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}
    return sum(storage.nbytes() for storage in storages.values())


@contextlib.contextmanager
def measured_peak(model: torch.nn.Module) -> Iterator[list[Peak]]:
    """Measures what runs inside; the list has the result when it is over."""
    result: list[Peak] = []
    before = bytes_of_training(model)
    _reset_resident_peak()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        yield result
    resident = _resident_peak()
    most = _most_allocated(profiler)
    result.append(Peak(before + most, most, resident))


def memory_events(profiler: profile) -> list[tuple[int, int]]:
    """Nanoseconds and bytes of every allocation, negative when freed, in the order of time, of a
    profiler that ran with profile_memory."""
    assert profiler.profiler is not None and profiler.profiler.kineto_results is not None
    events = [
        (event.start_ns(), event.nbytes())
        for event in profiler.profiler.kineto_results.events()
        if event.name() == "[memory]"
    ]
    return sorted(events, key=lambda event: event[0])


def _most_allocated(profiler: profile) -> int:
    sizes = (size for _, size in memory_events(profiler))
    return max(itertools.accumulate(sizes, initial=0))


def _reset_resident_peak() -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")


def _resident_peak() -> int | None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024)
