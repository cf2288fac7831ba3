"""Compressed activations in the trainers that people use, one file each.

    trainer = transformers.Trainer(
        ..., callbacks=[tensorpress.torch.clients.huggingface.CompressActivations("balanced")]
    )

A file here is imported when its name is first used, and needs the package that CLIENTS names.
docs/guide/trainers.md shows each.
"""

from __future__ import annotations

import importlib
from typing import Any

# Our file, and the package that it adapts to.
CLIENTS = {
    "accelerate": "accelerate",
    "huggingface": "transformers",
    "lightning": "lightning",
    "trl": "trl",
}


def missing(client: str, reason: ImportError) -> ImportError:
    """What a client's file raises if its package cannot be imported."""
    package = CLIENTS[client]
    return ImportError(
        f"tensorpress.torch.clients.{client} needs the package {package}, which cannot be "
        f"imported ({reason}); install it with `pip install {package}`, or call "
        "tensorpress.torch.compress_activations in a loop of your own"
    )


def __getattr__(name: str) -> Any:
    if name in CLIENTS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"tensorpress.torch.clients has no {name}; it has {', '.join(sorted(CLIENTS))}"
    )


def __dir__() -> list[str]:
    return sorted([*globals(), *CLIENTS])


__all__ = list(CLIENTS)
