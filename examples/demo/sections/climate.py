"""A real climate field at three bounds: ratio, error map, and speed beside memcpy and other
compressors."""

from __future__ import annotations

from collections.abc import Sequence

import contest
import fields
import numpy as np
import page
import pictures
from demonstration import Demonstration, Highlight, Section, Shown
from plots import Axis, Series, plot

import tensorpress

BOUNDS = (1e-2, 1e-3, 1e-4)
SHOWN_BOUND = 1e-3
OURS = ("dense", "dense-fast", "ceresz")
PEERS = ("sz3", "sperr", "zfp", "blosc2-zstd")


def show(demo: Demonstration) -> Shown:
    field = fields.field(demo, "sea_temperature")
    unit = "" if field.generated else " °C"
    demo.say(f"{field.title}: three bounds")
    copies = {bound: _copy(field.array, bound) for bound in BOUNDS}
    rows, absent = contest.measure(demo, field, BOUNDS, OURS, PEERS)
    best = next(r for r in rows if r["codec"] == "dense" and contest.is_at(r, SHOWN_BOUND))
    html = page.paragraph(
        "You say how far off a value may be. Tensorpress finds a small file that keeps this "
        "promise for every "
        "single value, and `tensorpress verify` proves it."
    )
    if field.generated:
        html += page.note(fields.missing(field))
    html += _maps(field, copies, unit)
    html += page.commands(
        "tensorpress compress build/demo-data/sea_temperature.npy --rel 1e-3 -o sea.tpz",
        "tensorpress verify build/demo-data/sea_temperature.npy sea.tpz",
    )
    html += page.heading("Compared with memcpy and other compressors")
    html += page.paragraph(
        "The compressors take turns with the same field on this machine, on one thread, memory "
        "to memory; the best of several runs counts. dense is the default, dense-fast is dense "
        "with --effort fast, and ceresz is the fastest."
    )
    if absent:
        html += page.note(absent)
    html += _plots(rows)
    html += contest.table(rows, BOUNDS, OURS)
    return Shown(
        html,
        Highlight(
            f"{best['ratio']:.0f} times smaller",
            f"{field.title.lower()}, every value within a thousandth of the range",
        ),
    )


SECTION = Section("climate", "A climate field at three error bounds", show)


def _copy(array: np.ndarray, bound: float) -> tuple[np.ndarray, float]:
    packed = tensorpress.compress(array, relative=bound)
    return tensorpress.decompress(packed), array.nbytes / len(packed)


def _maps(field: fields.Field, copies: dict[float, tuple[np.ndarray, float]], unit: str) -> str:
    top = field.array[0]
    land = _land(top)
    low, high = float(top[~land].min()), float(top[~land].max())

    def shown(plane: np.ndarray) -> np.ndarray:
        return np.where(land, np.nan, plane)

    span = float(field.array.max() - field.array.min())
    size = f"{' x '.join(map(str, field.array.shape))} values, {field.array.nbytes / 1e6:.1f} MB"
    about = field.about.split(".")[0] + "."
    if land.any():
        about += (
            " Land (grey) holds the mean of its plane, so that every compressor gets the same "
            "numbers."
        )
    bar = pictures.color_bar(f"{low:.0f}{unit}", f"{high:.0f}{unit}")
    original = page.figure(
        pictures.picture(shown(top), low, high, f"{field.title}, the original") + bar,
        f"The original, the first plane of {size}. {about}",
    )
    columns, rows = [], []
    for bound, (copy, ratio) in copies.items():
        error = np.abs(copy.astype(np.float64) - field.array).max()
        allowed = bound * span
        after = page.figure(
            pictures.picture(shown(copy[0]), low, high, f"{field.title} after --rel {bound:g}"),
            f"--rel {bound:g}: {ratio:.1f} times smaller.",
        )
        difference = page.figure(
            pictures.picture(
                shown(copy[0] - top),
                -allowed,
                allowed,
                f"Errors at --rel {bound:g}",
                pictures.DIVERGING,
            )
            + pictures.color_bar(
                f"−{allowed:.2g}{unit}", f"+{allowed:.2g}{unit}", pictures.DIVERGING
            ),
            f"Its errors: at most {error:.4g}{unit}, and {allowed:.4g}{unit} was allowed.",
        )
        columns.append(f"<div>{after}{difference}</div>\n")
        rows.append(
            [
                f"{bound:g}",
                f"{ratio:.1f}",
                f"{field.array.nbytes / ratio / 1e6:.2f}",
                f"{error:.4g}{unit}",
            ]
        )
    told = page.table(["--rel", "times smaller", "MB", "largest error"], rows)
    told += page.paragraph(
        f"--rel 0.001 allows a thousandth of the range of values: {1e-3 * span:.3g}{unit} here. "
        "--abs, --pw-rel, --psnr and --ratio are other kinds of bounds."
    )
    return page.side_by_side([original, f"<div>{told}</div>\n"], 380) + page.side_by_side(
        columns, 260
    )


def _land(plane: np.ndarray) -> np.ndarray:
    """Where extract_data.py put the mean of the plane in place of missing values."""
    values, counts = np.unique(plane, return_counts=True)
    return (plane == values[counts.argmax()]) & (counts.max() > 0.05 * plane.size)


def _plots(rows: Sequence[contest.Row]) -> str:
    chosen = [row for row in rows if contest.is_at(row, SHOWN_BOUND)]
    drawn = []
    for way, title in (("compress", "Compression"), ("decompress", "Decompression")):
        series = [
            Series(
                whose,
                [
                    (row[f"{way}_gb_per_s"], row["ratio"])
                    for row in chosen
                    if (row["codec"] in OURS) == ours
                ],
                color=color,
                line=False,
                marks=True,
                below=not ours,
                labels=[
                    contest.NAMES.get(r["codec"], r["codec"])
                    for r in chosen
                    if (r["codec"] in OURS) == ours
                ],
            )
            for whose, ours, color in (("Tensorpress", True, 0), ("others", False, 1))
        ]
        speed = max(row["memcpy_gb_per_s"] for row in chosen)
        drawn.append(
            page.figure(
                plot(
                    f"{title} at --rel {SHOWN_BOUND:g}",
                    Axis("GB/s (logarithmic)", logarithmic=True),
                    Axis("times smaller", logarithmic=True),
                    [s for s in series if s.points],
                    (speed, "memcpy"),
                ),
                "Up is smaller, right is faster.",
            )
        )
    return page.side_by_side(drawn, 330)
