"""Accelerators that few people own: where DCT+Chop fits, and how fast it would be."""

from __future__ import annotations

import re
from typing import Any

import page
from demonstration import Demonstration, Section, Shown

# What takes longest, by the program's names for it.
PARTS = {
    "launch": "starting a call",
    "steps": "further calls",
    "to_device": "sending data in",
    "from_device": "sending data back",
    "compute": "computing",
    "memory": "reading its memory",
    "gather": "gathering values",
    "fill": "filling the pipeline",
}
WORDS = {
    "PMU": "A PMU (pattern memory unit) is one of the SN30's many small memories on the chip; "
    "a plane has to fit in one of them."
}
SIDES = (64, 256, 512)
TIMED = 256


def show(demo: Demonstration) -> Shown:
    demo.say("five accelerators on paper")
    devices = demo.json("device", "list")
    checks = {side: _by_device(_ask(demo, "check", side)) for side in SIDES}
    times = _by_device(_ask(demo, "time", TIMED, "--decompress"))
    rows, reasons = [], []
    for device in devices:
        name = device["name"]
        answers = [checks[side][name] for side in SIDES]
        time = times[name]
        limit = time["bound_by"]
        rows.append(
            [
                device["title"],
                f"{device['units']:,}",
                *("fits" if answer["fits"] else "no" for answer in answers),
                f"{time['gb_per_s']:.2g}" if time["fits"] else "–",
                PARTS.get(limit, limit.replace("_", " ")) if time["fits"] else "–",
            ]
        )
        reasons += [
            f"{device['title']}, {side} x {side}: {'; '.join(answer['reasons'])}. Way out: "
            f"{answer['way_out']}."
            for side, answer in zip(SIDES, answers, strict=True)
            if not answer["fits"]
        ]
    html = page.paragraph(
        "DCT+Chop is two matrix products a plane, so it runs wherever PyTorch runs, if there is "
        "enough memory. `tensorpress device` models machines that few people own. The speeds are "
        "predictions; src/devices/data has the constants and their sources."
    )
    columns = [
        "machine",
        "units",
        *(f"{side}²" for side in SIDES),
        f"GB/s, {TIMED}²",
        "takes longest",
    ]
    html += page.table(columns, rows, words=(0, 2, 3, 4, 6))
    html += page.paragraph(
        "For 100 images of 3 planes and chop factor 4: does compression fit, and how fast is "
        f"decompression of {TIMED} x {TIMED} planes? Speeds are predicted, count uncompressed "
        "bytes, and include the transfers to the machine and back.",
        "caption",
    )
    for reason in reasons:
        told = [words for name, words in WORDS.items() if re.search(rf"\b{name}\b", reason)]
        html += page.paragraph(" ".join([reason, *told]))
    html += page.commands(
        "tensorpress device check --device all --shape 100x3x512x512 --cf 4",
        "tensorpress device time --device ipu --shape 100x3x256x256 --cf 4 --decompress",
    )
    return Shown(html)


SECTION = Section("accelerators", "Machines you do not have", show)


def _ask(demo: Demonstration, verb: str, side: int, *more: str) -> list[dict[str, Any]]:
    shape = f"100x3x{side}x{side}"
    # Status 1 says that it does not fit somewhere: an answer, too.
    return demo.json(
        "device", verb, "--device", "all", "--shape", shape, "--cf", 4, *more, statuses=(0, 1)
    )


def _by_device(answers: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {answer["device"]: answer for answer in answers}
