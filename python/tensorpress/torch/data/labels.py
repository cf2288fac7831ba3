"""Labels beside the samples of a folder: columns of numbers, texts, arrays and tensors in a file.

Written by torch.save and read without running what the file says, so they are data and nothing
else. NumPy's numbers and arrays, which many datasets give, are data too.
"""

from __future__ import annotations

import io
import os
import pathlib
import pickle
from typing import Any

import numpy as np
import torch

from ... import _core

_NUMBERS = "?bhilqBHILQefdgFDSU"  # NumPy's characters for its types of numbers and texts


def _numpys_own() -> list[Any]:
    """What NumPy's pickles name, in its first and in its second version."""
    makers = (np.float64(0).__reduce__()[0], np.empty(0).__reduce__()[0])
    named = [
        (maker, f"numpy.{core}.multiarray.{maker.__name__}")
        for maker in makers
        for core in ("core", "_core")
    ]
    return [np.ndarray, np.dtype, *{type(np.dtype(each)) for each in _NUMBERS}, *named]


def save_labels(columns: list[Any], path: str | os.PathLike[str]) -> None:
    torch.save(columns, path)


def load_labels(path: str | os.PathLike[str] | io.BytesIO) -> list[Any]:
    try:
        with torch.serialization.safe_globals(_numpys_own()):
            columns: list[Any] = torch.load(path, weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise _core.CorruptError(f"{path} is damaged, or holds more than data") from error
    return columns


def check_labels(row: tuple[Any, ...], folder: pathlib.Path) -> None:
    """Before anything is compressed: what cannot be read again need not be written."""
    for label in row:
        draft = io.BytesIO()
        try:
            torch.save([label], draft)
            draft.seek(0)
            load_labels(draft)
        except (pickle.PickleError, AttributeError, TypeError, _core.CorruptError) as error:
            raise TypeError(
                f"a label is or holds a {type(label).__name__} that {folder} could not give back; "
                "labels in a folder are tensors, arrays, numbers, texts, and lists and dicts of "
                "them"
            ) from error
