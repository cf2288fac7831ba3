"""Codec ceresz in two kernels each of which reads and writes once, and a scan between them.

    encode   a block's planes to where they would be if all were uncompressed, its width, and how
             many words all blocks of the program have
    (scan)   where the words of each program begin: a sum over one number a program
    compact  the words to where they belong

Decoding needs one kernel, after a kernel that adds up widths. Planes lie at multiples of 4 bytes:
what comes before them, a slack and a byte a block, begins where it has to for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from ..default.ceresz import RAW, SAMPLED, tolerance
from ..sizes import CERESZ_BLOCK, ceresz_room
from .arithmetic import limited, narrow, widened
from .launch import OPTIONS, on_device_of, tile_values, tiles, warps_for

MAGIC = tl.constexpr(12582912.0)
MAGIC_BITS = tl.constexpr(0x4B400000)
RAW_WIDTH = tl.constexpr(RAW)


@triton.jit(do_not_specialize=["count"])
def sample_kernel(values, largest, count, STEP: tl.constexpr, TILE: tl.constexpr):
    """The largest magnitude of every so manyth value; as bits, whose order is that of numbers."""
    i = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    x = widened(tl.load(values + i * STEP, mask=i * STEP < count, other=0.0))
    bits = (x.to(tl.uint32, bitcast=True) & 0x7FFFFFFF).to(tl.int32)
    tl.atomic_max(largest, tl.max(tl.where(bits > 0x7F800000, 0, bits)))


@triton.jit
def step_of(slack, limit):
    """(2 t) (1 - 2^-(10 - slack))"""
    share = 1.0 - ((117 + slack) << 23).to(tl.float32, bitcast=True)
    return (2.0 * limit) * share


@triton.jit
def slack_of(largest, limit):
    """A number of the chunk, the same in every program. 4096 is 2^(24 - 12)."""
    one = tl.full(largest.shape, 1.0, tl.float32)
    scale = tl.div_rn(one, step_of(tl.zeros_like(largest), limit))
    quantum = largest.to(tl.float32, bitcast=True) * scale
    slack = tl.zeros_like(largest)
    for k in tl.static_range(7):
        slack += (quantum > 4096.0 * (1 << k)).to(tl.int32)
    return slack


@triton.jit
def bit_of_value():
    """Value 8 c + 2 m + h has bit 8 m + 4 h + c of a plane."""
    i = tl.arange(0, 32)
    return (8 * (i % 8 // 2) + 4 * (i % 2) + i // 8).to(tl.uint32)


@triton.jit(do_not_specialize=["count", "blocks", "limit"])
def encode_kernel(
    values, largest, slack_byte, widths, staged, sums, count, blocks, limit, BLOCKS: tl.constexpr
):
    block = tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS)
    i = tl.arange(0, 32)
    there = block < blocks
    element = tl.minimum(block.to(tl.int64)[:, None] * 32 + i[None, :], count - 1)
    x = widened(tl.load(values + element))
    one = tl.zeros((1,), tl.int32)
    slack = slack_of(tl.load(largest + one), limit)
    step = step_of(slack, limit)
    scale = tl.div_rn(tl.full((1,), 1.0, tl.float32), step)
    tl.store(slack_byte + one, slack.to(tl.uint8), mask=tl.program_id(0) == 0)
    quanta = (x * scale[None, :] + MAGIC).to(tl.uint32, bitcast=True) - MAGIC_BITS
    back = ((quanta + MAGIC_BITS).to(tl.float32, bitcast=True) - MAGIC) * step[None, :]
    holds = tl.min((tl.abs(x - back) <= limit).to(tl.int32), axis=1) > 0
    # The quantum before, from the neighbour's register; a first one has 0 before it.
    whole = quanta.to(tl.int32, bitcast=True)
    left = tl.zeros((BLOCKS, 32), tl.int32) + tl.maximum(i - 1, 0)[None, :]
    difference = whole - tl.where((i > 0)[None, :], tl.gather(whole, left, 1), 0)
    code = ((difference << 1) ^ (difference >> 31)).to(tl.uint32, bitcast=True)
    most = tl.max(code.to(tl.int64), axis=1)
    width = tl.zeros((BLOCKS,), tl.int32)
    for p in tl.static_range(32):
        width += ((most >> p) > 0).to(tl.int32)
    words = tl.where(there, tl.where(holds, width, 32), 0)
    tl.store(widths + block, tl.where(holds, width, RAW_WIDTH).to(tl.uint8), mask=there)
    tl.store(sums + tl.program_id(0), tl.sum(words))
    bit = bit_of_value()
    to = staged + block.to(tl.int64) * 32
    for p in range(0, tl.max(tl.where(holds, words, 0))):
        plane = tl.sum(((code >> p) & 1) << bit[None, :], axis=1)
        tl.store(to + p, plane.to(tl.int32, bitcast=True), mask=holds & (p < words))
    raw = (there & (holds == 0))[:, None] & (i >= 0)[None, :]
    tl.store(to[:, None] + i[None, :], x.to(tl.int32, bitcast=True), mask=raw)


@triton.jit(do_not_specialize=["blocks"])
def compact_kernel(widths, staged, ends, planes, blocks, BLOCKS: tl.constexpr):
    """`ends`: of the words of each program."""
    block = tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS)
    i = tl.arange(0, 32)
    width = tl.load(widths + block, mask=block < blocks, other=0).to(tl.int32)
    words = tl.where(width == RAW_WIDTH, 32, width)
    begin = tl.load(ends + tl.program_id(0)) - tl.sum(words)
    place = begin.to(tl.int64) + (tl.cumsum(words, axis=0) - words).to(tl.int64)
    used = i[None, :] < words[:, None]
    plane = tl.load(staged + block.to(tl.int64)[:, None] * 32 + i[None, :], mask=used, other=0)
    tl.store(planes + place[:, None] + i[None, :], plane, mask=used)


@triton.jit(do_not_specialize=["blocks"])
def sum_kernel(widths, sums, blocks, BLOCKS: tl.constexpr):
    block = tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS)
    width = tl.load(widths + block, mask=block < blocks, other=0).to(tl.int32)
    words = tl.where(width == RAW_WIDTH, 32, tl.minimum(width, 32))
    tl.store(sums + tl.program_id(0), tl.sum(words))


@triton.jit(do_not_specialize=["count", "blocks", "room", "limit"])
def decode_kernel(
    slack_byte, widths, ends, planes, values, count, blocks, room, limit, BLOCKS: tl.constexpr
):
    """Reads no more than `room` words, whatever the widths say."""
    block = tl.program_id(0) * BLOCKS + tl.arange(0, BLOCKS)
    i = tl.arange(0, 32)
    width = tl.load(widths + block, mask=block < blocks, other=0).to(tl.int32)
    words = tl.where(width == RAW_WIDTH, 32, tl.minimum(width, 32))
    begin = tl.load(ends + tl.program_id(0)) - tl.sum(words)
    place = begin.to(tl.int64) + (tl.cumsum(words, axis=0) - words).to(tl.int64)
    bit = bit_of_value()
    code = tl.zeros((BLOCKS, 32), tl.uint32)
    coded = tl.where(width == RAW_WIDTH, 0, words)
    for p in range(0, tl.max(coded)):
        plane = tl.load(planes + place + p, mask=(p < coded) & (place + p < room), other=0)
        plane = plane.to(tl.uint32, bitcast=True)
        code |= ((plane[:, None] >> bit[None, :]) & 1) << p
    difference = (code >> 1) ^ (0 - (code & 1))
    quanta = tl.cumsum(difference.to(tl.int32, bitcast=True), axis=1).to(tl.uint32, bitcast=True)
    slack = tl.load(slack_byte + tl.zeros((1,), tl.int32)).to(tl.int32) & 7
    step = step_of(slack, limit)
    x = ((quanta + MAGIC_BITS).to(tl.float32, bitcast=True) - MAGIC) * step[None, :]
    raw = (width == RAW_WIDTH)[:, None] & (place[:, None] + i[None, :] < room)
    kept = tl.load(planes + place[:, None] + i[None, :], mask=raw, other=0)
    x = tl.where((width == RAW_WIDTH)[:, None], kept.to(tl.float32, bitcast=True), x)
    element = block.to(tl.int64)[:, None] * 32 + i[None, :]
    x = tl.where((width == RAW_WIDTH)[:, None], x, limited(x, values))  # infinities stay
    tl.store(values + element, narrow(x, values), mask=element < count)


# ---- As functions -------------------------------------------------------------------------------


def ceresz_pack(values: torch.Tensor, bound: float) -> tuple[torch.Tensor, torch.Tensor]:
    flat = values.detach().reshape(-1)
    count, limit, device = flat.numel(), tolerance(bound), flat.device
    if count == 0:
        return flat.new_empty(0, dtype=torch.uint8), torch.zeros(
            1, dtype=torch.int64, device=device
        )
    blocks = -(-count // CERESZ_BLOCK)
    packed, widths, planes = _laid_out(ceresz_room(count), blocks, device)
    tile = tile_values()
    each = tile // CERESZ_BLOCK
    staged = torch.empty(blocks * CERESZ_BLOCK, dtype=torch.int32, device=device)
    sums = torch.empty(tiles(blocks, each), dtype=torch.int32, device=device)
    largest = torch.zeros(1, dtype=torch.int32, device=device)
    options = {"num_warps": warps_for(tile), **OPTIONS}
    with on_device_of(flat):
        sample_kernel[tiles(-(-count // SAMPLED), tile)](
            flat, largest, count, STEP=SAMPLED, TILE=tile, **options
        )
        encode_kernel[tiles(blocks, each)](
            flat, largest, packed, widths, staged, sums, count, blocks, limit,
            BLOCKS=each, **options,
        )  # fmt: skip
        ends = sums.cumsum(0, dtype=torch.int64)
        compact_kernel[tiles(blocks, each)](
            widths, staged, ends, planes, blocks, BLOCKS=each, **options
        )
    return packed, 4 * ends[-1:] + (1 + blocks)


def ceresz_unpack(
    packed: torch.Tensor, shape: Sequence[int], dtype: torch.dtype, bound: float
) -> torch.Tensor:
    values = packed.new_empty(shape, dtype=dtype)
    count, limit = math.prod(shape), tolerance(bound)
    if count == 0:
        return values
    blocks = -(-count // CERESZ_BLOCK)
    if packed.numel() < 1 + blocks:
        raise ValueError(f"{packed.numel()} bytes are too few for {blocks} blocks of ceresz")
    if (packed.storage_offset() + 1 + blocks) % 4:  # planes have to be at multiples of 4 bytes
        copy, _, _ = _laid_out(packed.numel(), blocks, packed.device)
        packed = copy.copy_(packed)
    widths, rest = packed[1 : 1 + blocks], packed[1 + blocks :]
    planes = rest[: rest.numel() // 4 * 4].view(torch.int32)
    tile = tile_values()
    each = tile // CERESZ_BLOCK
    sums = torch.empty(tiles(blocks, each), dtype=torch.int32, device=packed.device)
    options = {"num_warps": warps_for(tile), **OPTIONS}
    with on_device_of(packed):
        sum_kernel[tiles(blocks, each)](widths, sums, blocks, BLOCKS=each, **options)
        ends = sums.cumsum(0, dtype=torch.int64)
        decode_kernel[tiles(blocks, each)](
            packed, widths, ends, planes, values.view(-1), count, blocks, planes.numel(), limit,
            BLOCKS=each, **options,
        )  # fmt: skip
    return values


def _laid_out(
    size: int, blocks: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """So many bytes, and in them the widths and the planes, which are at multiples of 4 bytes."""
    shift = -(1 + blocks) % 4
    memory = torch.empty(size + shift + 3, dtype=torch.uint8, device=device)
    packed = memory[shift : shift + size]
    rest = memory[shift + 1 + blocks :]
    planes = rest[: rest.numel() // 4 * 4].view(torch.int32)
    return packed, packed[1 : 1 + blocks], planes
