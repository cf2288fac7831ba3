"""DCT+Chop in pictures: what is kept of a block, what comes back, and what it costs in quality."""

from __future__ import annotations

import fields
import numpy as np
import page
import pictures
from demonstration import Demonstration, Section, Shown
from plots import Axis, Series, plot

import tensorpress

FACTORS = (1, 2, 4)
SHEET = (3, 6)  # rows and columns of small pictures
VARIANTS = (  # name, parameters, largest chop factor that drops something
    ("DCT, square", {"layout": "square", "transform": "dct"}, 7),
    ("DCT, triangle", {"layout": "triangle", "transform": "dct"}, 7),
    ("ZFP's transform, square", {"layout": "square", "transform": "zfp"}, 3),
)


def show(demo: Demonstration) -> Shown:
    clothes = fields.field(demo, "fashion_mnist")
    relief = fields.field(demo, "relief")
    demo.say("DCT+Chop: pictures at three chop factors")
    html = page.paragraph(
        "DCT+Chop (HPDC'24) is for training data and activations, where the size has to be "
        "known beforehand. It cuts "
        "planes into blocks of 8 x 8, turns each into frequencies, and keeps the low ones: CF "
        "x CF of them, so that "
        "32-bit values become 64/CF² times smaller, whatever they are."
    )
    html += page.side_by_side([_kept(cf) for cf in FACTORS], 150)
    for field in (clothes, relief):
        if field.generated:
            html += page.note(fields.missing(field))
    html += page.heading(clothes.title) + _pictures(
        _sheet(clothes.array), clothes.title, pictures.GREY, 200
    )
    html += page.heading(relief.title) + _pictures(
        _halved(relief.array), relief.title, pictures.SEQUENTIAL, 250
    )
    demo.say("DCT+Chop: quality against size")
    html += page.side_by_side([_quality(clothes), _quality(relief)], 330)
    html += page.commands(
        "tensorpress compress build/demo-data/relief.npy --codec dct-chop --cf 2 -o relief.tpz"
    )
    return Shown(html)


SECTION = Section("chop", "DCT+Chop in pictures", show)


def _kept(cf: int) -> str:
    """The 8 x 8 frequencies of a block with the kept ones filled."""
    cells = "".join(
        f'<rect x="{10 * u}" y="{10 * v}" width="9" height="9" '
        f'style="fill:var({"--series-0" if u < cf and v < cf else "--grid"})" />'
        for u in range(8)
        for v in range(8)
    )
    label = f'role="img" aria-label="chop factor {cf}"'
    picture = f'<svg viewBox="0 0 79 79" class="small" {label}>{cells}</svg>'
    return page.figure(
        picture, f"CF {cf}: {cf * cf} of 64 frequencies are kept, {64 / cf / cf:g} times smaller."
    )


def _sheet(images: np.ndarray) -> np.ndarray:
    """Small pictures, all in one."""
    if images.ndim != 4:  # not the pictures, but a generated field in their place
        return images[0]
    rows, columns = SHEET
    tiles = images[: rows * columns, 0].reshape(rows, columns, *images.shape[2:])
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3).reshape(rows * tiles.shape[2], -1))


def _halved(plane: np.ndarray) -> np.ndarray:
    """Every second value both ways: as large as a screen shows."""
    plane = plane if plane.ndim == 2 else plane[0]
    return np.ascontiguousarray(plane[::2, ::2] if plane.shape[1] > 720 else plane)


def _chopped(array: np.ndarray, cf: int, **parameters: str) -> tuple[np.ndarray, float]:
    packed = tensorpress.compress(array, codec="dct-chop", cf=cf, **parameters)
    return tensorpress.decompress(packed), array.nbytes / len(packed)


def _pictures(plane: np.ndarray, title: str, colors: object, least_width: int) -> str:
    low, high = float(plane.min()), float(plane.max())
    pieces = [
        page.figure(
            pictures.picture(plane, low, high, f"{title}, the original", colors), "The original."
        )
    ]
    for cf in reversed(FACTORS):
        copy, ratio = _chopped(plane, cf)
        caption = f"CF {cf}: {ratio:.1f} times smaller, {_psnr(copy, plane):.1f} dB."
        pieces.append(
            page.figure(pictures.picture(copy, low, high, f"{title} at CF {cf}", colors), caption)
        )
    return page.side_by_side(pieces, least_width)


def _psnr(copy: np.ndarray, original: np.ndarray) -> float:
    """In decibels, of the value range."""
    error = np.mean(np.square(copy.astype(np.float64) - original))
    span = float(original.max()) - float(original.min())
    return float(20 * np.log10(span / np.sqrt(error)))


def _quality(field: fields.Field) -> str:
    series = []
    for color, (name, parameters, most) in enumerate(VARIANTS):
        points = []
        for cf in range(1, most + 1):
            copy, ratio = _chopped(field.array, cf, **parameters)
            points.append((ratio, _psnr(copy, field.array)))
        series.append(Series(name, points, color=color, marks=True))
    drawn = plot(
        field.title,
        Axis("times smaller (logarithmic)", logarithmic=True),
        Axis("PSNR in dB"),
        series,
    )
    return page.figure(
        drawn, "Up is closer to the original, right is smaller; each point is a chop factor."
    )
