"""Rate and distortion of a result of bench/large_fields.py as SVG files, a small plot a field.

    python bench/rate_distortion.py bench/results/large-fields.json

writes large-fields-error.svg (the largest error, as a share of the range) and large-fields-psnr.svg
beside it; bench/large_fields.py --output does too. Colours are those of every page
(src/report/drawing/page.css), in light and in dark; codecs also differ by marker and dash. Needs
NumPy.
"""

import dataclasses
import html
import json
import math
import pathlib
import re
import sys
import textwrap
from collections.abc import Iterable

from large_fields_tables import kinds, ordered

STYLE = pathlib.Path(__file__).resolve().parents[1] / "src" / "report" / "drawing" / "page.css"

Point = tuple[float, float]  # bits a value, and the distortion


@dataclasses.dataclass(frozen=True)
class Look:
    codec: str
    name: str
    color: int  # of page.css
    dash: str = ""


# Ours are drawn last, above the others.
LOOKS = (
    Look("zfp", "ZFP", 6, "2 3"),
    Look("sz3", "SZ3", 2, "6 3"),
    Look("sperr", "SPERR", 3, "8 3 2 3"),
    Look("hpez", "HPEZ", 1),
    Look("dense", "dense", 0),
    Look("dense-best", "dense, effort best", 4, "4 3"),
)


@dataclasses.dataclass(frozen=True)
class Measure:
    key: str  # ends the name of the file
    title: str
    axis: str
    logarithmic: bool
    direction: str
    asked: str


ERROR = Measure(
    "error",
    "Largest error and bits a value",
    "largest error / range",
    True,
    "Down and left is better.",
    "For the largest error, every codec is asked for shares of the range.",
)
PSNR = Measure(
    "psnr",
    "PSNR and bits a value",
    "PSNR, dB",
    False,
    "Up and left is better.",
    "For the PSNR, dense and SPERR are asked for one, the others for a largest error; exact copies "
    "are left out.",
)
MEASURES = (ERROR, PSNR)


def value_range(rows: list[dict]) -> float:
    """Of the field that all these rows are about."""
    row = next(row for row in rows if row["bound"].startswith("rel "))
    return row["absolute_bound"] / float(row["bound"].split()[1])


def value_bits(rows: list[dict]) -> int:
    """Of an uncompressed value, from a row that has both figures."""
    row = next(row for row in rows if "bits_per_value" in row)
    return round(row["bits_per_value"] * row["ratio"])


def points_of(result: dict, field: str, measure: Measure) -> dict[str, list[Point]]:
    """The line of each codec, from few bits to many."""
    rows = [row for row in result["rows"] if row["field"] == field and "ratio" in row]
    bits, span = value_bits(rows), value_range(rows)
    found: dict[str, list[Point]] = {}
    for look in LOOKS:
        own = [row for row in rows if row["codec"] == look.codec]
        if measure is ERROR:
            points = [(bits / row["ratio"], row["max_abs_error"] / span) for row in own]
        else:
            points = [(bits / row["ratio"], row["psnr_db"]) for row in own]
            asked = [
                (bits / pair[f"{look.codec}_ratio"], pair[f"{look.codec}_psnr_db"])
                for pair in result["psnr"]
                if pair["field"] == field and f"{look.codec}_ratio" in pair
            ]
            points = asked or points
        # An exact copy has no place on these axes.
        found[look.codec] = sorted(p for p in points if p[1] and math.isfinite(p[1]))
    return {codec: points for codec, points in found.items() if points}


# ---- drawing, in units of about a pixel ----------------------------------------------------------

COLUMNS = 3  # as wide as a column of text
PANEL_WIDTH, PANEL_HEIGHT = 290, 232
LEFT, RIGHT, TOP, BOTTOM = 66, 12, 40, 44  # around the area of a panel
HEAD = 66  # title and legend above the panels
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LINE = 17  # of what is said below them


