"""What parts of a network save that torch.utils.checkpoint computes again in backward: packed too.

PyTorch has no public place for this. The hook of checkpoint that asks for a part's inputs has a
frame for the part: a dictionary for what the part saves, and the function that runs it. Both are
replaced by ours for one backward pass. With use_reentrant=True, a function of autograd runs the
part; there the function to run is replaced by one that is watched. Where another version of PyTorch
has none of these, nothing happens, and what a part saves is kept as it is until backward has gone
through all of it.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.utils.checkpoint

from ..policy.saved_by import WatchedFunctions


class Hooks(NamedTuple):
    pack: Callable[[torch.Tensor], Any]
    unpack: Callable[[Any], torch.Tensor]
    outline: Callable[[Any], torch.Tensor]  # a tensor of the same shape, type and device


class PackedAgain(weakref.WeakKeyDictionary):  # type: ignore[type-arg]
    """In the place of the dictionary of what a part has saved."""

    def __init__(self, hooks: Hooks) -> None:
        super().__init__()
        self._hooks = hooks
        self.last: Any = None  # that was packed

    def __setitem__(self, key: Any, tensor: torch.Tensor) -> None:
        self.last = self._hooks.pack(tensor)
        super().__setitem__(key, self.last)

    def __getitem__(self, key: Any) -> torch.Tensor:
        packed = super().__getitem__(key)
        if sys._getframe(1).f_code.co_name == "check_recomputed_tensors_match":
            return self._hooks.outline(packed)  # only these are compared
        return self._hooks.unpack(packed)


def pack_what_runs_again(functions: WatchedFunctions, hooks: Hooks) -> None:
    """To be called when the inputs of a part are asked for."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not (_is_checkpoint_hook(frame) or _is_reentrant(frame)):
        frame = frame.f_back
    if frame is None:
        return
    if _is_reentrant(frame):
        _watch_reentrant(frame.f_locals.get("ctx"), functions, hooks)
        return
    part, task = frame.f_locals.get("frame"), frame.f_locals.get("gid")
    recomputed = getattr(part, "recomputed", None)
    run = getattr(part, "recompute_fn", None)
    if part is None or task is None or run is None or not isinstance(recomputed, dict):
        return
    if task not in recomputed:
        recomputed[task] = PackedAgain(hooks)
        run = getattr(run, "__wrapped__", run)
        part.recompute_fn = _packing(run, functions, recomputed[task], hooks)


def _packing(
    run: Callable[..., Any], functions: WatchedFunctions, packed: PackedAgain, hooks: Hooks
) -> Callable[..., Any]:
    """The graph that a part makes when it runs again is thrown away, but as long as it runs holds
    what checkpoint's hook gives it: what was packed, then, and not the tensors."""

    @functools.wraps(run)
    def run_and_pack(*args: Any, **kwargs: Any) -> Any:
        top = getattr(torch._C._autograd, "_top_saved_tensors_default_hooks", None)
        outer = None if top is None else top(False)
        if outer is None:
            with functions.inside_backward():
                return run(*args, **kwargs)

        def pack(tensor: torch.Tensor) -> Any:
            packed.last = None
            kept = outer[0](tensor)
            return kept if packed.last is None else packed.last

        packing = torch.autograd.graph.saved_tensors_hooks(pack, hooks.unpack)
        with functions.inside_backward(), packing:
            return run(*args, **kwargs)

    return run_and_pack


class _Watched:
    """Runs a part in backward, where no mode sees what is called, and packs what it saves."""

    def __init__(self, run: Callable[..., Any], functions: WatchedFunctions, hooks: Hooks) -> None:
        self._run, self._functions, self._hooks = run, functions, hooks

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        packing = torch.autograd.graph.saved_tensors_hooks(self._hooks.pack, self._hooks.unpack)
        with self._functions.inside_backward(), packing:
            return self._run(*args, **kwargs)


def _watch_reentrant(context: Any, functions: WatchedFunctions, hooks: Hooks) -> None:
    run = getattr(context, "run_function", None)
    if run is not None and not isinstance(run, _Watched):
        context.run_function = _Watched(run, functions, hooks)


def _is_reentrant(frame: types.FrameType) -> bool:
    code = frame.f_code
    return code.co_name == "backward" and code.co_filename == torch.utils.checkpoint.__file__


def _is_checkpoint_hook(frame: types.FrameType) -> bool:
    code = frame.f_code
    return code.co_name == "unpack_hook" and code.co_filename == torch.utils.checkpoint.__file__
