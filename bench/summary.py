"""Tables for results of `bench --codec dct-chop --json`: speeds as shares of memcpy, one row a chop
factor, lowest and highest over the plane sizes.

Usage: python3 bench/summary.py bench/results/dct-chop-*.json
"""

import json
import sys


def span(values: list[float]) -> str:
    return f"{min(values):.2f}–{max(values):.2f}"


def table(path: str) -> None:
    rows = json.load(open(path, encoding="utf-8"))
    print(f"\n{path}: planes {sorted({row['plane'] for row in rows})}\n")
    print("| CF | threads | memcpy GB/s | compression × memcpy | decompression × memcpy |")
    print("|---|---|---|---|---|")
    for cf in sorted({row["cf"] for row in rows}):
        for threads in sorted({row["threads"] for row in rows}):
            some = [row for row in rows if (row["cf"], row["threads"]) == (cf, threads)]
            shares = [
                [row[f"{way}_gb_per_s"] / row["memcpy_gb_per_s"] for row in some]
                for way in ("compress", "decompress")
            ]
            memcpy = span([row["memcpy_gb_per_s"] for row in some])
            print(f"| {cf} | {threads} | {memcpy} | {span(shares[0])} | {span(shares[1])} |")


for name in sys.argv[1:]:
    table(name)
