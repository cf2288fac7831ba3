"""Codec dct-chop of docs/format.md: the lowest CF x CF (or u + v < CF) of the coefficients of every
8 x 8 block (4 x 4 with zfp), in f32. Every operation is rounded by itself, in the library's order.

The last two axes are planes; they are filled up to whole blocks with their last row and column.
Values that are NaN or infinite spoil their block; nothing looks for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

A = 0.353553390593273762
C1, C2, C3 = 0.490392640201615225, 0.461939766255643378, 0.415734806151272618
C5, C6, C7 = 0.277785116509801112, 0.191341716182544886, 0.0975451610080641339
H = 0.707106781186547524

Line = list[torch.Tensor]


def chop_pack(values: torch.Tensor, cf: int, layout: str, transform: str) -> torch.Tensor:
    """The coefficients in the order of a stream: square (..., B_h CF, B_w CF), triangle
    (..., B_h B_w, CF (CF + 1) / 2)."""
    points = check(cf, layout, transform)
    *lead, height, width = values.shape
    rows, columns = -(-height // points), -(-width // points)
    planes = filled(values.detach().float(), rows * points, columns * points)
    blocks = planes.reshape(-1, rows, points, columns, points)
    forward = dct_forward if transform == "dct" else zfp_forward
    middle = forward(list(blocks.unbind(2)))[:cf]  # u -> planes, rows, columns, points
    lines = [forward(list(line.unbind(-1))) for line in middle]  # u, v -> planes, rows, columns
    if layout == "square":
        kept = torch.stack([torch.stack(line[:cf], -1) for line in lines], 2)
        return kept.reshape(*lead, rows * cf, columns * cf)
    kept = torch.stack([line[v] for u, line in enumerate(lines) for v in range(cf - u)], -1)
    return kept.reshape(*lead, rows * columns, cf * (cf + 1) // 2)


def chop_unpack(
    kept: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    cf: int,
    layout: str,
    transform: str,
) -> torch.Tensor:
    """The planes of this shape, from coefficients of any floating type."""
    points = check(cf, layout, transform)
    *lead, height, width = shape
    rows, columns = -(-height // points), -(-width // points)
    inverse = dct_inverse if transform == "dct" else zfp_inverse
    kept = kept.detach().float()
    if layout == "square":
        blocks = kept.reshape(-1, rows, cf, columns, cf)
        lines = [list(line.unbind(-1)) for line in blocks.unbind(2)]
    else:
        flat = list(kept.reshape(-1, rows, columns, cf * (cf + 1) // 2).unbind(-1))
        lines = []
        for u in range(cf):
            lines.append(flat[: cf - u])
            flat = flat[cf - u :]
    middle = [torch.stack(inverse(line), -1) for line in lines]
    planes = torch.stack(inverse(middle), 2).reshape(-1, rows * points, columns * points)
    planes = limited(planes[:, :height, :width], dtype)
    return planes.reshape(*lead, height, width).contiguous()


def limited(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """In a narrow type what is finite stays finite."""
    if dtype in (torch.float16, torch.bfloat16):
        largest = torch.finfo(dtype).max
        values = values.clamp(-largest, largest)
    return values.to(dtype)


def check(cf: int, layout: str, transform: str) -> int:
    """The points of a block's side."""
    points = {"dct": 8, "zfp": 4}.get(transform)
    if points is None:
        raise ValueError(f"transform {transform!r} is not known; use dct or zfp")
    if layout not in ("square", "triangle"):
        raise ValueError(f"layout {layout!r} is not known; use square or triangle")
    if not 1 <= cf <= points:
        raise ValueError(f"cf is {cf}; with transform {transform} it is 1 to {points}")
    return points


