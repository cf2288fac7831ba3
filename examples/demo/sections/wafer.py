"""CereSZ-II on a simulated wafer: how long each of its processing elements works."""

from __future__ import annotations

from html.parser import HTMLParser

import fields
import page
import pictures
from demonstration import Demonstration, Highlight, Section, Shown

BOUND = 1e-4


def show(demo: Demonstration) -> Shown:
    field = fields.field(demo, "zonal_wind")
    demo.say(f"{field.title}: on a simulated wafer")
    run = demo.json("wafer", "run", field.path, "--rel", BOUND)
    target = demo.scratch / "cycles.html"
    maps = demo.json("wafer", "heatmap", field.path, "--rel", BOUND, "-o", target)["maps"]
    most = max(each["largest_cycles"] for each in maps)
    elements = f"{run['mesh'].replace('x', ' x ')} processing elements"
    html = page.paragraph(
        "Wafer-scale chips have a mesh of small processors, called processing elements (PEs), "
        "instead of a few large ones. "
        "`tensorpress wafer` runs "
        "the codec of CereSZ-II on a simulated one, cycle by cycle, with a block of 32 values "
        "in each PE. In the pictures each pixel is a PE."
    )
    if field.generated:
        html += page.note(fields.missing(field))
    captions = {
        "ceresz2": "Huffman coding with one codebook (CereSZ-II): all take about as long.",
        "ceresz": "Fixed-length coding (CereSZ), on the same scale: rough places take longer.",
    }
    figures = [
        page.figure(
            page.image(uri, alt), f"{captions[alt.partition(':')[0]]} {alt.partition(': ')[2]}."
        )
        for uri, alt in _pictures(target.read_text(encoding="utf-8"))
    ]
    html += page.side_by_side(figures, 280) + pictures.color_bar("0 cycles", f"{most:,} cycles")
    same = "byte for byte the same" if run["same_as_host"] else "NOT the same"
    lines = [
        ["mesh", elements],
        ["stream", f"{same} as on this machine's CPU, {run['ratio']:.2f} times smaller"],
        ["coding alone", f"{run['coding_cycles']:,} cycles, {run['coding_gb_per_s']:.0f} GB/s"],
        [
            "with launch and offsets",
            f"{run['kernel_cycles']:,} cycles, {run['kernel_gb_per_s']:.0f} GB/s",
        ],
        ["with words in and out", f"{run['cycles']:,} cycles, {run['gb_per_s']:.0f} GB/s"],
        ["simulated in", f"{run['seconds']:.1f} s, {run['events']:,} events"],
    ]
    html += page.table([f"{field.title}, --rel {BOUND:g}", "predicted"], lines, words=(0, 1))
    html += page.commands(
        "tensorpress wafer heatmap build/demo-data/zonal_wind.npy --rel 1e-4 -o cycles.html"
    )
    return Shown(
        html, Highlight(elements, "simulated cycle by cycle, with the bytes of a real codec")
    )


SECTION = Section("wafer", "A wafer on your desk", show)


class _Images(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            values = dict(attrs)
            self.found.append((values["src"] or "", values["alt"] or ""))


def _pictures(html: str) -> list[tuple[str, str]]:
    """Source and description of every picture of a page."""
    images = _Images()
    images.feed(html)
    return images.found
