"""What the papers print, recomputed: every number beside ours and its error."""

from __future__ import annotations

from typing import Any

import page
from demonstration import Demonstration, Highlight, Section, Shown


def show(demo: Demonstration) -> Shown:
    demo.say("published numbers beside ours")
    told = demo.json("reproduce")
    lines, groups = [], []
    folded = ""
    for table in told["tables"]:
        groups.append(len(lines))
        for label, error in table["errors"].items():
            lines.append(
                [
                    table["reproduces"],
                    label,
                    error["rows"],
                    _percent(error["mean"]),
                    _percent(error["largest"]),
                ]
            )
        folded += page.details(table["reproduces"], _rows(table["rows"]))
    rows = [
        row
        for table in told["tables"]
        for row in table["rows"]
        if row["relative_error"] is not None
    ]
    predicted = [abs(row["relative_error"]) for row in rows if row["label"] == "predicted"]
    mean = sum(predicted) / len(predicted)
    html = page.paragraph(
        "A model is worth what it predicts. The table covers every published number that the "
        "simulator and the device models can be compared with. Calibrated numbers were used to "
        "set a constant. For inferred ones a constant or a scenario was assumed with published "
        "outcomes in view. Predicted ones rest on facts and on constants fitted elsewhere, and "
        "stated ones only repeat the paper."
    )
    html += page.table(
        ["published in", "label", "num\u00adbers", "mean error", "largest"],
        lines,
        words=(0, 1),
        groups=groups,
    )
    html += page.paragraph("All of them; open one to see its numbers.")
    html += folded
    html += page.paragraph(f"Left out: {told['left_out']}.", "caption")
    html += page.commands("tensorpress reproduce")
    words = f"on average, over {len(predicted)} published numbers that no constant had seen"
    return Shown(html, Highlight(f"{_percent(mean)} off", words))


SECTION = Section("reproduction", "Published numbers, recomputed", show)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def _number(value: float) -> str:
    """Four digits, and no powers of ten."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _rows(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        published = "–" if row["published"] is None else _number(row["published"])
        if row["published_to"] is not None:
            published += f" to {_number(row['published_to'])}"
        error = (
            "–" if row["relative_error"] is None else f"{100 * row['relative_error']:+.1f}\u00a0%"
        )
        lines.append(
            [f"{row['what']}, {row['unit']}", published, _number(row["ours"]), error, row["label"]]
        )
    return page.table(["", "published", "ours", "error", "label"], lines, words=(0, 4))
