"""Which module of a model is running: activations are named after it, and plans find them by it."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch
from torch.utils.hooks import RemovableHandle


class Running(NamedTuple):
    name: str  # as in model.named_modules(); the model itself is ""
    type: str  # the name of its class
    seen: dict[str, int]  # how often a name was given during this call


OUTSIDE = Running("", "", {})


def without_wrapper(model: torch.nn.Module) -> torch.nn.Module:
    """The model inside DistributedDataParallel, DataParallel or torch.compile."""
    wrappers = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)
    while True:
        if isinstance(model, wrappers):
            model = model.module
        elif hasattr(model, "_orig_mod"):
            model = model._orig_mod
        else:
            return model


class Watch:
    """The hooks of one module. Hooks are copied and pickled with their module, and `detach` does
    not reach the copy (an average of the weights, say): hooks of a copy do nothing. Neither do
    hooks that torch.compile traces, which would break its graph."""

    def __init__(self, names: ModuleNames | None = None, name: str = "") -> None:
        self._names = names
        self._name = name

    def enter(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        if self._names is not None and not torch.compiler.is_compiling():
            self._names.enter(module, self._name, args, kwargs)

    def leave(self, module: torch.nn.Module, args: Any, output: Any) -> None:
        if self._names is not None and not torch.compiler.is_compiling():
            self._names.leave()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Watch, ())


class ModuleNames:
    """Follows the calls of a model's modules from `attach` to `detach`."""

    def __init__(self, model: torch.nn.Module, on_forward: Any) -> None:
        self.model = without_wrapper(model)
        # Called with the positional and keyword inputs of the model, or of a part of it that is
        # called by itself, as in a training step that does not call the whole.
        self._on_forward = on_forward
        self._calls: list[Running] = []
        self._hooks: list[RemovableHandle] = []
        self._watched: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
        self._modules_changed = False

    @property
    def running(self) -> Running:
        return self._calls[-1] if self._calls else OUTSIDE

    def attach(self) -> None:
        registered = torch.nn.modules.module.register_module_module_registration_hook
        self._hooks.append(registered(self._module_is_set))
        self._attach_new()

    def _module_is_set(self, *_: Any) -> None:
        """A part of some model was replaced. What is attached before the next forward pass is then
        attached to the new part too."""
        self._modules_changed = True

    def _attach_new(self) -> None:
        self._modules_changed = False
        for name, module in self.model.named_modules():
            if module in self._watched:
                continue
            self._watched.add(module)
            watch = Watch(self, name)
            before = module.register_forward_pre_hook(watch.enter, prepend=True, with_kwargs=True)
            after = module.register_forward_hook(watch.leave, always_call=True)
            self._hooks += before, after

    def enter(self, module: torch.nn.Module, name: str, args: Any, kwargs: Any) -> None:
        if module is self.model:
            self._calls.clear()  # also what an interrupted forward has left
        if not self._calls:
            if self._modules_changed:
                self._attach_new()
            self._on_forward(args, kwargs)
        self._calls.append(Running(name, type(module).__name__, {}))

    def leave(self) -> None:
        if self._calls:
            self._calls.pop()

    def detach(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._watched.clear()
        self._calls.clear()

    def name_for(self, what: str) -> str:
        """'layer1.0.conv1:conv2d', and for the second such value of one call '...:conv2d#2'.
        Nothing that happens elsewhere in the network changes it."""
        running = self.running
        name = f"{running.name}:{what}" if running.name else what
        running.seen[name] = running.seen.get(name, 0) + 1
        again = running.seen[name]
        return name if again == 1 or running is OUTSIDE else f"{name}#{again}"
