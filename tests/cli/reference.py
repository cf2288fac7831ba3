"""DCT+Chop written down in double precision, straight from the paper: Y = T X T', keep the corner,
X ~ T^-1 Y T^-T.

Every plane (the last two axes) is padded to whole blocks by repeating its edge, and cropped again
at the end.
"""

import numpy as np


def dct_matrix():
    """The orthonormal DCT-II of eight points."""
    k, n = np.mgrid[0:8, 0:8]
    matrix = np.sqrt(2 / 8) * np.cos(np.pi * (2 * n + 1) * k / 16)
    matrix[0] /= np.sqrt(2)
    return matrix


def zfp_matrix():
    """ZFP's forward transform of four points (Lindstrom 2014, equation 1)."""
    return np.array([[4, 4, 4, 4], [5, 1, -1, -5], [-4, 4, 4, -4], [-2, 6, -6, 2]]) / 16


def kept(transform, layout, chop_factor):
    """Which coefficients of a block are stored, as a mask."""
    side = {"dct": 8, "zfp": 4}[transform]
    u, v = np.mgrid[0:side, 0:side]
    if layout == "triangle":
        return u + v < chop_factor
    return (u < chop_factor) & (v < chop_factor)


def chopped(tensor, chop_factor, layout="square", transform="dct"):
    """The tensor after compression and decompression, float64, for f32 coefficients."""
    forward = {"dct": dct_matrix, "zfp": zfp_matrix}[transform]()
    backward = np.linalg.inv(forward)
    side = len(forward)
    values = np.asarray(tensor, dtype=np.float64)
    if values.ndim == 1:
        blocks = pad(values, [side]).reshape(-1, side) @ forward.T
        blocks[:, chop_factor:] = 0
        return (blocks @ backward.T).reshape(-1)[: len(values)]
    height, width = values.shape[-2:]
    padded = pad(values, [side, side])
    grid = (*values.shape[:-2], padded.shape[-2] // side, side, padded.shape[-1] // side, side)
    blocks = padded.reshape(grid).swapaxes(-3, -2)
    coefficients = (forward @ blocks @ forward.T) * kept(transform, layout, chop_factor)
    restored = (backward @ coefficients @ backward.T).swapaxes(-3, -2).reshape(padded.shape)
    return restored[..., :height, :width]


def pad(values, sides):
    widths = [(0, 0)] * (values.ndim - len(sides))
    widths += [
        (0, -extent % side) for extent, side in zip(values.shape[-len(sides) :], sides, strict=True)
    ]
    return np.pad(values, widths, mode="edge")
