"""Reads a checkpoint, whole or tensor by tensor. Loading runs nothing that a file says, unlike
pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch

from ..._reader import MAX_BYTES
from .parts import Parts
from .tree import decode

Location = str | torch.device | Mapping[str, str] | None


def load(
    path: str | os.PathLike[str],
    map_location: Location = None,
    *,
    threads: int = 1,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """Reads what save() wrote: the same structure, with tensors that share memory as they did.

    `map_location` is a device, or a dict from saved devices to others; without it tensors go where
    they were. A damaged file is a tensorpress.CorruptError, one of a newer version an
    UnsupportedError, one whose tensors take more than `max_bytes` a TooLargeError.
    """
    with Checkpoint(path, threads=threads, max_bytes=max_bytes) as checkpoint:
        return checkpoint.load(map_location)


class Checkpoint:
    """A checkpoint that is read tensor by tensor.

    >>> _ = tensorpress.torch.save({"w": torch.ones(3), "b": torch.zeros(2)}, path, relative=0.1)
    >>> with tensorpress.torch.Checkpoint(path) as checkpoint:
    ...     checkpoint.names, checkpoint["w"]
    (('w', 'b'), tensor([1., 1., 1.]))
    """

    def __init__(
        self, path: str | os.PathLike[str], *, threads: int = 1, max_bytes: int = MAX_BYTES
    ) -> None:
        self._parts = Parts(path, threads, max_bytes)
        self._numbers = {
            name: number
            for number, entry in enumerate(self._parts.tensors)
            for name in entry["names"]
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of each tensor, joined by points."""
        return tuple(self._numbers)

    def __getitem__(self, name: str) -> torch.Tensor:
        """One tensor, reading no other."""
        return self.tensor(name)

    def tensor(self, name: str, map_location: Location = None) -> torch.Tensor:
        """The same, onto another device."""
        number = self._number(name)
        saved = self._parts.tensors[number]["device"]
        return self._parts.tensor(number, {saved: _device(saved, map_location)}, {})

    def info(self, name: str) -> dict[str, Any]:
        """Shape, type, stored bytes and codec of a tensor, without decompressing it."""
        return self._parts.describe(self._number(name))

    def load(self, map_location: Location = None) -> Any:
        """The whole object."""
        tensors: dict[int, torch.Tensor] = {}
        devices = {
            entry["device"]: _device(entry["device"], map_location) for entry in self._parts.tensors
        }
        storages = self._parts.streams(devices) if self._parts.threads > 1 else {}

        def get(number: int) -> torch.Tensor:
            if number not in tensors:
                tensors[number] = self._parts.tensor(number, devices, storages)
            return tensors[number]

        with self._parts.trouble("the structure"):
            return decode(self._parts.tree, get)

    def close(self) -> None:
        self._parts.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            raise KeyError(f"{name!r} is not a tensor of this checkpoint; .names has all of them")
        return self._numbers[name]


def _device(saved: str, location: Any) -> torch.device:
    wanted = location.get(saved, saved) if isinstance(location, Mapping) else location
    if wanted is None:
        wanted = saved
    if not isinstance(wanted, (str, torch.device)):
        raise TypeError(f"map_location is a device or a dict of them, not {wanted!r}")
    device = torch.device(wanted)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(f"a tensor was on {saved}; there is no CUDA: pass map_location='cpu'")
    return device
