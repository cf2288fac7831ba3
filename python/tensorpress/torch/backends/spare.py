"""Where a device keeps groups of values that quantizing cannot represent: NaN, infinities, a range
beyond float32. The host is never asked: a kernel that finds such a group takes the next number of
`counter`, writes the values into a row of `rows`, and the number into the group's record.

    record   u32 0xFFFFFFFF, which no header is | u64 number | zeros

Rows are used again in turn. So values come back exactly as long as no more groups than there are
rows have been put here since, and as NaN later.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import torch

VALUES = 1 << 20  # 4 MB for each device and size of groups
ESCAPE = 0xFFFFFFFF


class Spare(NamedTuple):
    counter: torch.Tensor  # int64: groups that were put here
    rows: torch.Tensor  # float32, a group each

    @property
    def slots(self) -> int:
        return self.rows.shape[0]


_LOCK = threading.Lock()
_SPARES: dict[tuple[torch.device, int], Spare] = {}


def spare_of(device: torch.device, group: int) -> Spare:
    found = _SPARES.get((device, group))
    if found is not None:
        return found
    with _LOCK, torch.no_grad():
        slots = max(16, VALUES // group)
        made = Spare(
            torch.zeros(1, dtype=torch.int64, device=device),
            torch.zeros(slots, group, dtype=torch.float32, device=device),
        )
        return _SPARES.setdefault((device, group), made)


def groups_kept_raw(device: torch.device | str) -> int:
    """How many groups of a device could not be coded until now. Waits for the device."""
    wanted = torch.device(device)
    return sum(
        int(spare.counter)
        for (where, _), spare in list(_SPARES.items())
        if where.type == wanted.type and wanted.index in (None, where.index)
    )
