"""Nested objects of a checkpoint as JSON, and back, without ever running what a file says.

Only data comes back: dicts, lists, numbers, texts, tensors. docs/checkpoint.md has the table of
what an object with a name that begins with "$" stands for. Dicts may have any key that is data.
"""

from __future__ import annotations

import base64
import collections
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Tree = Any
PLAIN = (bool, int, str, type(None))
DTYPES = {
    str(each).removeprefix("torch."): each
    for each in vars(torch).values()
    if isinstance(each, torch.dtype)
}


def encode(value: Any, put: Callable[[torch.Tensor, str], int]) -> Tree:
    """What JSON can hold of `value`; `put` takes a tensor with its name and gives its number."""
    try:
        return _Encoder(put).encode(value, "", ())
    except RecursionError:
        raise ValueError("the object is nested too deeply for a file") from None


def decode(tree: Tree, get: Callable[[int], torch.Tensor]) -> Any:
    """The object of a tree. A tree that `encode` does not write is a ValueError or a TypeError."""
    if isinstance(tree, (*PLAIN, float)):
        return tree
    if isinstance(tree, list):
        return [decode(each, get) for each in tree]
    tags = [key for key in tree if key.startswith("$")]
    if not tags:
        return {key: decode(each, get) for key, each in tree.items()}
    if len(tags) != 1 or tags[0] not in READERS or set(tree) - {tags[0], "metadata"}:
        raise ValueError(f"an object with {sorted(tree)} is not known to this version")
    result = READERS[tags[0]](tree[tags[0]], get)
    if "metadata" in tree:
        if tags[0] != "$ordered":
            raise ValueError(f"{tags[0]} has no metadata")
        result._metadata = decode(tree["metadata"], get)
    return result


def to_text(document: Any) -> bytes:
    return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()


def from_text(text: bytes) -> Any:
    """JSON without its extensions, such as NaN."""

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    return json.loads(text.decode(), parse_constant=refuse)


class _Encoder:
    def __init__(self, put: Callable[[torch.Tensor, str], int]) -> None:
        self.put = put

    def encode(self, value: Any, path: str, above: tuple[int, ...]) -> Tree:
        if type(value) in PLAIN:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, torch.Tensor):
            return {"$tensor": self.put(value, path)}
        if isinstance(value, np.ndarray):
            return {"$array": self.put(_from_numpy(value, path), path)}
        if isinstance(value, np.generic):
            return {"$scalar": self.put(_from_numpy(np.asarray(value), path), path)}
        if id(value) in above:
            raise ValueError(f"{path or 'the object'} contains itself, which a file cannot hold")
        above = (*above, id(value))
        writer = self.WRITERS.get(type(value))
        if writer is None:
            raise TypeError(_what_to_do(value, path))
        return writer(self, value, path, above)

    def items(self, value: Any, path: str, above: tuple[int, ...]) -> list[Tree]:
        return [self.encode(each, _join(path, at), above) for at, each in enumerate(value)]

    def pairs(self, value: Any, path: str, above: tuple[int, ...]) -> list[Tree]:
        return [
            [self.encode(key, path, above), self.encode(each, _join(path, key), above)]
            for key, each in value.items()
        ]

    def dictionary(self, value: dict[Any, Any], path: str, above: tuple[int, ...]) -> Tree:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.encode(each, _join(path, key), above) for key, each in value.items()}
        return {"$dict": self.pairs(value, path, above)}

    def ordered(self, value: Any, path: str, above: tuple[int, ...]) -> Tree:
        """A state_dict says in _metadata which version of a module wrote it."""
        tree = {"$ordered": self.pairs(value, path, above)}
        metadata = getattr(value, "_metadata", None)
        if metadata is not None:
            tree["metadata"] = self.encode(metadata, _join(path, "_metadata"), above)
        return tree

    WRITERS: dict[type, Callable[[_Encoder, Any, str, tuple[int, ...]], Tree]] = {
        list: items,
        dict: dictionary,
        collections.OrderedDict: ordered,
        collections.Counter: lambda self, *rest: {"$counter": self.pairs(*rest)},
        tuple: lambda self, *rest: {"$tuple": self.items(*rest)},
        set: lambda self, *rest: {"$set": self.items(*rest)},
        frozenset: lambda self, *rest: {"$frozenset": self.items(*rest)},
        torch.Size: lambda self, value, *rest: {"$size": list(value)},
        torch.dtype: lambda self, value, *rest: {"$dtype": str(value).removeprefix("torch.")},
        torch.device: lambda self, value, *rest: {"$device": str(value)},
        complex: lambda self, value, *rest: {"$complex": [value.real.hex(), value.imag.hex()]},
        bytes: lambda self, value, *rest: {"$bytes": base64.b64encode(value).decode()},
    }


def _read_pairs(tree: Tree, get: Callable[[int], torch.Tensor]) -> list[tuple[Any, Any]]:
    return [(decode(key, get), decode(each, get)) for key, each in tree]


def _read_items(tree: Tree, get: Callable[[int], torch.Tensor]) -> list[Any]:
    if not isinstance(tree, list):
        raise ValueError(f"{tree!r} stands where a list belongs")
    return [decode(each, get) for each in tree]


READERS: dict[str, Callable[[Tree, Callable[[int], torch.Tensor]], Any]] = {
    "$tensor": lambda tree, get: get(tree),
    "$array": lambda tree, get: get(tree).numpy(),
    "$scalar": lambda tree, get: get(tree).numpy()[()],
    "$float": lambda tree, get: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[tree],
    "$complex": lambda tree, get: complex(*map(float.fromhex, tree)),
    "$bytes": lambda tree, get: base64.b64decode(tree, validate=True),
    "$dict": lambda tree, get: dict(_read_pairs(tree, get)),
    "$ordered": lambda tree, get: collections.OrderedDict(_read_pairs(tree, get)),
    "$counter": lambda tree, get: collections.Counter(dict(_read_pairs(tree, get))),
    "$tuple": lambda tree, get: tuple(_read_items(tree, get)),
    "$set": lambda tree, get: set(_read_items(tree, get)),
    "$frozenset": lambda tree, get: frozenset(_read_items(tree, get)),
    "$size": lambda tree, get: torch.Size(tree),
    "$dtype": lambda tree, get: DTYPES[tree],
    "$device": lambda tree, get: torch.device(tree),
}


def _join(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def _from_numpy(array: np.ndarray[Any, Any], path: str) -> torch.Tensor:
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{path} is a masked array; pass its data and its mask as two arrays")
    try:
        return torch.from_numpy(np.array(array, order="C"))
    except (TypeError, ValueError):  # also of the other byte order
        raise TypeError(f"{path} is a NumPy array of {array.dtype}, which PyTorch lacks") from None


def _what_to_do(value: Any, path: str) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    where = f"{path} is" if path else "this is"
    if hasattr(value, "state_dict"):
        return f"{where} a {kind}; pass its state_dict() instead"
    return (
        f"{where} a {kind}, and a checkpoint holds data only: tensors, numbers, texts and dicts, "
        "lists, tuples and sets of them. Convert it, or leave it out"
    )
