"""DCT+Chop in pictures: what is kept of a block, what comes back, and what it costs in quality.

Pictures, plots and the printed commands are of the same arrays; the pictures show a part of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import fields
import numpy as np
import page
import pictures
from demonstration import Demonstration, Section, Shown
from plots import Axis, Series, plot

import tensorpress

BLOCK = 8
FACTORS = (1, 2, 4)
SHEET = (3, 6)  # rows and columns of small pictures
VARIANTS = (  # name, parameters, largest chop factor that drops something; the first is the default
    ("DCT, square", {"layout": "square", "transform": "dct"}, 7),
    ("DCT, triangle", {"layout": "triangle", "transform": "dct"}, 7),
    ("ZFP's transform, square", {"layout": "square", "transform": "zfp"}, 3),
)


@dataclass(frozen=True)
class Chopped:
    """What comes back of a whole array at one chop factor."""

    copy: np.ndarray
    ratio: float
    psnr: float

    @property
    def told(self) -> str:
        return f"{self.ratio:.1f} times smaller, {self.psnr:.1f} dB"


def show(demo: Demonstration) -> Shown:
    clothes = fields.field(demo, "fashion_mnist")
    relief = fields.field(demo, "relief")
    html = page.paragraph(
        "DCT+Chop (HPDC'24) is for training data and activations, where the size has to be "
        "known beforehand. It cuts "
        "planes into blocks of 8 x 8, turns each into frequencies, and keeps the low ones: CF "
        "x CF of them, so that "
        "blocks of 32-bit values become 64/CF² times smaller, whatever they are. Files shrink "
        "somewhat less: planes are padded to whole blocks, and a file has a header and an index."
    )
    html += page.side_by_side([_kept(cf) for cf in FACTORS], 150)
    for field in (clothes, relief):
        if field.generated:
            html += page.note(fields.missing(field))
    plots = []
    for field, colors, least_width in (
        (clothes, pictures.GREY, 200),
        (relief, pictures.SEQUENTIAL, 250),
    ):
        demo.say(f"DCT+Chop: {field.title} at every chop factor")
        chopped = _every_factor(field.array)
        html += page.heading(field.title) + page.paragraph(_about(field))
        html += _pictures(field, chopped, colors, least_width)
        plots.append(_quality(field, chopped))
    html += page.heading("Quality against size") + page.side_by_side(plots, 330)
    html += page.commands(
        *(
            f"tensorpress compress build/demo-data/{field.name}.npy --codec dct-chop --cf 2 "
            f"-o {field.name}.tpz"
            for field in (clothes, relief)
        )
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
        picture, f"CF {cf}: {cf * cf} of 64 frequencies kept, {64 / cf / cf:g} times fewer numbers."
    )


def _every_factor(array: np.ndarray) -> dict[tuple[str, int], Chopped]:
    """By the name of the variant and the chop factor."""
    chopped = {}
    for name, parameters, most in VARIANTS:
        for cf in range(1, most + 1):
            packed = tensorpress.compress(array, codec="dct-chop", cf=cf, **parameters)
            copy = tensorpress.decompress(packed)
            chopped[name, cf] = Chopped(copy, array.nbytes / len(packed), _psnr(copy, array))
    return chopped


def _psnr(copy: np.ndarray, original: np.ndarray) -> float:
    """In decibels, of the value range."""
    error = np.mean(np.square(copy.astype(np.float64) - original))
    span = float(original.max()) - float(original.min())
    return float(20 * np.log10(span / np.sqrt(error)))


def _shown(array: np.ndarray) -> tuple[np.ndarray, str]:
    """The part of an array that a screen has room for, and what it is."""
    if array.ndim == 4:  # small pictures, some of them all in one
        rows, columns = SHEET
        tiles = array[: rows * columns, 0].reshape(rows, columns, *array.shape[2:])
        sheet = tiles.transpose(0, 2, 1, 3).reshape(rows * tiles.shape[2], -1)
        return sheet, f"the first {rows * columns} planes are shown"
    plane, words = (array, "all of it") if array.ndim == 2 else (array[0], "the first plane")
    if plane.shape[1] > 720:
        return plane[::2, ::2], "every second value of every second row is shown"
    return plane, f"{words} is shown"


def _about(field: fields.Field) -> str:
    """What the figures are of, and how much of it the pictures show."""
    plane = field.array.shape[-2:]
    padded = tuple(-(-side // BLOCK) * BLOCK for side in plane)
    words = (
        f"{_by(field.array.shape)} values are compressed, and the figures are of all of them; "
        f"in the pictures {_shown(field.array)[1]}."
    )
    if padded != plane:
        words += f" Planes of {_by(plane)} are padded to {_by(padded)}."
    return words


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _pictures(
    field: fields.Field,
    chopped: dict[tuple[str, int], Chopped],
    colors: object,
    least_width: int,
) -> str:
    plane, _ = _shown(field.array)
    low, high = float(plane.min()), float(plane.max())

    def drawn(array: np.ndarray, name: str, caption: str) -> str:
        picture = pictures.picture(_shown(array)[0], low, high, f"{field.title}{name}", colors)
        return page.figure(picture, caption)

    pieces = [drawn(field.array, ", the original", "The original.")]
    for cf in reversed(FACTORS):
        each = chopped[VARIANTS[0][0], cf]
        pieces.append(drawn(each.copy, f" at CF {cf}", f"CF {cf}: {each.told}."))
    return page.side_by_side(pieces, least_width)


def _quality(field: fields.Field, chopped: dict[tuple[str, int], Chopped]) -> str:
    series = []
    for color, (name, _, most) in enumerate(VARIANTS):
        points = {cf: chopped[name, cf] for cf in range(1, most + 1)}
        series.append(
            Series(
                name,
                [(each.ratio, each.psnr) for each in points.values()],
                color=color,
                marks=True,
                notes=[f"{name}, CF {cf}: {each.told}" for cf, each in points.items()],
            )
        )
    drawn = plot(
        field.title,
        Axis("times smaller (logarithmic)", logarithmic=True),
        Axis("PSNR in dB"),
        series,
    )
    return page.figure(
        drawn,
        "Up is closer to the original, right is smaller; each point is a chop factor. The "
        f"pictures above are of the line “{VARIANTS[0][0]}”.",
    )