def filled(planes: torch.Tensor, height: int, width: int) -> torch.Tensor:
    below, right = height - planes.shape[-2], width - planes.shape[-1]
    if right:
        last = planes[..., -1:]
        planes = torch.cat([planes, last.expand(*last.shape[:-1], right)], -1)
    if below:
        last = planes[..., -1:, :]
        planes = torch.cat([planes, last.expand(*last.shape[:-2], below, width)], -2)
    return planes


def dct_forward(x: Line) -> Line:
    s = [x[k] + x[7 - k] for k in range(4)]
    d = [x[k] - x[7 - k] for k in range(4)]
    a0, a1, b0, b1 = s[0] + s[3], s[1] + s[2], s[0] - s[3], s[1] - s[2]
    p, q = d[0] * C3 - d[3] * C5, d[0] * C5 + d[3] * C3
    r, t = d[1] * C7 + d[2] * C1, d[1] * C1 - d[2] * C7
    m, n = p + r, q + t
    even = [(a0 + a1) * A, b0 * C2 + b1 * C6, (a0 - a1) * A, b0 * C6 - b1 * C2]
    odd = [(m + n) * H, p - r, q - t, (m - n) * H]
    return [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]


def dct_inverse(y: Line) -> Line:
    kept = len(y)
    e0 = e1 = y[0] * A
    if kept > 4:
        t = y[4] * A
        e0, e1 = e0 + t, e0 - t
    e2, e3 = e1, e0
    if kept > 2:
        p, q = y[2] * C2, y[2] * C6
        if kept > 6:
            p, q = p + y[6] * C6, q - y[6] * C2
        e0, e3, e1, e2 = e0 + p, e0 - p, e1 + q, e1 - q
    if kept == 1:
        return [e0, e1, e2, e3, e3, e2, e1, e0]
    if kept < 6:
        o = [y[1] * C1, y[1] * C3, y[1] * C5, y[1] * C7]
        if kept > 3:
            o = [o[0] + y[3] * C3, o[1] - y[3] * C7, o[2] - y[3] * C1, o[3] - y[3] * C5]
    else:
        m = n = y[1] * H
        if kept > 7:
            m, n = (y[1] + y[7]) * H, (y[1] - y[7]) * H
        p, r, q, t = m + y[3], m - y[3], n + y[5], n - y[5]
        o = [p * C3 + q * C5, r * C7 + t * C1, r * C1 - t * C7, q * C3 - p * C5]
    e = [e0, e1, e2, e3]
    return [e[k] + o[k] for k in range(4)] + [e[k] - o[k] for k in (3, 2, 1, 0)]


def zfp_forward(x: Line) -> Line:
    s0, s1, d0, d1 = x[0] + x[3], x[1] + x[2], x[0] - x[3], x[1] - x[2]
    return [
        (s0 + s1) * 0.25,
        d0 * 0.3125 + d1 * 0.0625,
        (s1 - s0) * 0.25,
        d1 * 0.375 - d0 * 0.125,
    ]


def zfp_inverse(y: Line) -> Line:
    kept = len(y)
    if kept == 1:
        return [y[0]] * 4
    e0, e1 = (y[0] - y[2], y[0] + y[2]) if kept > 2 else (y[0], y[0])
    o0, o1 = y[1] * 1.5, y[1] * 0.5
    if kept > 3:
        o0, o1 = o0 - y[3] * 0.25, o1 + y[3] * 1.25
    return [e0 + o0, e1 + o1, e1 - o1, e0 - o0]


def kept_shape(shape: Sequence[int], cf: int, layout: str, transform: str) -> tuple[int, ...]:
    points = 8 if transform == "dct" else 4
    rows, columns = -(-shape[-2] // points), -(-shape[-1] // points)
    if layout == "square":
        return (*shape[:-2], rows * cf, columns * cf)
    return (*shape[:-2], rows * columns, cf * (cf + 1) // 2)


def kept_values(shape: Sequence[int], cf: int, layout: str, transform: str) -> int:
    return math.prod(kept_shape(shape, cf, layout, transform))
