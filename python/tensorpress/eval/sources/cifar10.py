"""CIFAR-10 in its binary format: a label byte, then 3 x 32 x 32 bytes, red, green, blue.

Found in DIR/cifar10, DIR/cifar-10-batches-bin or DIR itself: training images in data_batch_*.bin
(the published five) or train_*.bin, test images in test_batch.bin.
"""

from __future__ import annotations

import pathlib

import numpy as np
import torch

from ..benchmark import Data, DataError

FOLDERS = ("cifar10", "cifar-10-batches-bin", ".")
RECORD = 1 + 3 * 32 * 32


def load(folder: pathlib.Path) -> Data:
    for home in (folder / name for name in FOLDERS):
        train = sorted(home.glob("data_batch_*.bin")) or sorted(home.glob("train_*.bin"))
        test = home / "test_batch.bin"
        if train and test.is_file():
            inputs, labels = _records(train)
            names = ", ".join(path.name for path in train)
            return Data(inputs, labels, *_records([test]), f"CIFAR-10 ({names}, {test.name})")
    raise DataError(
        f"{folder} holds no CIFAR-10: data_batch_*.bin (or train_*.bin) and test_batch.bin of the "
        f"binary version were looked for in it and in its folders {', '.join(FOLDERS[:-1])}. "
        "Without --data, pictures are generated"
    )


def _records(paths: list[pathlib.Path]) -> tuple[torch.Tensor, torch.Tensor]:
    parts = []
    for path in paths:
        content = np.fromfile(path, np.uint8)
        if content.size == 0 or content.size % RECORD:
            raise DataError(
                f"{path} has {content.size} bytes, no multiple of {RECORD}: not CIFAR-10"
            )
        parts.append(content.reshape(-1, RECORD))
    records = torch.from_numpy(np.concatenate(parts))
    labels = records[:, 0].long()
    highest = int(labels.max())
    if highest > 9:
        raise DataError(f"{paths[0].parent} has a label {highest}, and CIFAR-10 has 0 to 9")
    return records[:, 1:].reshape(-1, 3, 32, 32).contiguous(), labels
