"""What compiled graphs call to store a value for backward: torch.ops.tensorpress.*_stash.

    stash = torch.ops.tensorpress.quantize_stash(x, 4, 256, "nearest", 0, "conv1:conv2d")
    back = torch.ops.tensorpress.quantize_unstash(stash, x.shape, x.dtype, 4, 256)

A graph knows the size of every tensor before it runs, so a stash has as many bytes as its shape
says, and these operators never raise for what values are:

    the packed bytes | 1 byte: 0 packed, 1 raw | (raw only, beyond the end of the tensor) the values

On the CPU, values that a codec cannot represent (NaN, infinities, a range beyond float32) are kept
as they are, bit for bit. They lie in the same storage behind the tensor's end, where the graph does
not look, so such a stash takes more memory than usual and others do not. If something has copied
the tensor without the rest of its storage, the values come back as NaN. Other devices would have to
wait for the answer; ../backends/ says what comes back there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..chop import compressed_shape
from ..ops import ANY_STRIDES, packing_for, quantized_size
from ..packing.codecs import Cast, DctChop, Stored
from .report import ledger_now

ALIGNMENT = 16
SAMPLE = 256  # values that vary the seed of stochastic rounding


# ---- Layout -------------------------------------------------------------------------------------


def _stash(packed: torch.Tensor | None, size: int, values: torch.Tensor, name: str) -> torch.Tensor:
    if packed is not None:
        stash = packed.new_empty(size + 1, dtype=torch.uint8)
        stash[:size] = packed
        stash[size] = 0
        return stash
    ledger_now().note_raw(name)
    raw = values.reshape(-1).view(torch.uint8)
    begin = _aligned(size + 1)
    room = raw.new_empty(begin + raw.numel())
    room[:size] = 0
    room[size] = 1
    room[begin:] = raw
    return room[: size + 1]


def _packed(stash: torch.Tensor) -> torch.Tensor | None:
    """Or None if the values are raw, which they are on the CPU alone: a device is not asked."""
    return None if stash.is_cpu and int(stash[-1]) else stash[:-1].contiguous()


def _raw(stash: torch.Tensor, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    begin = stash.storage_offset() + _aligned(stash.numel())
    size = math.prod(shape) * dtype.itemsize
    if stash.untyped_storage().nbytes() < begin + size:
        return stash.new_full(shape, math.nan, dtype=dtype)
    raw = stash.new_empty(0).set_(stash.untyped_storage(), begin, (size,), (1,))
    return raw.view(dtype).view(tuple(shape)).clone()


def _aligned(count: int) -> int:
    return (count + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _seed_for(values: torch.Tensor, seed: int, rounding: str) -> int:
    """Another one in every step and for other values: with the same random numbers each time errors
    would not average out. The counter is not in the graph, where it would be a constant."""
    if rounding != "stochastic" or values.numel() == 0:
        return seed
    mixed = 0
    if values.is_cpu:  # asking a device for values would make it wait
        flat = values.reshape(-1)
        some = flat[:: max(1, flat.numel() // SAMPLE)].float().view(torch.int32).to(torch.int64)
        places = torch.arange(1, some.numel() + 1)
        mixed = int((some * (2 * places + 1) * 0x9E3779B1).sum())
    return (seed * 0x9E3779B97F4A7C15 + mixed + ledger_now().runs * 0xBF58476D1CE4E5B9) % 2**63


# ---- Quantized ----------------------------------------------------------------------------------


@torch.library.custom_op("tensorpress::quantize_stash", mutates_args=(), **ANY_STRIDES)
def quantize_stash(
    values: torch.Tensor, bits: int, group: int, rounding: str, seed: int, name: str
) -> torch.Tensor:
    """`name` is what reports call the value."""
    values = values.contiguous()
    seed = _seed_for(values, seed, rounding)
    packed = packing_for(values).quantize_pack(values, bits, group, rounding, seed)
    return _stash(packed, quantized_size(values.numel(), bits, group), values, name)


@quantize_stash.register_fake
def _(
    values: torch.Tensor, bits: int, group: int, rounding: str, seed: int, name: str
) -> torch.Tensor:
    return values.new_empty(quantized_size(values.numel(), bits, group) + 1, dtype=torch.uint8)


@torch.library.custom_op("tensorpress::quantize_unstash", mutates_args=())
def quantize_unstash(
    stash: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bits: int, group: int
) -> torch.Tensor:
    packed = _packed(stash)
    if packed is None:
        return _raw(stash, shape, dtype)
    return packing_for(stash).quantize_unpack(packed, shape, dtype, bits, group)


@quantize_unstash.register_fake
def _(
    stash: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bits: int, group: int
) -> torch.Tensor:
    return stash.new_empty(shape, dtype=dtype)


# ---- In a smaller type --------------------------------------------------------------------------


@torch.library.custom_op("tensorpress::cast_stash", mutates_args=(), **ANY_STRIDES)
def cast_stash(values: torch.Tensor, to: str, name: str) -> torch.Tensor:
    values = values.contiguous()
    packed = packing_for(values).cast_pack(values, to)
    return _stash(packed, values.numel() * Cast(to).itemsize, values, name)


@cast_stash.register_fake
def _(values: torch.Tensor, to: str, name: str) -> torch.Tensor:
    return values.new_empty(values.numel() * Cast(to).itemsize + 1, dtype=torch.uint8)


@torch.library.custom_op("tensorpress::cast_unstash", mutates_args=())
def cast_unstash(
    stash: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str
) -> torch.Tensor:
    packed = _packed(stash)
    if packed is None:
        return _raw(stash, shape, dtype)
    return packing_for(stash).cast_unpack(packed, shape, dtype, to)


@cast_unstash.register_fake
def _(stash: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, to: str) -> torch.Tensor:
    return stash.new_empty(shape, dtype=dtype)


# ---- DCT+Chop -----------------------------------------------------------------------------------


@torch.library.custom_op("tensorpress::chop_stash", mutates_args=(), **ANY_STRIDES)
def chop_stash(
    values: torch.Tensor, cf: int, layout: str, transform: str, name: str
) -> torch.Tensor:
    values = values.contiguous()
    codec = DctChop(cf, layout, transform)
    packed = codec.pack(values, 0, packing_for(values))
    packed = None if packed is None else packed.contiguous().view(-1).view(torch.uint8)
    return _stash(packed, _chopped_size(values.shape, values.dtype, codec), values, name)


@chop_stash.register_fake
def _(values: torch.Tensor, cf: int, layout: str, transform: str, name: str) -> torch.Tensor:
    size = _chopped_size(values.shape, values.dtype, DctChop(cf, layout, transform))
    return values.new_empty(size + 1, dtype=torch.uint8)


@torch.library.custom_op("tensorpress::chop_unstash", mutates_args=())
def chop_unstash(
    stash: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    cf: int,
    layout: str,
    transform: str,
) -> torch.Tensor:
    packed = _packed(stash)
    if packed is None:
        return _raw(stash, shape, dtype)
    codec = DctChop(cf, layout, transform)
    kept = packed.clone().view(dtype).view(_chopped_shape(shape, codec))
    return Stored(codec, kept, shape, dtype, packing_for(stash)).values()


@chop_unstash.register_fake
def _(
    stash: torch.Tensor,
    shape: Sequence[int],
    dtype: torch.dtype,
    cf: int,
    layout: str,
    transform: str,
) -> torch.Tensor:
    return stash.new_empty(shape, dtype=dtype)


def _chopped_shape(shape: Sequence[int], codec: DctChop) -> Sequence[int]:
    """The planes are of fixed size; what is before them may be symbolic."""
    plane = compressed_shape(shape[-2:], codec.cf, codec.layout, codec.transform)
    return (*shape[:-2], *plane)


def _chopped_size(shape: Sequence[int], dtype: torch.dtype, codec: DctChop) -> int:
    return math.prod(_chopped_shape(shape, codec)) * dtype.itemsize


# ---- Comparisons --------------------------------------------------------------------------------


@torch.library.custom_op("tensorpress::above_pack", mutates_args=(), **ANY_STRIDES)
def above_pack(values: torch.Tensor) -> torch.Tensor:
    """One bit a value: what a ReLU lets pass, which is all that is not at most 0, NaN included.
    sign_unpack reads it."""
    values = values.contiguous()
    if not values.is_cpu or bool(values.sum().isnan()):  # or infinities of both signs
        return packing_for(values).sign_pack(~(values <= 0))
    return packing_for(values).sign_pack(values)


@above_pack.register_fake
def _(values: torch.Tensor) -> torch.Tensor:
    return values.new_empty((values.numel() + 7) // 8, dtype=torch.uint8)


# ---- Concatenated --------------------------------------------------------------------------------


@torch.library.custom_op("tensorpress::widen", mutates_args=(), **ANY_STRIDES)
def widen(part: torch.Tensor, axis: int, begin: int, size: int) -> torch.Tensor:
    """Zeros of `size` along an axis with the part in them, in the order of the axes."""
    shape = list(part.shape)
    shape[axis] = size
    whole = part.new_zeros(shape)
    whole.narrow(axis, begin, part.shape[axis]).copy_(part)
    return whole


@widen.register_fake
def _(part: torch.Tensor, axis: int, begin: int, size: int) -> torch.Tensor:
    shape = list(part.shape)
    shape[axis] = size
    return part.new_empty(shape)


# ---- What is saved, for reports -----------------------------------------------------------------


@torch.library.custom_op("tensorpress::saved_values", mutates_args=())
def saved_values(plan: str, sizes: Sequence[int]) -> torch.Tensor:
    """Tells the report what a compiled forward pass saves, whenever it runs: with graphs from a
    cache nothing else of this package does. `sizes` are those that only a run knows. The empty
    result is saved too, so that the call is not removed."""
    ledger_now().note_graph(plan, tuple(sizes))
    return torch.empty(0, dtype=torch.uint8)


@saved_values.register_fake
def _(plan: str, sizes: Sequence[int]) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8)
