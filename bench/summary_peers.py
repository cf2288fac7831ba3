"""Table for a result of `bench --peers --json`: geometric means over fields, against SZ3 on the
same fields.

Usage: python3 bench/summary_peers.py bench/results/peers-held-out.json
"""

import json
import math
import sys


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def table(path: str) -> None:
    rows = [row for row in json.load(open(path, encoding="utf-8")) if row.get("ratio")]
    print(
        "| bound | codec | fields | ratio ÷ SZ3 | compression ÷ SZ3 | decompression ÷ SZ3 "
        "| compression GB/s | decompression GB/s | bound kept |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for bound in dict.fromkeys(row["bound"] for row in rows):
        sz3 = {row["field"]: row for row in rows if (row["codec"], row["bound"]) == ("sz3", bound)}
        for codec in dict.fromkeys(row["codec"] for row in rows):
            some = [
                row
                for row in rows
                if (row["codec"], row["bound"]) == (codec, bound) and row["field"] in sz3
            ]
            if not some:
                continue
            names = ("ratio", "compress_gb_per_s", "decompress_gb_per_s")
            shares = [
                geometric_mean([row[name] / sz3[row["field"]][name] for row in some])
                for name in names
            ]
            speeds = [geometric_mean([row[name] for row in some]) for name in names[1:]]
            kept = sum(row["kept_bound"] is True for row in some)
            print(
                f"| {bound} | {codec} | {len(some)} | {shares[0]:.2f} | {shares[1]:.1f} "
                f"| {shares[2]:.1f} | {speeds[0]:.2f} | {speeds[1]:.2f} | {kept} of {len(some)} |"
            )


for name in sys.argv[1:]:
    table(name)
