"""The tables of bench/large_fields.py: our ratios as shares of the best other's, speeds as shares
of SZ3's, ratios at an equal PSNR as shares of SPERR's."""

import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "fields"))

from catalog import SOLVERS

LOSSY_PEERS = ("sz3", "hpez", "sperr", "zfp")


def mean(numbers: list[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else math.nan


def kinds() -> dict[str, tuple[str, str]]:
    """Split and kind of every field that our solvers make."""
    return {
        field: (solver.split, kind) for solver in SOLVERS for field, kind in solver.fields.items()
    }


def by_codec(rows: list[dict], field: str, bound: str) -> dict[str, dict]:
    here = [row for row in rows if row["field"] == field and row["bound"] == bound]
    return {row["codec"]: row for row in here if "ratio" in row}


def best_peer(here: dict[str, dict]) -> tuple[str, float]:
    ratios = {codec: here[codec]["ratio"] for codec in LOSSY_PEERS if codec in here}
    return max(ratios.items(), key=lambda each: each[1])


def ordered(rows: list[dict], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


def ours_of(rows: list[dict]) -> list[str]:
    """Our own contenders, and variants of them by arguments."""
    return [
        codec
        for codec in ordered(rows, "codec")
        if codec.startswith("dense") or any("arguments" in r for r in rows if r["codec"] == codec)
    ]


def lines_of_field(rows: list[dict]) -> list[str]:
    """What a reader follows while fields are measured."""
    lines = []
    for field in ordered(rows, "field"):
        for bound in ordered(rows, "bound"):
            here = by_codec(rows, field, bound)
            words = [f"{codec} {row['ratio']:.2f}" for codec, row in here.items()]
            lines.append(f"{field}, {bound}: " + ", ".join(words))
    return lines


def markdown(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines]) + "\n"


def ratio_table(rows: list[dict]) -> str:
    ours, known = ours_of(rows), kinds()
    head = ["field", "kind", "bound", "best other", *ours, *(f"{each} / best" for each in ours)]
    lines = []
    for field in ordered(rows, "field"):
        split, kind = known.get(field, ("", ""))
        for bound in ordered(rows, "bound"):
            here = by_codec(rows, field, bound)
            peer, ratio = best_peer(here)
            cells = [field, f"{kind}, {split}", bound, f"{peer} {ratio:.2f}"]
            cells += [f"{here[each]['ratio']:.2f}" if each in here else "" for each in ours]
            cells += [f"{here[each]['ratio'] / ratio:.2f}" if each in here else "" for each in ours]
            lines.append(cells)
    return markdown(head, lines)


def summary_table(rows: list[dict], codec: str) -> str:
    """Means of ratio over the best other's, by split and kind, and the worst field; speeds beside
    SZ3."""
    known, bounds = kinds(), ordered(rows, "bound")
    groups: dict[tuple[str, str], list[str]] = {}
    for field in ordered(rows, "field"):
        split, kind = known.get(field, ("other", ""))
        groups.setdefault((split, kind), []).append(field)
        groups.setdefault((split, "all"), []).append(field)
    head = ["split", "kind", "fields", *(f"ratio, {b}" for b in bounds), "least"]
    head += ["compression / SZ3", "decompression / SZ3"]
    lines = []
    for (split, kind), fields in sorted(groups.items()):
        shares: dict[str, list[float]] = {bound: [] for bound in bounds}
        speeds: tuple[list[float], list[float]] = ([], [])
        for field in fields:
            for bound in bounds:
                here = by_codec(rows, field, bound)
                if codec not in here:
                    continue
                shares[bound].append(here[codec]["ratio"] / best_peer(here)[1])
                for way, found in zip(("compress", "decompress"), speeds, strict=True):
                    name = f"{way}_gb_per_s"
                    if "sz3" in here and name in here[codec]:
                        found.append(here[codec][name] / here["sz3"][name])
        cells = [split, kind, str(len(fields)), *(f"{mean(shares[b]):.2f}" for b in bounds)]
        cells += [f"{min((x for each in shares.values() for x in each), default=math.nan):.2f}"]
        lines.append(cells + [f"{mean(found):.2f}" for found in speeds])
    return markdown(head, lines)


def psnr_table(pairs: list[dict]) -> str:
    codecs = [name for name in ("dense", "dense-best") if any(f"{name}_ratio" in p for p in pairs)]
    head = ["field", "PSNR (dB)", "SPERR", *(x for c in codecs for x in (c, f"{c} / SPERR"))]
    lines = []
    for pair in pairs:
        cells = [pair["field"], f"{pair['sperr_psnr_db']:.1f}", f"{pair['sperr_ratio']:.2f}"]
        for codec in codecs:
            ratio = pair[f"{codec}_ratio"]
            cells += [f"{ratio:.2f}", f"{ratio / pair['sperr_ratio']:.2f}"]
        lines.append(cells)
    return markdown(head, lines)


def page(result: dict) -> str:
    rows = result["rows"]
    broken = [row for row in rows if row.get("kept_bound") is False]
    turns = result["repetitions"]
    parts = [
        "# Fields above 8 MB beside other compressors\n\n"
        f"Made by `{result['command']}`.\n\n"
        f"Measured on {result['machine']}, one thread, the best of {turns} turns. "
        "Ratios count whole files or streams.\n"
    ]
    for codec in ours_of(rows):
        parts.append(f"## {codec}: geometric means as shares of the best other\n")
        parts.append(summary_table(rows, codec))
    parts += ["## Field by field\n", ratio_table(rows)]
    if result["psnr"]:
        parts += ["## At an equal PSNR\n", psnr_table(result["psnr"])]
    if broken:
        named = sorted({f"{row['codec']} ({row['field']}, {row['bound']})" for row in broken})
        parts.append("Bounds that were not kept: " + "; ".join(named) + ".\n")
    return "\n".join(parts)
