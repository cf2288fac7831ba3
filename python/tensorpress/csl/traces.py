"""What the library <debug> recorded, once a host has stopped its program."""

from __future__ import annotations

import json
from pathlib import Path


class Traces:
    """Reads the log that ``SdkRuntime.stop`` left in a directory."""

    def __init__(self, bindir: str, cmaddr: str | None = None) -> None:
        folder = Path(bindir)
        offsets = json.loads((folder / "out.json").read_text()).get("fabric_offsets", [0, 0])
        self._traces: dict[tuple[int, int, str], list[str | int | float]] = {}
        for line in (folder / "sim.log").read_text().splitlines():
            words = line.split("\t")
            if words[0] != "trace":
                continue
            place = (int(words[1]) + offsets[0], int(words[2]) + offsets[1], words[3])
            self._traces.setdefault(place, []).append(_value("\t".join(words[4:])))

    def read_trace(self, px: int, py: int, name: str) -> list[str | int | float]:
        """All values that the PE recorded under a key; PEs are counted on the whole fabric."""
        return self._traces.get((px, py, name), [])


def _value(words: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(words)
        except ValueError:
            continue
    return words