class Scale:
    """From values to places, with round ticks."""

    def __init__(self, values: Iterable[float], start: float, end: float, logarithmic: bool):
        self.logarithmic = logarithmic
        places = [math.log10(each) if logarithmic else each for each in values]
        air = 0.08 * max(max(places) - min(places), 0.1)
        self.low, self.high = min(places) - air, max(places) + air
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        place = math.log10(value) if self.logarithmic else value
        return self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        if not self.logarithmic:
            rough = (self.high - self.low) / 4
            unit = 10.0 ** math.floor(math.log10(rough))
            step = next(unit * each for each in (1, 2, 5, 10) if unit * each >= rough * 0.999)
            numbers = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
            return [number * step for number in numbers]
        span = self.high - self.low
        factors = (1, 2, 5) if span < 1.4 else (1, 3) if span < 2.2 else (1,)
        decades = range(math.floor(self.low), math.ceil(self.high) + 1)
        # Written as numbers are, so that 0.001 is exactly that.
        ticks = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
        return [tick for tick in ticks if self.low <= math.log10(tick) <= self.high]


def number(tick: float) -> str:
    """Small ones as powers of ten, which take less room."""
    if tick >= 0.001:
        return f"{tick:g}"
    digit, power = f"{tick:.0e}".split("e-")
    return ("" if digit == "1" else f"{digit}·") + "10⁻" + power.lstrip("0").translate(RAISED)


def words(x: float, y: float, text: str, anchor: str = "start", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{html.escape(text)}</text>'


def marker(look: Look, x: float, y: float, note: str = "") -> str:
    """A shape around (x, y), another one for each codec, with a halo in the colour of the paper."""
    corners = {
        "zfp": ((-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)),
        "sz3": ((0, -4.6), (4.3, 3.4), (-4.3, 3.4)),
        "sperr": ((0, -5), (5, 0), (0, 5), (-5, 0)),
        "hpez": ((0, 4.6), (4.3, -3.4), (-4.3, -3.4)),
    }.get(look.codec)
    title = f"<title>{html.escape(note)}</title>" if note else ""
    if corners:
        points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
        shape, end = f'polygon points="{points}"', "polygon"
    else:
        radius = 5.8 if look.codec == "dense-best" else 3.8
        shape, end = f'circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"', "circle"
    fill, edge = f"var(--series-{look.color})", "var(--paper)"
    if look.codec == "dense-best":  # a ring, often around a point of dense
        fill, edge = "none", fill
    return f'<{shape} style="fill:{fill};stroke:{edge};stroke-width:1.2">{title}</{end}>'


def stroke(look: Look) -> str:
    dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
    return f'style="fill:none;stroke:var(--series-{look.color});stroke-width:1.8"{dash}'


def panel(result: dict, field: str, measure: Measure, heading: tuple[str, str], labels: str) -> str:
    """One field, with its upper left corner at 0, 0; the axes in `labels` ("xy") are named."""
    lines = points_of(result, field, measure)
    every = [point for points in lines.values() for point in points]
    right, bottom = PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM
    across = Scale((x for x, _ in every), LEFT, right, True)
    up = Scale((y for _, y in every), bottom, TOP, measure.logarithmic)
    parts = [words(LEFT, 16, heading[0], extra=' font-weight="600"')]
    parts += [words(LEFT, 32, heading[1], extra=' class="soft"')]
    for tick in across.ticks():
        x = across(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}" />')
        parts.append(words(x, bottom + 15, number(tick), "middle", ' class="soft"'))
    for tick in up.ticks():
        y = up(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}" />')
        parts.append(words(LEFT - 6, y + 4, number(tick), "end", ' class="soft"'))
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}" style="fill:none" />')
    if "x" in labels:
        parts.append(words((LEFT + right) / 2, bottom + 33, "bits a value", "middle"))
    if "y" in labels:
        y = (TOP + bottom) / 2
        parts.append(words(12, y, measure.axis, "middle", f' transform="rotate(-90 12 {y:.1f})"'))
    for look in LOOKS:
        places = [(across(x), up(y)) for x, y in lines.get(look.codec, [])]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        if len(places) > 1:
            parts.append(f'<polyline points="{path}" {stroke(look)} />')
        for (x, y), (bits, value) in zip(places, lines.get(look.codec, []), strict=True):
            note = f"{look.name}: {bits:.3g} bits a value, {measure.axis} {value:.4g}"
            parts.append(marker(look, x, y, note))
    return "\n".join(parts)


def heading_of(field: str) -> tuple[str, str]:
    """What the field is called, and how it differs from others for a compressor."""
    return field.replace("_", " "), kinds().get(field, ("", ""))[1]


