"""dct-chop: blocks of coefficients back to planes, with the very operations that the page gives, in
f32."""

import math

import numpy as np

from .rounding import as_elements, bf16_values

F = np.float32
A = F(1 / math.sqrt(8))
C = [F(math.cos(n * math.pi / 16) / 2) for n in range(8)]
H = F(math.sqrt(0.5))


def inverse_dct(y: list) -> list:
    """K kept coefficients of lines to their eight values; each an array over the lines."""
    kept = len(y)
    e0 = e1 = y[0] * A
    if kept > 4:
        t = y[4] * A
        e1, e0 = e0 - t, e0 + t
    e2, e3 = e1, e0
    if kept > 2:
        p, q = y[2] * C[2], y[2] * C[6]
        if kept > 6:
            p, q = p + y[6] * C[6], q - y[6] * C[2]
        e3, e0, e2, e1 = e0 - p, e0 + p, e1 - q, e1 + q
    even = [e0, e1, e2, e3]
    if kept == 1:
        return even + even[::-1]
    if kept < 6:
        odd = [y[1] * C[n] for n in (1, 3, 5, 7)]
        if kept > 3:
            odd = [
                odd[0] + y[3] * C[3],
                odd[1] - y[3] * C[7],
                odd[2] - y[3] * C[1],
                odd[3] - y[3] * C[5],
            ]
    else:
        m = n = y[1] * H
        if kept == 8:
            m, n = (y[1] + y[7]) * H, (y[1] - y[7]) * H
        p, r, q, t = m + y[3], m - y[3], n + y[5], n - y[5]
        odd = [p * C[3] + q * C[5], r * C[7] + t * C[1], r * C[1] - t * C[7], q * C[3] - p * C[5]]
    return [e + o for e, o in zip(even, odd, strict=True)] + [
        e - o for e, o in zip(even, odd, strict=True)
    ][::-1]


def inverse_zfp(y: list) -> list:
    kept = len(y)
    if kept == 1:
        return [y[0]] * 4
    e0 = e1 = y[0]
    if kept > 2:
        e0, e1 = y[0] - y[2], y[0] + y[2]
    o0, o1 = y[1] * F(1.5), y[1] * F(0.5)
    if kept > 3:
        o0, o1 = o0 - y[3] * F(0.25), o1 + y[3] * F(1.25)
    return [e0 + o0, e1 + o1, e1 - o1, e0 - o0]


def coefficients_of(payload: bytes, kind: str) -> np.ndarray:
    if kind == "bf16":
        return bf16_values(np.frombuffer(payload, "<u2"))
    return np.frombuffer(payload, {"f32": "<f4", "f16": "<f2"}[kind]).astype("<f4")


def rows_of_coefficients(stored, planes, rows, columns, cf, layout):
    """For each u the kept coefficients v of all blocks: row u is an array (planes, rows, columns,
    kept)."""
    if layout == "square":
        grid = stored.reshape(planes, rows, cf, columns, cf)
        return [grid[:, :, u] for u in range(cf)]
    grid = stored.reshape(planes, rows, columns, cf * (cf + 1) // 2)
    starts = [u * cf - u * (u - 1) // 2 for u in range(cf + 1)]
    return [grid[..., starts[u] : starts[u] + cf - u] for u in range(cf)]


def lines(inverse, coefficients: np.ndarray) -> np.ndarray:
    """The last axis has the kept coefficients, and then the values."""
    return np.stack(inverse([coefficients[..., v] for v in range(coefficients.shape[-1])]), axis=-1)


def decode(payload: bytes, chunk) -> np.ndarray:
    cf = int(chunk.parameters["cf"])
    transform = chunk.parameters.get("transform", "dct")
    side, inverse = {"dct": (8, inverse_dct), "zfp": (4, inverse_zfp)}[transform]
    stored = coefficients_of(payload, chunk.parameters.get("coefficients", "f32"))
    if len(chunk.shape) < 2:
        groups = -(-chunk.count // side)
        values = lines(inverse, stored.reshape(groups, cf)).reshape(-1)[: chunk.count]
    else:
        height, width = chunk.shape[-2:]
        planes, rows, columns = math.prod(chunk.shape[:-2]), -(-height // side), -(-width // side)
        layout = chunk.parameters.get("layout", "square")
        parts = rows_of_coefficients(stored, planes, rows, columns, cf, layout)
        across = [lines(inverse, part) for part in parts]
        down = np.stack(
            inverse(across), axis=-2
        )  # planes, rows, columns, side (down), side (across)
        values = down.swapaxes(2, 3).reshape(planes, rows * side, columns * side)[
            :, :height, :width
        ]
    return to_elements(values, chunk.dtype)


def to_elements(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype not in ("u8", "i16"):
        return as_elements(values, dtype)
    low, high = {"u8": (0, 255), "i16": (-32768, 32767)}[dtype]
    return np.floor(np.clip(values.astype("f8"), low, high) + 0.5).astype(
        {"u8": "<u1", "i16": "<i2"}[dtype]
    )
