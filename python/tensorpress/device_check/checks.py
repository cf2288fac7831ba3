"""What every backend has to write and read: the bytes of the CPU's. One check is one operator with
its parameters on one tensor."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..torch.backends import cpu
from ..torch.backends.default import fp8 as scaled
from ..torch.backends.registry import Packing, default_kernels

BITS = (1, 2, 3, 4, 5, 6, 8)
FLOATS = (torch.float32, torch.bfloat16, torch.float16)
BOUNDS = (1e-3, 1.0)


@dataclasses.dataclass
class Outcome:
    """`name` says the operator, its parameters and the tensor."""

    name: str
    same: bool
    detail: str = ""


def inputs(dtype: torch.dtype, small: bool) -> dict[str, torch.Tensor]:
    """Values on the CPU, of all sizes and kinds that f32 holds a grid of."""
    generator = torch.Generator().manual_seed(11)

    def randn(count: int) -> torch.Tensor:
        return torch.randn(count, generator=generator)

    tiny = randn(256) * (1e-36 if dtype == torch.float32 else 1e-7)
    skewed = torch.cat([randn(255), torch.tensor([60000.0])])
    zeros, constant = -torch.zeros(256), torch.full((256,), 3.3)
    kinds = [randn(256).relu(), zeros, constant, tiny, skewed, randn(256) * 3, randn(777)]
    some = {"one": randn(1), "groups": torch.cat(kinds)}
    if not small:
        some |= {
            "ragged": randn(777),
            "large": randn(1 << 20),
            "huge": randn(5003) * (1e37 if dtype != torch.float16 else 1e4),
            "waves": randn(70_001).cumsum(0) * 0.01,
            "empty": randn(0),
        }
    return {name: values.to(dtype) for name, values in some.items()}


def all_checks(device: str, packing: Packing, small: bool = False) -> Iterator[Outcome]:
    """Of the operators that a device uses, against the library on the CPU."""
    here = _On(device, packing)
    for dtype in FLOATS:
        tensors = inputs(dtype, small)
        for name, values in tensors.items():
            about = f"{str(dtype).removeprefix('torch.')} {name}"
            yield from here.quantize(about, values, small)
            yield from here.cast(about, values)
            yield from here.bits(about, values)
            yield from here.ceresz(about, values)
        yield from here.escapes(dtype)
        yield from here.special(dtype)
    for shape in (
        ((2, 3, 16, 24), (1, 7, 9)) if small else ((2, 3, 16, 24), (30, 29), (64, 200, 136))
    ):
        yield from here.chop(shape, small)


class _On:
    def __init__(self, device: str, packing: Packing) -> None:
        self.device, self.packing = device, packing

    def quantize(self, about: str, values: torch.Tensor, small: bool) -> Iterator[Outcome]:
        groups = (256,) if small else (256, 768, 1024)
        for bits in BITS:
            for rounding in ("nearest", "stochastic"):
                for group in groups:
                    arguments = (bits, group, rounding, 2**63 + 17)
                    want = cpu.quantize_pack(values, *arguments)
                    if want is None:
                        continue
                    name = f"quantize {bits} {rounding} {group} {about}"
                    yield self._same(name, want, self.packing.quantize_pack, values, *arguments)
                    back = (values.shape, values.dtype, bits, group)
                    want_back = cpu.quantize_unpack(want, *back)
                    name = f"dequantize {bits} {group} {about}"
                    yield self._same(name, want_back, self.packing.quantize_unpack, want, *back)
        signs = cpu.sign_pack(values)
        want = cpu.quantize_pack(values, 4, 256, "nearest", 0)
        if want is not None:
            back = (values.shape, values.dtype, 4, 256)
            want_back = cpu.quantize_unpack(want, *back, signs)

            def unpack(packed: torch.Tensor) -> torch.Tensor:
                return self.packing.quantize_unpack(packed, *back, signs.to(self.device))

            yield self._same(f"dequantize 4 with signs {about}", want_back, unpack, want)

    def cast(self, about: str, values: torch.Tensor) -> Iterator[Outcome]:
        for to in ("bf16", "f16", "e4m3", "e5m2"):
            if values.dtype.itemsize <= (2 if to in ("bf16", "f16") else 1):
                continue
            want = cpu.cast_pack(values, to)
            if want is None:
                continue
            yield self._same(f"cast {to} {about}", want, self.packing.cast_pack, values, to)
            back = (values.shape, values.dtype, to)
            want_back = cpu.cast_unpack(want, *back)
            yield self._same(
                f"cast back {to} {about}", want_back, self.packing.cast_unpack, want, *back
            )
        for to in ("e4m3", "e5m2"):
            want = scaled.fp8_pack(values, to, 128)
            name = f"fp8 {to} {about}"
            yield self._same(name, want, self.packing.fp8_pack, values, to, 128)
            back = (values.shape, values.dtype, to, 128)
            want_back = scaled.fp8_unpack(want, *back)
            yield self._same(
                f"fp8 back {to} {about}", want_back, self.packing.fp8_unpack, want, *back
            )

    def bits(self, about: str, values: torch.Tensor) -> Iterator[Outcome]:
        signs = cpu.sign_pack(values)
        yield self._same(f"signs {about}", signs, self.packing.sign_pack, values)
        for dtype in (values.dtype, torch.bool):
            want = cpu.sign_unpack(signs, values.shape, dtype)
            name = f"signs back {dtype} {about}"
            yield self._same(name, want, self.packing.sign_unpack, signs, values.shape, dtype)
        for mask in (torch.where(values > 0, 1.25, 0.0).to(values.dtype), values > 0):
            packed = cpu.mask_pack(mask)
            if packed is None:
                continue
            name = f"mask {mask.dtype} {about}"
            yield self._same(name, packed, self.packing.mask_pack, mask)
            back = (mask.shape, mask.dtype)
            yield self._same(f"{name} back", mask, self.packing.mask_unpack, packed, *back)

    def ceresz(self, about: str, values: torch.Tensor) -> Iterator[Outcome]:
        for bound in BOUNDS:
            room, size = cpu.ceresz_pack(values, bound)
            want = room[: int(size)]

            def pack(moved: torch.Tensor, bound: float = bound) -> torch.Tensor:
                packed, count = self.packing.ceresz_pack(moved, bound)
                return packed[: int(count)]

            yield self._same(f"ceresz {bound} {about}", want, pack, values)
            back = (values.shape, values.dtype, bound)
            want_back = cpu.ceresz_unpack(want, *back)
            name = f"ceresz back {bound} {about}"
            yield self._same(name, want_back, self.packing.ceresz_unpack, want, *back)

    def escapes(self, dtype: torch.dtype) -> Iterator[Outcome]:
        """Groups that f32 has no grid of come back exactly, and the others as on the CPU."""
        values = inputs(dtype, True)["groups"][-777:].clone()
        values[3], values[300], values[301] = torch.nan, torch.inf, -torch.inf
        clean = values.nan_to_num(0, 0, 0)
        for bits in (1, 4, 6):
            packed = cpu.quantize_pack(clean, bits, 256, "nearest", 0)
            assert packed is not None
            want = cpu.quantize_unpack(packed, values.shape, dtype, bits, 256)
            want[:512] = values[:512]

            def there_and_back(moved: torch.Tensor, bits: int = bits) -> torch.Tensor:
                held = self.packing.quantize_pack(moved, bits, 256, "nearest", 0)
                assert held is not None
                return self.packing.quantize_unpack(held, moved.shape, moved.dtype, bits, 256)

            yield self._same(f"quantize {bits} NaN {dtype}", want, there_and_back, values)

    def special(self, dtype: torch.dtype) -> Iterator[Outcome]:
        """All patterns of bits of ceresz's blocks and of fp8, NaN and infinities among them."""
        generator = torch.Generator().manual_seed(3)
        kind = torch.int32 if dtype == torch.float32 else torch.int16
        limits = torch.iinfo(kind)
        patterns = torch.randint(limits.min, limits.max, (2049,), generator=generator)
        values = patterns.to(kind).view(dtype)
        if dtype != torch.float32:  # machines widen NaN to different ones
            values = torch.where(values.isnan(), torch.nan, values)
        yield from self.ceresz(f"{dtype} any bits", values)
        yield self._same(
            f"signs {dtype} any bits", cpu.sign_pack(values), self.packing.sign_pack, values
        )
        codes = torch.arange(256, dtype=torch.uint8)
        for to in ("e4m3", "e5m2"):
            want = cpu.cast_unpack(codes, (256,), torch.float32, to)
            arguments = ((256,), torch.float32, to)
            yield self._same(
                f"all codes of {to}", want, self.packing.cast_unpack, codes, *arguments
            )

    def chop(self, shape: tuple[int, ...], small: bool) -> Iterator[Outcome]:
        generator = torch.Generator().manual_seed(5)
        for dtype in FLOATS:
            values = torch.randn(shape, generator=generator).to(dtype)
            for transform, most in (("dct", 8), ("zfp", 4)):
                factors = range(1, most + 1)
                for layout in ("square", "triangle"):
                    for cf in factors:
                        how = (cf, layout, transform)
                        if small and (cf + len(layout)) % 3 != FLOATS.index(dtype):
                            continue
                        name = f"{transform} {layout} CF {cf} {dtype} {shape}"
                        want = cpu.chop_pack(values, *how)
                        yield self._same(name, want, self.packing.chop_pack, values, *how)
                        back = (values.shape, dtype, *how)
                        want_back = cpu.chop_unpack(want, *back)
                        name = f"inverse {name}"
                        yield self._same(name, want_back, self.packing.chop_unpack, want, *back)

    def _same(
        self,
        name: str,
        want: torch.Tensor,
        run: Callable[..., Any],
        first: torch.Tensor,
        *rest: Any,
    ) -> Outcome:
        try:
            got = run(first.to(self.device), *rest)
            got = got.cpu()
        except Exception as error:  # a kernel that does not compile is a result too
            return Outcome(name, False, f"{type(error).__name__}: {str(error)[:300]}")
        if got.shape != want.shape or got.dtype != want.dtype:
            return Outcome(name, False, f"{got.dtype} {tuple(got.shape)}")
        one, other = _numbers(got), _numbers(want)
        if torch.equal(one, other):
            return Outcome(name, True)
        differing = (one != other).nonzero().flatten()
        return Outcome(name, False, f"{differing.numel()} differ, first {differing[:3].tolist()}")


def _numbers(values: torch.Tensor) -> torch.Tensor:
    """Bits, but all NaN are alike."""
    flat = values.contiguous().view(-1)
    if flat.is_floating_point():
        flat = torch.where(flat.isnan(), torch.nan, flat)
        kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[flat.dtype.itemsize]
        numbers = flat.view(kind).clone()
        numbers[flat.isnan()] = torch.iinfo(kind).min
        return numbers
    return flat.view(torch.uint8)


def default_checks(small: bool) -> Iterator[Outcome]:
    """PyTorch's own operations on the CPU."""
    return all_checks("cpu", default_kernels(), small)
