"""How fast the operators of a device are, beside a copy of the same memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from ..torch.backends.registry import Packing

VALUES = 1 << 26  # 256 MB of f32


def measured(device: str, packing: Packing, count: int = VALUES) -> list[dict[str, Any]]:
    """Gigabytes a second that have to be read and written, the best of five."""
    values = torch.randn(count, device=device)
    planes = values.view(-1, 256, 256)
    rows = []

    def add(name: str, work: Callable[[], Any], moved: int) -> None:
        seconds = _seconds(device, work)
        rows.append({"operator": name, "gb_per_s": moved / seconds / 1e9, "seconds": seconds})

    copy = torch.empty_like(values)
    add("copy", lambda: copy.copy_(values), 2 * values.nbytes)
    for bits in (2, 4, 8):
        for rounding in ("nearest", "stochastic"):

            def pack(bits: int = bits, rounding: str = rounding) -> Any:
                return packing.quantize_pack(values, bits, 256, rounding, 1)

            packed = pack()
            add(f"quantize {bits} {rounding}", pack, values.nbytes + packed.nbytes)

        def unpack(bits: int = bits, packed: torch.Tensor = packed) -> Any:
            return packing.quantize_unpack(packed, values.shape, values.dtype, bits, 256)

        add(f"dequantize {bits}", unpack, values.nbytes + packed.nbytes)
    add("signs", lambda: packing.sign_pack(values), values.nbytes + count // 8)
    add("fp8 with scales", lambda: packing.fp8_pack(values, "e4m3", 128), 5 * count)
    kept = packing.chop_pack(planes, 4, "square", "dct")
    moved = values.nbytes + kept.nbytes
    add("dct CF 4", lambda: packing.chop_pack(planes, 4, "square", "dct"), moved)
    back = (planes.shape, planes.dtype, 4, "square", "dct")
    add("inverse dct CF 4", lambda: packing.chop_unpack(kept, *back), moved)
    room, size = packing.ceresz_pack(values, 1e-2)
    moved = values.nbytes + int(size)
    add("ceresz 0.01", lambda: packing.ceresz_pack(values, 1e-2), moved)
    shape = (values.shape, values.dtype, 1e-2)
    add("ceresz back", lambda: packing.ceresz_unpack(room, *shape), moved)
    for row in rows:
        row["share_of_copy"] = row["gb_per_s"] / rows[0]["gb_per_s"]
    return rows


def _seconds(device: str, work: Callable[[], Any]) -> float:
    wait = _waiting(device)
    work()  # compiles
    wait()
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        work()
        wait()
        best = min(best, time.perf_counter() - began)
    return best


def _waiting(device: str) -> Callable[[], None]:
    kind = torch.device(device).type
    if kind == "cpu":
        return lambda: None
    return torch.get_device_module(kind).synchronize  # type: ignore[no-any-return]
