"""Lines and points as inline SVG, in the colours of the style sheet: light and dark come for
free."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from page import text

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 34, 48


@dataclass(frozen=True)
class Series:
    """Points joined by a line; or points alone, with a word beside each."""

    name: str
    points: Sequence[tuple[float, float]]
    color: int = 0
    line: bool = True
    marks: bool = False
    step: bool = False  # the value holds until the next point
    labels: Sequence[str] = ()
    notes: Sequence[str] = ()  # shown when the pointer rests on a mark
    below: bool = False  # where the words are


@dataclass(frozen=True)
class Axis:
    title: str
    logarithmic: bool = False
    low: float | None = None
    high: float | None = None


def plot(
    title: str, x: Axis, y: Axis, series: Sequence[Series], marker: tuple[float, str] | None = None
) -> str:
    """`marker` is a dashed upright line at an x, with its name."""
    xs = [px for each in series for px, _ in each.points] + ([marker[0]] if marker else [])
    ys = [py for each in series for _, py in each.points]
    across = _Scale(x, xs, LEFT, WIDTH - RIGHT)
    up = _Scale(y, ys, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(title)}">',
        _text(LEFT - 50, 16, title, size=15, extra=' font-weight="600"'),
    ]
    for value, label in across.ticks():
        at = across(value)
        parts.append(f'<path class="grid" d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" />')
        parts.append(_text(at, HEIGHT - BOTTOM + 17, label, "middle", soft=True))
    for value, label in up.ticks():
        at = up(value)
        parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" />')
        parts.append(_text(LEFT - 7, at + 4, label, "end", soft=True))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x.title, "middle"))
    turned = f' transform="rotate(-90 14 {(TOP + HEIGHT - BOTTOM) / 2})"'
    parts.append(_text(14, (TOP + HEIGHT - BOTTOM) / 2, y.title, "middle", extra=turned))
    if marker:
        at = across(marker[0])
        parts.append(
            f'<path class="axis" stroke-dasharray="5 4" d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" />'
        )
        parts.append(_text(at - 5, HEIGHT - BOTTOM - 7, marker[1], "end", soft=True))
    parts.extend(_drawn(each, across, up) for each in series)
    parts.append("</svg>")
    named = [each for each in series if each.name]
    return "\n".join(parts) + _legend(named if len(named) > 1 else [])


class _Scale:
    """From values to pixels, with round ticks."""

    def __init__(self, axis: Axis, values: Sequence[float], start: float, end: float) -> None:
        self.logarithmic = axis.logarithmic
        low = min(values) if axis.low is None else axis.low
        high = max(values) if axis.high is None else axis.high
        if self.logarithmic:
            low, high = math.log10(low), math.log10(high)
            margin = 0.12 * max(high - low, 0.1)
            low, high = low - margin, high + margin
        elif axis.high is None:
            high += 0.05 * (high - low or 1)
        self.low, self.high = low, high if high > low else low + 1
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        at = math.log10(value) if self.logarithmic else value
        return self.start + (at - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        if self.logarithmic:
            steps = (1, 2, 5) if self.high - self.low < 2.2 else (1,)
            decades = range(math.floor(self.low), math.ceil(self.high) + 1)
            values = [step * 10.0**decade for decade in decades for step in steps]
            return [(v, f"{v:g}") for v in values if self.low <= math.log10(v) <= self.high]
        rough = (self.high - self.low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * each for each in (1, 2, 5, 10) if unit * each >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [(index * step, f"{index * step:g}") for index in range(first, last + 1)]


def _drawn(each: Series, across: _Scale, up: _Scale) -> str:
    at = [(across(px), up(py)) for px, py in each.points]
    style = f"var(--series-{each.color})"
    parts = []
    if each.line and at:
        path = f"M{at[0][0]:.1f} {at[0][1]:.1f}"
        for px, py in at[1:]:
            path += f"H{px:.1f}V{py:.1f}" if each.step else f"L{px:.1f} {py:.1f}"
        parts.append(f'<path d="{path}" style="fill:none;stroke:{style};stroke-width:2" />')
    if each.marks:
        for (px, py), note in itertools.zip_longest(at, each.notes, fillvalue=""):
            title = f"<title>{text(note)}</title>" if note else ""
            place = f'cx="{px:.1f}" cy="{py:.1f}" r="4.5" style="fill:{style}"'
            parts.append(f"<circle {place}>{title}</circle>")
    placed: list[tuple[float, float, float]] = []  # middle, half of the width, height
    for (px, py), label in zip(at, each.labels, strict=False):
        room = 4.2 * len(label)
        middle = min(max(px, LEFT + room), WIDTH - RIGHT - room)
        heights = sorted((py - 9, py + 20), reverse=each.below)
        free = [
            height
            for height in heights
            if all(abs(middle - m) > room + r or abs(height - h) > 16 for m, r, h in placed)
        ]
        height = free[0] if free else heights[0]
        placed.append((middle, room, height))
        parts.append(_text(middle, height, label, "middle"))
    return "\n".join(parts)


def _legend(series: Sequence[Series]) -> str:
    if not series:
        return "\n"
    items = "".join(
        f'<span><i style="background:var(--series-{each.color})"></i>{text(each.name)}</span>'
        for each in series
    )
    return f'\n<div class="legend">{items}</div>\n'


def _text(
    x: float,
    y: float,
    words: str,
    anchor: str = "start",
    *,
    size: int = 13,
    soft: bool = False,
    extra: str = "",
) -> str:
    look = ' class="soft"' if soft else ""
    placed = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
    return f"<text{look} {placed}{extra}>{text(words)}</text>"
