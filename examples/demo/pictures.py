"""Planes of numbers as PNG pictures inside the page.

The colours are those of the program's pages (src/report/drawing/color_map.cc): one map from low to
high, one with white in the middle for differences, grey for photographs. What is not a number is
grey.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from page import image, text

SEQUENTIAL = (
    *((68, 1, 84), (72, 40, 120), (62, 74, 137), (49, 104, 142), (38, 130, 142)),
    *((31, 158, 137), (53, 183, 121), (110, 206, 88), (181, 222, 43), (253, 231, 37)),
)
DIVERGING = (
    *((5, 48, 97), (67, 133, 190), (167, 208, 228), (255, 255, 255)),
    *((246, 188, 151), (205, 92, 65), (103, 0, 31)),
)
GREY = ((0, 0, 0), (255, 255, 255))
NOT_A_NUMBER = (150, 150, 150)


def paint(plane: np.ndarray, low: float, high: float, colors=SEQUENTIAL) -> np.ndarray:
    """height x width x 3 bytes; values outside low..high take the colour of the end."""
    anchors = np.asarray(colors, dtype=np.float64)
    span = high - low if high > low else 1.0
    at = np.clip((np.nan_to_num(plane.astype(np.float64)) - low) / span, 0, 1) * (len(anchors) - 1)
    index = np.minimum(at.astype(int), len(anchors) - 2)
    share = (at - index)[..., None]
    painted = anchors[index] + share * (anchors[index + 1] - anchors[index])
    painted[~np.isfinite(plane)] = NOT_A_NUMBER
    return np.rint(painted).astype(np.uint8)


def png(pixels: np.ndarray) -> bytes:
    height, width, _ = pixels.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def picture(plane: np.ndarray, low: float, high: float, description: str, colors=SEQUENTIAL) -> str:
    """An <img> with the plane in it."""
    content = base64.b64encode(png(paint(plane, low, high, colors))).decode()
    return image(f"data:image/png;base64,{content}", description)


def color_bar(low: str, high: str, colors=SEQUENTIAL) -> str:
    """Which colour means what."""
    stops = ", ".join(f"rgb{color}" for color in colors)
    bar = f'<i style="background:linear-gradient(90deg, {stops})"></i>'
    return f'<div class="colors"><span>{text(low)}</span>{bar}<span>{text(high)}</span></div>\n'
