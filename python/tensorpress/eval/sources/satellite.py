"""Satellite scenes with cloud masks: DIR/satellite/eopatch_NDVI.npy and eopatch_CLM.npy, both
(dates, height, width, 1).

The nine channels of a sample are the vegetation index of nine dates in a row, interpolated to the
extent that is asked for; the target is the cloud mask of the one in the middle. Every fourth date
is test data. It stands in for the nine channels of SLSTR, which are not in that folder.
"""

from __future__ import annotations

import pathlib

import numpy as np
import torch
from torch.nn.functional import interpolate

from ..benchmark import Data, DataError

CHANNELS = 9
FILES = ("eopatch_NDVI.npy", "eopatch_CLM.npy")


def load(folder: pathlib.Path, extent: int) -> Data:
    index, mask = (_array(folder / "satellite" / name) for name in FILES)
    if index.shape != mask.shape or index.shape[0] < 2 * CHANNELS:
        raise DataError(
            f"{folder}/satellite: {FILES[0]} is {tuple(index.shape)} and {FILES[1]} "
            f"{tuple(mask.shape)}; both must be (dates, height, width, 1) with {2 * CHANNELS} dates"
        )
    size = (extent, extent)
    scenes = interpolate(index[None, ..., 0], size, mode="bilinear", align_corners=False)[0]
    masks = interpolate(mask[None, ..., 0], size, mode="nearest")[0]
    first = CHANNELS // 2
    middles = range(first, len(scenes) - first)
    inputs = torch.stack([scenes[at - first : at + first + 1] for at in middles])
    targets = torch.stack([masks[at : at + 1] for at in middles])
    test = torch.arange(len(inputs)) % 4 == 3
    return Data(
        inputs[~test],
        targets[~test],
        inputs[test],
        targets[test],
        f"satellite scenes ({', '.join(FILES)}) interpolated to {extent} x {extent}",
    )


def _array(path: pathlib.Path) -> torch.Tensor:
    if not path.is_file():
        raise DataError(
            f"{path} is missing; slstr_cloud takes satellite/{' and satellite/'.join(FILES)}. "
            "Without --data, scenes are generated"
        )
    try:
        array = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise DataError(f"{path} is not an array: {error}") from None
    if array.ndim != 4:
        raise DataError(f"{path} is {array.shape}, not (dates, height, width, 1)")
    return torch.from_numpy(array.astype(np.float32))
