"""What is said when memory runs out while a tensor is packed or unpacked."""

from __future__ import annotations

import torch

from .stored_value import StoredValue

# PyTorch's CPU allocator raises a RuntimeError with these words, others an OutOfMemoryError.
_SAID_BY_ALLOCATORS = ("can't allocate memory", "not enough memory", "out of memory")


def ran_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in _SAID_BY_ALLOCATORS
    )


def note_what_was_unpacked(error: BaseException, value: StoredValue) -> None:
    """Backward cannot go on without a value, so the error passes, with the name of the value."""
    if ran_out_of_memory(error):
        error.add_note(
            f"tensorpress: while {value.name} ({value.plain_bytes / 1e6:.1f} MB) was unpacked for "
            "backward; take a smaller batch, or split this layer"
        )
