"""A large field of a simulation: a slice before and after, speeds, and rate and distortion beside
other compressors; and the recorded comparison on fields of other solvers, with HPEZ."""

from __future__ import annotations

import json
import pathlib
import time

import contest
import fields
import numpy as np
import page
import pictures
import rate_distortion
from demonstration import Demonstration, Highlight, Section, Shown

import tensorpress

BOUNDS = (1e-2, 1e-3, 1e-4)
SHOWN_BOUND = 1e-3
OURS = ("dense", "dense-best")
PEERS = ("sz3", "sperr", "zfp")
RECORDED = pathlib.Path(__file__).resolve().parents[3] / "bench" / "results" / "large-fields.json"


def show(demo: Demonstration) -> Shown:
    began = time.monotonic()
    field = fields.simulated(demo)
    demo.say(f"{field.title}, {field.array.nbytes / 1e6:.0f} MB: {_seconds(began)}")
    rows, absent = contest.measure(demo, field, BOUNDS, OURS, PEERS)
    dense = next(r for r in rows if r["codec"] == "dense" and contest.is_at(r, SHOWN_BOUND))
    html = page.paragraph(
        "Simulations write fields that are larger and often smoother than measured ones. For "
        "these, dense has wavelets and stencils, which it fits to each part of the field."
    )
    html += _pictures(field, dense)
    html += page.commands(
        "tensorpress compress build/demo-data/sound_in_rock.npy --rel 1e-3 -o sound.tpz",
        "tensorpress verify build/demo-data/sound_in_rock.npy sound.tpz",
    )
    html += page.heading("Rate and distortion beside other compressors")
    if absent:
        html += page.note(absent)
    html += _plots({"rows": rows, "psnr": []}, field.name)
    html += contest.table(rows, BOUNDS, OURS)
    html += _recorded()
    return Shown(
        html,
        Highlight(
            f"{dense['ratio']:.0f} times smaller",
            f"{field.title.lower()}, {field.array.nbytes / 1e6:.0f} MB of a simulation, every "
            "value within a thousandth of the range",
        ),
    )


SECTION = Section("simulation", "A large field of a simulation", show)


def _seconds(began: float) -> str:
    return f"{time.monotonic() - began:.1f} s"


def _pictures(field: fields.Field, dense: contest.Row) -> str:
    """The slice in the middle of the second axis: the original, the copy and its errors."""
    copy = tensorpress.decompress(tensorpress.compress(field.array, relative=SHOWN_BOUND))
    middle = field.array.shape[1] // 2
    before, after = field.array[:, middle], copy[:, middle]
    span = float(field.array.max()) - float(field.array.min())
    allowed, shown = SHOWN_BOUND * span, 0.3 * float(np.abs(before).max())
    error = float(np.abs(copy.astype(np.float64) - field.array).max())

    def drawn(plane: np.ndarray, most: float, what: str, caption: str) -> str:
        picture = pictures.picture(plane, -most, most, what, pictures.DIVERGING)
        bar = pictures.color_bar(f"−{most:.2g}", f"+{most:.2g}", pictures.DIVERGING)
        return page.figure(picture + bar, caption)

    size = f"{' x '.join(map(str, field.array.shape))} values, {field.array.nbytes / 1e6:.1f} MB"
    speeds = [contest.speed(dense[f"{way}_gb_per_s"]) for way in ("compress", "decompress")]
    return page.side_by_side(
        [
            drawn(
                before,
                shown,
                f"{field.title}, the original",
                f"The original: plane {middle} of the second axis of {size}. {field.about}",
            ),
            drawn(
                after,
                shown,
                f"{field.title} after --rel {SHOWN_BOUND:g}",
                f"--rel {SHOWN_BOUND:g}: {dense['ratio']:.1f} times smaller, compressed at "
                f"{speeds[0]} GB/s and decompressed at {speeds[1]} GB/s, on one thread.",
            ),
            drawn(
                after - before,
                allowed,
                f"Errors at --rel {SHOWN_BOUND:g}",
                f"Its errors: at most {error:.4g} in the whole field, and {allowed:.4g} was "
                "allowed.",
            ),
        ],
        260,
    )


def _plots(result: dict, name: str) -> str:
    """The largest error and the PSNR against bits a value, with a line for each codec."""
    drawn = [
        page.figure(
            rate_distortion.panel_svg(result, name, measure, (measure.title, "")),
            measure.direction,
        )
        for measure in rate_distortion.MEASURES
    ]
    words = page.paragraph(
        "Measured on this machine with this field, on one thread, at --rel "
        f"{', '.join(f'{bound:g}' for bound in BOUNDS)}. dense-best is dense with --effort best."
    )
    drawn.append(f"<div>{words}{rate_distortion.legend_html(result)}</div>\n")
    return page.side_by_side(drawn, 260)


def _recorded() -> str:
    """Fields of other solvers with HPEZ, which is not installed here: a result of the bench."""
    result = json.loads(RECORDED.read_text(encoding="utf-8"))
    names = list(dict.fromkeys(row["field"] for row in result["rows"]))
    html = page.paragraph(
        f"Recorded, not measured here: bench/results/large-fields.json, made on "
        f"{result['machine']} by `{result['command']}`."
    )
    for measure in rate_distortion.MEASURES:
        html += page.heading(measure.title)
        html += page.paragraph(f"{measure.direction} {measure.asked}")
        html += rate_distortion.legend_html(result)
        html += page.side_by_side(
            (
                rate_distortion.panel_svg(result, name, measure, rate_distortion.heading_of(name))
                for name in names
            ),
            260,
        )
    return page.details(f"{len(names)} fields of other solvers, also beside HPEZ (recorded)", html)