def looks_of(result: dict) -> list[Look]:
    """Of the codecs in the result, ours first."""
    codecs = {row["codec"] for row in result["rows"]}
    return [look for look in (*LOOKS[-2:], *reversed(LOOKS[:-2])) if look.codec in codecs]


def sample(look: Look, x: float, y: float) -> str:
    """A piece of a codec's line, 30 units long, for a legend."""
    line = f'<polyline points="{x:.1f},{y} {x + 30:.1f},{y}" {stroke(look)} />'
    return line + marker(look, x + 15, y)


def legend(result: dict) -> str:
    parts, x = [], float(LEFT)
    for look in looks_of(result):
        parts += [sample(look, x, 48), words(x + 37, 52, look.name)]
        x += 62 + 6.4 * len(look.name)
    return "\n".join(parts)


def style() -> str:
    """The colours of page.css, and what text and lines have of them."""
    colors = re.findall(r"^ *:root \{\n(.*?)^ *\}", STYLE.read_text("utf-8"), re.S | re.M)
    light, dark = (re.sub(r"\s+", " ", each).strip() for each in colors)
    return (
        f"<style>\nsvg {{ {light} }}\n@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}\n"
        "svg { background: var(--paper); font: 12.5px system-ui, 'DejaVu Sans', sans-serif }\n"
        "text { fill: var(--ink) } .soft { fill: var(--soft) }\n"
        ".grid { stroke: var(--grid) } .axis { stroke: var(--soft) }\n</style>"
    )


def panel_svg(result: dict, field: str, measure: Measure, heading: tuple[str, str]) -> str:
    """One field for a page that has the style sheet."""
    return (
        f'<svg viewBox="0 0 {PANEL_WIDTH} {PANEL_HEIGHT}" font-size="12.5" role="img" '
        f'aria-label="{html.escape(f"{measure.title}, {field}")}">\n'
        f"{panel(result, field, measure, heading, 'xy')}\n</svg>\n"
    )


def legend_html(result: dict) -> str:
    """For the same page."""
    items = "".join(
        f'<span><svg viewBox="0 0 30 14" style="display:inline-block;width:30px;'
        f'margin-right:.5em;vertical-align:middle">{sample(look, 0, 7)}</svg>{look.name}</span>'
        for look in looks_of(result)
    )
    return f'<div class="legend">{items}</div>\n'


def svg(result: dict, measure: Measure) -> str:
    """All fields of a result; a file that stands alone."""
    fields = ordered(result["rows"], "field")
    said = [f"{measure.direction} {measure.asked}", f"Measured on {result['machine']} by"]
    said += textwrap.wrap(result["command"], 112, break_long_words=False, break_on_hyphens=False)
    width = COLUMNS * PANEL_WIDTH
    bottom = HEAD + math.ceil(len(fields) / COLUMNS) * PANEL_HEIGHT
    height = bottom + 10 + LINE * len(said)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'width="{width}" height="{height}" aria-label="{measure.title}">',
        style(),
        words(LEFT, 24, measure.title, extra=' font-size="17" font-weight="600"'),
        legend(result),
    ]
    for index, field in enumerate(fields):
        row, column = divmod(index, COLUMNS)
        place = f"translate({column * PANEL_WIDTH} {HEAD + row * PANEL_HEIGHT})"
        labels = "x" * (index + COLUMNS >= len(fields)) + "y" * (column == 0)
        drawn = panel(result, field, measure, heading_of(field), labels)
        parts.append(f'<g transform="{place}">\n{drawn}\n</g>')
    for index, line in enumerate(said, 1):
        parts.append(words(LEFT, bottom + LINE * index, line, extra=' class="soft"'))
    return "\n".join(parts) + "\n</svg>\n"


def write(result: dict, output: pathlib.Path) -> None:
    """OUTPUT-error.svg and OUTPUT-psnr.svg."""
    for measure in MEASURES:
        path = output.with_name(f"{output.stem}-{measure.key}.svg")
        path.write_text(svg(result, measure), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("rate_distortion: one result of bench/large_fields.py is needed")
    source = pathlib.Path(sys.argv[1])
    write(json.loads(source.read_text(encoding="utf-8")), source)
