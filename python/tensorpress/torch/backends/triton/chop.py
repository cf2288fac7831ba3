"""Codec dct-chop: blocks of a row of blocks side by side, columns first, then rows, every byte read
and written once. `default/chop.py` has the formulas in one piece, and the same order of operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from ..default.chop import check, kept_shape
from .arithmetic import limited, narrow, widened
from .launch import OPTIONS, on_device_of

A = tl.constexpr(0.353553390593273762)
C1 = tl.constexpr(0.490392640201615225)
C2 = tl.constexpr(0.461939766255643378)
C3 = tl.constexpr(0.415734806151272618)
C5 = tl.constexpr(0.277785116509801112)
C6 = tl.constexpr(0.191341716182544886)
C7 = tl.constexpr(0.0975451610080641339)
H = tl.constexpr(0.707106781186547524)

BLOCKS_OF_A_PROGRAM = 16


@triton.jit
def dct_forward(x0, x1, x2, x3, x4, x5, x6, x7):
    s0 = x0 + x7
    s1 = x1 + x6
    s2 = x2 + x5
    s3 = x3 + x4
    d0 = x0 - x7
    d1 = x1 - x6
    d2 = x2 - x5
    d3 = x3 - x4
    a0 = s0 + s3
    a1 = s1 + s2
    b0 = s0 - s3
    b1 = s1 - s2
    p = d0 * C3 - d3 * C5
    q = d0 * C5 + d3 * C3
    r = d1 * C7 + d2 * C1
    t = d1 * C1 - d2 * C7
    m = p + r
    n = q + t
    y0 = (a0 + a1) * A
    y2 = b0 * C2 + b1 * C6
    y4 = (a0 - a1) * A
    y6 = b0 * C6 - b1 * C2
    return y0, (m + n) * H, y2, p - r, y4, q - t, y6, (m - n) * H


@triton.jit
def dct_inverse(y0, y1, y2, y3, y4, y5, y6, y7, K: tl.constexpr):
    """Of K coefficients; the others are not looked at."""
    e0 = y0 * A
    e1 = e0
    if K > 4:
        t = y4 * A
        e1 = e0 - t
        e0 = e0 + t
    e2 = e1
    e3 = e0
    if K > 2:
        p = y2 * C2
        q = y2 * C6
        if K > 6:
            p = p + y6 * C6
            q = q - y6 * C2
        e3 = e0 - p
        e0 = e0 + p
        e2 = e1 - q
        e1 = e1 + q
    if K == 1:
        return e0, e1, e2, e3, e3, e2, e1, e0
    else:
        if K < 6:
            o0 = y1 * C1
            o1 = y1 * C3
            o2 = y1 * C5
            o3 = y1 * C7
            if K > 3:
                o0 = o0 + y3 * C3
                o1 = o1 - y3 * C7
                o2 = o2 - y3 * C1
                o3 = o3 - y3 * C5
        else:
            m = y1 * H
            n = m
            if K > 7:
                m = (y1 + y7) * H
                n = (y1 - y7) * H
            p1 = m + y3
            r1 = m - y3
            q1 = n + y5
            t1 = n - y5
            o0 = p1 * C3 + q1 * C5
            o1 = r1 * C7 + t1 * C1
            o2 = r1 * C1 - t1 * C7
            o3 = q1 * C3 - p1 * C5
        return e0 + o0, e1 + o1, e2 + o2, e3 + o3, e3 - o3, e2 - o2, e1 - o1, e0 - o0


@triton.jit
def zfp_forward(x0, x1, x2, x3):
    s0 = x0 + x3
    s1 = x1 + x2
    d0 = x0 - x3
    d1 = x1 - x2
    return (s0 + s1) * 0.25, d0 * 0.3125 + d1 * 0.0625, (s1 - s0) * 0.25, d1 * 0.375 - d0 * 0.125


@triton.jit
def zfp_inverse(y0, y1, y2, y3, K: tl.constexpr):
    if K == 1:
        return y0, y0, y0, y0
    else:
        e0 = y0
        e1 = y0
        if K > 2:
            e0 = y0 - y2
            e1 = y0 + y2
        o0 = y1 * 1.5
        o1 = y1 * 0.5
        if K > 3:
            o0 = o0 - y3 * 0.25
            o1 = o1 + y3 * 1.25
        return e0 + o0, e1 + o1, e1 - o1, e0 - o0


# ---- Lines of a block in one tensor, and as one tensor a place ----------------------------------


@triton.jit
def split4(line, BLOCKS: tl.constexpr):
    even, odd = tl.split(tl.reshape(line, (BLOCKS, 2, 2)))
    x0, x2 = tl.split(even)
    x1, x3 = tl.split(odd)
    return x0, x1, x2, x3


@triton.jit
def split8(line, BLOCKS: tl.constexpr):
    even, odd = tl.split(tl.reshape(line, (BLOCKS, 4, 2)))
    x0, x2, x4, x6 = split4(even, BLOCKS)
    x1, x3, x5, x7 = split4(odd, BLOCKS)
    return x0, x1, x2, x3, x4, x5, x6, x7


@triton.jit
def join4(x0, x1, x2, x3, BLOCKS: tl.constexpr):
    return tl.reshape(tl.join(tl.join(x0, x2), tl.join(x1, x3)), (BLOCKS, 4))


@triton.jit
def join8(x0, x1, x2, x3, x4, x5, x6, x7, BLOCKS: tl.constexpr):
    even = join4(x0, x2, x4, x6, BLOCKS)
    odd = join4(x1, x3, x5, x7, BLOCKS)
    return tl.reshape(tl.join(even, odd), (BLOCKS, 8))


@triton.jit
def forward_line(line, P: tl.constexpr, BLOCKS: tl.constexpr):
    """Of the rows of blocks beside each other, their coefficients."""
    if P == 8:
        x0, x1, x2, x3, x4, x5, x6, x7 = split8(line, BLOCKS)
        y0, y1, y2, y3, y4, y5, y6, y7 = dct_forward(x0, x1, x2, x3, x4, x5, x6, x7)
        return join8(y0, y1, y2, y3, y4, y5, y6, y7, BLOCKS)
    else:
        x0, x1, x2, x3 = split4(line, BLOCKS)
        y0, y1, y2, y3 = zfp_forward(x0, x1, x2, x3)
        return join4(y0, y1, y2, y3, BLOCKS)


@triton.jit
def inverse_line(line, K: tl.constexpr, P: tl.constexpr, BLOCKS: tl.constexpr):
    if P == 8:
        y0, y1, y2, y3, y4, y5, y6, y7 = split8(line, BLOCKS)
        x0, x1, x2, x3, x4, x5, x6, x7 = dct_inverse(y0, y1, y2, y3, y4, y5, y6, y7, K)
        x = join8(x0, x1, x2, x3, x4, x5, x6, x7, BLOCKS)
    else:
        y0, y1, y2, y3 = split4(line, BLOCKS)
        x0, x1, x2, x3 = zfp_inverse(y0, y1, y2, y3, K)
        x = join4(x0, x1, x2, x3, BLOCKS)
    return tl.reshape(x, (BLOCKS * P,))


# ---- Where coefficients lie ---------------------------------------------------------------------


@triton.jit
def places(
    row, first, columns, U: tl.constexpr, CF: tl.constexpr, SQUARE: tl.constexpr,
    P: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """Of row U of the coefficients of blocks beside each other, and which of them there are."""
    b = first + tl.arange(0, BLOCKS)[:, None]
    v = tl.arange(0, P)[None, :]
    if SQUARE:
        at = (row * CF + U) * columns * CF + b * CF + v
        return at, (b < columns) & (v < CF)
    else:
        offset: tl.constexpr = U * CF - U * (U - 1) // 2
        at = (row * columns + b) * (CF * (CF + 1) // 2) + offset + v
        return at, (b < columns) & (v < CF - U)


@triton.jit
def store_line(
    line, kept, row, first, columns, U: tl.constexpr, CF: tl.constexpr, SQUARE: tl.constexpr,
    P: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    if U < CF:
        at, there = places(row, first, columns, U, CF, SQUARE, P, BLOCKS)
        y = forward_line(line, P, BLOCKS)
        tl.store(kept + at, narrow(y, kept), mask=there)


@triton.jit
def load_line(
    kept, row, first, columns, U: tl.constexpr, CF: tl.constexpr, SQUARE: tl.constexpr,
    P: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    if U < CF:
        at, there = places(row, first, columns, U, CF, SQUARE, P, BLOCKS)
        y = widened(tl.load(kept + at, mask=there, other=0.0))
        return inverse_line(y, CF if SQUARE else CF - U, P, BLOCKS)
    else:
        return tl.zeros((BLOCKS * P,), tl.float32)


@triton.jit
def load_row(planes, base, row, height, width, c, LINE: tl.constexpr, P: tl.constexpr):
    """Line LINE of a row of blocks; beyond the plane its last row and column go on."""
    r = tl.minimum(row * P + LINE, height - 1)
    return widened(tl.load(planes + base + r * width + tl.minimum(c, width - 1)))


@triton.jit
def store_row(x, planes, base, row, height, width, c, LINE: tl.constexpr, P: tl.constexpr):
    r = row * P + LINE
    value = narrow(limited(x, planes), planes)
    tl.store(planes + base + r * width + c, value, mask=(c < width) & (r < height))


@triton.jit(do_not_specialize=["height", "width", "rows", "columns"])
def pack_kernel(
    planes, kept, height, width, rows, columns,
    CF: tl.constexpr, SQUARE: tl.constexpr, P: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """`rows` and `columns` of blocks in a plane."""
    over_all = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCKS
    row = over_all % rows
    base = over_all // rows * height * width
    c = first * P + tl.arange(0, BLOCKS * P)
    x0 = load_row(planes, base, row, height, width, c, 0, P)
    x1 = load_row(planes, base, row, height, width, c, 1, P)
    x2 = load_row(planes, base, row, height, width, c, 2, P)
    x3 = load_row(planes, base, row, height, width, c, 3, P)
    if P == 8:
        x4 = load_row(planes, base, row, height, width, c, 4, P)
        x5 = load_row(planes, base, row, height, width, c, 5, P)
        x6 = load_row(planes, base, row, height, width, c, 6, P)
        x7 = load_row(planes, base, row, height, width, c, 7, P)
        y0, y1, y2, y3, y4, y5, y6, y7 = dct_forward(x0, x1, x2, x3, x4, x5, x6, x7)
        store_line(y4, kept, over_all, first, columns, 4, CF, SQUARE, P, BLOCKS)
        store_line(y5, kept, over_all, first, columns, 5, CF, SQUARE, P, BLOCKS)
        store_line(y6, kept, over_all, first, columns, 6, CF, SQUARE, P, BLOCKS)
        store_line(y7, kept, over_all, first, columns, 7, CF, SQUARE, P, BLOCKS)
    else:
        y0, y1, y2, y3 = zfp_forward(x0, x1, x2, x3)
    store_line(y0, kept, over_all, first, columns, 0, CF, SQUARE, P, BLOCKS)
    store_line(y1, kept, over_all, first, columns, 1, CF, SQUARE, P, BLOCKS)
    store_line(y2, kept, over_all, first, columns, 2, CF, SQUARE, P, BLOCKS)
    store_line(y3, kept, over_all, first, columns, 3, CF, SQUARE, P, BLOCKS)


@triton.jit(do_not_specialize=["height", "width", "rows", "columns"])
def unpack_kernel(
    kept, planes, height, width, rows, columns,
    CF: tl.constexpr, SQUARE: tl.constexpr, P: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    over_all = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCKS
    row = over_all % rows
    base = over_all // rows * height * width
    c = first * P + tl.arange(0, BLOCKS * P)
    y0 = load_line(kept, over_all, first, columns, 0, CF, SQUARE, P, BLOCKS)
    y1 = load_line(kept, over_all, first, columns, 1, CF, SQUARE, P, BLOCKS)
    y2 = load_line(kept, over_all, first, columns, 2, CF, SQUARE, P, BLOCKS)
    y3 = load_line(kept, over_all, first, columns, 3, CF, SQUARE, P, BLOCKS)
    if P == 8:
        y4 = load_line(kept, over_all, first, columns, 4, CF, SQUARE, P, BLOCKS)
        y5 = load_line(kept, over_all, first, columns, 5, CF, SQUARE, P, BLOCKS)
        y6 = load_line(kept, over_all, first, columns, 6, CF, SQUARE, P, BLOCKS)
        y7 = load_line(kept, over_all, first, columns, 7, CF, SQUARE, P, BLOCKS)
        x0, x1, x2, x3, x4, x5, x6, x7 = dct_inverse(y0, y1, y2, y3, y4, y5, y6, y7, CF)
        store_row(x4, planes, base, row, height, width, c, 4, P)
        store_row(x5, planes, base, row, height, width, c, 5, P)
        store_row(x6, planes, base, row, height, width, c, 6, P)
        store_row(x7, planes, base, row, height, width, c, 7, P)
    else:
        x0, x1, x2, x3 = zfp_inverse(y0, y1, y2, y3, CF)
    store_row(x0, planes, base, row, height, width, c, 0, P)
    store_row(x1, planes, base, row, height, width, c, 1, P)
    store_row(x2, planes, base, row, height, width, c, 2, P)
    store_row(x3, planes, base, row, height, width, c, 3, P)


# ---- As functions -------------------------------------------------------------------------------


def chop_pack(values: torch.Tensor, cf: int, layout: str, transform: str) -> torch.Tensor:
    points = check(cf, layout, transform)
    planes = values.detach().contiguous()
    shape = kept_shape(planes.shape, cf, layout, transform)
    kept = planes.new_empty(shape, dtype=torch.float32)
    _run(pack_kernel, planes, kept, planes.shape, cf, layout, points)
    return kept


def chop_unpack(
    kept: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    cf: int,
    layout: str,
    transform: str,
) -> torch.Tensor:
    points = check(cf, layout, transform)
    planes = kept.new_empty(shape, dtype=dtype)
    _run(unpack_kernel, kept.detach().contiguous(), planes, shape, cf, layout, points)
    return planes


def _run(
    kernel: object,
    source: torch.Tensor,
    target: torch.Tensor,
    shape: Sequence[int],
    cf: int,
    layout: str,
    points: int,
) -> None:
    height, width = shape[-2:]
    rows, columns = -(-height // points), -(-width // points)
    grid = (math.prod(shape[:-2]) * rows, triton.cdiv(columns, BLOCKS_OF_A_PROGRAM))
    if 0 in grid:
        return
    with on_device_of(source):
        kernel[grid](  # type: ignore[index]
            source.view(-1), target.view(-1), height, width, rows, columns,
            CF=cf, SQUARE=layout == "square", P=points, BLOCKS=BLOCKS_OF_A_PROGRAM,
            num_warps=4, **OPTIONS,
        )  # fmt: skip
