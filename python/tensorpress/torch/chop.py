"""DCT+Chop as two modules made of matrix products, and gather and scatter for the triangle.

The same numbers as the codec dct-chop, to float rounding, in the same order as in its stream, but
on whatever device and in whatever floating type the tensor is, with gradients. The paper's Eq. 4
and 6 with partial serialization (Sec. 3.5.1); tensorpress/_chop.py has the matrices.

What the codec checks is not looked for here, because that would make an accelerator wait: a NaN or
an infinity spoils its whole plane (with serialize its part of the plane).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .._chop import Axis, Chop

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def compressed_shape(
    shape: Sequence[int],
    cf: int = 4,
    layout: str = "square",
    transform: str = "dct",
) -> tuple[int, ...]:
    """The shape that ChopCompressor makes of (..., height, width).

    >>> compressed_shape((100, 3, 32, 32), cf=4), compressed_shape((30, 30), 3, "triangle")
    ((100, 3, 16, 16), (16, 6))
    """
    return (*shape[:-2], *Chop(shape, cf, layout, transform).compressed_plane)


class _TwoProducts(torch.nn.Module):
    """left · X · right', part by part. The matrices depend on nothing but the parameters, so they
    are not in the state_dict, and .to() rounds them anew from float64."""

    def __init__(
        self,
        shape: Sequence[int],
        cf: int = 4,
        layout: str = "square",
        transform: str = "dct",
        serialize: int = 1,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.chop = Chop(shape, cf, layout, transform, serialize)
        dtype = dtype or torch.get_default_dtype()
        _check_dtype(type(self).__name__, dtype)
        self.register_buffer("places", None, persistent=False)
        for name, values in self._exact().items():
            kind = torch.int64 if name == "places" else dtype
            buffer = torch.tensor(values, device=device, dtype=kind)
            self.register_buffer(name, buffer, persistent=False)

    def _exact(self) -> dict[str, np.ndarray]:
        """The buffers by name. A side has a second matrix when its last part is smaller."""
        buffers = {}
        for side, axis in (("left", self.chop.rows), ("right", self.chop.columns)):
            sizes = axis.element_sizes
            buffers[side] = self._matrix(axis, sizes[0])
            if sizes[-1] != sizes[0]:
                buffers[side + "_last"] = self._matrix(axis, sizes[-1])
        if self.chop.layout == "triangle":
            buffers["places"] = self.chop.triangle_places()
        return buffers

    def _matrix(self, axis: Axis, elements: int) -> np.ndarray:
        raise NotImplementedError

    @property
    def ratio(self) -> float:
        """Values of a plane before and after; types do not count."""
        return self.chop.ratio

    @property
    def dtype(self) -> torch.dtype:
        return self.left.dtype

    def extra_repr(self) -> str:
        return self.chop.arguments()

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> _TwoProducts:
        super()._apply(fn, recurse)
        with torch.no_grad():
            for name, values in self._exact().items():
                buffer = getattr(self, name)
                # Rounded on the CPU: not every device has float64.
                buffer.copy_(torch.tensor(values, dtype=buffer.dtype, device="cpu"))
        return self

    def _matrices(self, side: str, parts: int) -> list[torch.Tensor]:
        first = getattr(self, side)
        return [first] * (parts - 1) + [getattr(self, side + "_last", first)]

    def _products(
        self, planes: torch.Tensor, row_sizes: list[int], column_sizes: list[int]
    ) -> torch.Tensor:
        lefts = self._matrices("left", len(row_sizes))
        rights = [right.mT for right in self._matrices("right", len(column_sizes))]
        bands = []
        for left, band in zip(lefts, planes.split(row_sizes, -2), strict=True):
            parts = zip(band.split(column_sizes, -1), rights, strict=True)
            bands.append(_joined([left @ (part @ right) for part, right in parts], -1))
        return _joined(bands, -2)

    def _check(self, x: torch.Tensor, plane: tuple[int, int]) -> None:
        name = type(self).__name__
        _check_dtype(name, x.dtype)
        if x.dim() < 2:
            raise ValueError(f"{name} takes (..., {plane[0]}, {plane[1]}); x has {x.dim()} axes")
        # Under torch.jit.trace sizes are tensors, and asking would warn; the products fail anyway.
        if not torch.jit.is_tracing() and tuple(x.shape[-2:]) != plane:
            raise ValueError(
                f"{name} was made for planes of {plane[0]} x {plane[1]}, and x has the shape "
                f"{tuple(x.shape)}; make one for this size"
            )
        if x.dtype != self.dtype and not torch.is_autocast_enabled(x.device.type):
            raise TypeError(
                f"x is {x.dtype} and the matrices of {name} are {self.dtype}; "
                "call .to(x.dtype) on the module, or on x"
            )


class ChopCompressor(_TwoProducts):
    """Keeps CF x CF of the 8 x 8 DCT coefficients of every block of (..., height, width).

    shape:     of the tensors; only height and width, the last two, count
    cf:        1 to 8, with transform zfp (4 x 4 blocks) 1 to 4
    layout:    square keeps u < CF and v < CF, triangle keeps u + v < CF
    serialize: s x s parts of a plane one after the other, for 1/s^2 of the matrix memory

    The result, with B_h x B_w blocks in a plane, has the values of the stream in their order:
    square (..., B_h CF, B_w CF), triangle (..., B_h B_w, CF (CF + 1) / 2).

    >>> compressor = ChopCompressor((30, 30), cf=3, layout="triangle")
    >>> compressor(torch.ones(2, 30, 30)).shape, compressor.ratio
    (torch.Size([2, 16, 6]), 9.375)
    """

    def _matrix(self, axis: Axis, elements: int) -> np.ndarray:
        return axis.forward(self.chop.transform, elements)

    def compressed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result for a tensor of this shape."""
        return (*shape[:-2], *self.chop.compressed_plane)

    def decompressor(self) -> ChopDecompressor:
        """The module that brings the planes back, of the same type, on the same device."""
        chop = self.chop
        parameters = (chop.plane, chop.cf, chop.layout, chop.transform, chop.serialize)
        return ChopDecompressor(*parameters, device=self.left.device, dtype=self.dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chop = self.chop
        self._check(x, chop.plane)
        square = self._products(x, chop.rows.element_sizes, chop.columns.element_sizes)
        if self.places is None:
            return square
        kept = square.flatten(-2).index_select(-1, self.places)
        return kept.unflatten(-1, chop.compressed_plane)


class ChopDecompressor(_TwoProducts):
    """The way back from ChopCompressor; takes the same arguments, shape that of the planes.

    >>> decompressor = ChopDecompressor((30, 30), cf=3, layout="triangle")
    >>> decompressor(torch.ones(2, 16, 6)).shape
    torch.Size([2, 30, 30])
    """

    def _matrix(self, axis: Axis, elements: int) -> np.ndarray:
        return axis.inverse(self.chop.transform, elements)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chop = self.chop
        self._check(x, chop.compressed_plane)
        if self.places is not None:
            zeros = x.new_zeros((*x.shape[:-2], math.prod(chop.square)))
            square = zeros.index_copy(-1, self.places, x.flatten(-2))
            x = square.unflatten(-1, chop.square)
        return self._products(x, chop.rows.coefficient_sizes, chop.columns.coefficient_sizes)


def _joined(parts: list[torch.Tensor], axis: int) -> torch.Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, axis)


def _check_dtype(name: str, dtype: torch.dtype) -> None:
    if dtype not in FLOATS:
        raise TypeError(
            f"{name} works on float16, bfloat16, float32 and float64, not on {dtype}; "
            "convert the tensor first, for example with .float()"
        )
