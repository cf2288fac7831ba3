"""Our codecs beside memcpy and other compressors on one field: `tensorpress bench --peers`, and its
rows as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fields
import numpy as np
import page
from demonstration import Demonstration, Missing

NAMES = {"sz3": "SZ3", "sperr": "SPERR", "zfp": "ZFP", "blosc2-zstd": "Blosc2 (lossless)"}

Row = dict[str, Any]


def measure(
    demo: Demonstration,
    field: fields.Field,
    bounds: Sequence[float],
    ours: Sequence[str],
    peers: Sequence[str],
) -> tuple[list[Row], str]:
    """Rows, and what could not be compared, if anything."""
    common = (
        "bench",
        "--peers",
        field.path,
        "--repetitions",
        3,
        "--rel",
        ",".join(f"{b:g}" for b in bounds),
    )
    others = [NAMES[peer].removesuffix(" (lossless)") for peer in peers]
    demo.say(f"the same beside memcpy, {', '.join(others[:-1])} and {others[-1]}")
    try:
        return demo.json(*common, "--codec", ",".join((*ours, *peers))), ""
    except Missing as problem:
        rows = demo.json(*common, "--codec", ",".join(ours))
        return rows, f"No other compressors here. {problem}"


def is_at(row: Row, bound: float) -> bool:
    return (
        bool(np.isclose(float(row["bound"].split()[1]), bound))
        if row["bound"].startswith("rel")
        else False
    )


def table(rows: Sequence[Row], bounds: Sequence[float], ours: Sequence[str]) -> str:
    """The smallest first, in a group for each bound."""
    lines: list[list[str]] = []
    groups, marked = [], []
    for bound in bounds:
        groups.append(len(lines))
        chosen = [row for row in rows if is_at(row, bound)]
        for row in sorted(chosen, key=lambda row: -row["ratio"]):
            if row["codec"] in ours:
                marked.append(len(lines))
            kept = "lossless" if row["lossless"] else "yes" if row["kept_bound"] else "no"
            speeds = (speed(row[key]) for key in ("compress_gb_per_s", "decompress_gb_per_s"))
            name = NAMES.get(row["codec"], row["codec"])
            lines.append(["", name, f"{row['ratio']:.2f}", *speeds, kept])
        lines[groups[-1]][0] = f"{bound:g}"
        copy = speed(max(row["memcpy_gb_per_s"] for row in chosen))
        lines.append(["", "memcpy", "1.00", copy, copy, "exact"])
    columns = ["--rel", "codec", "ratio", "compress GB/s", "decom\u00adpress GB/s", "bound kept"]
    return page.table(columns, lines, words=(0, 1, 5), groups=groups, marked=marked)


def speed(gb_per_s: float) -> str:
    return f"{gb_per_s:.2f}" if gb_per_s >= 0.1 else f"{gb_per_s:.3f}"
