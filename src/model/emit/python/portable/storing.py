# In place of the functions of ../storing.py with these names: PyTorch's operators only, by
# multiplication and floor, without shifts.
import math

import torch
from gradients import seeded_noise


# needs: pack_codes
# operators: reshape, to
def pack_signs(x):
    """One bit a value: whether it is above 0."""
    return pack_codes((x.reshape(-1) > 0).float(), 1)


# needs: unpack_codes
# operators: view, to, mul
def mask_by_signs_(x, signs, slope=0.0):
    """Times the slope where the bit is not set: where a value was not above 0."""
    above = unpack_codes(signs, 1, x.numel()).view(x.shape).to(x.dtype)
    return x * (above + slope * (1 - above))


# needs: pack_truths
def pack_inside(x, low, high):
    """One bit a value: whether it is between low and high."""
    return pack_truths((x > low) * (x < high))


# needs: pack_codes
# operators: reshape, to
def pack_truths(x):
    """One bit an element."""
    return pack_codes(x.reshape(-1).float(), 1)


# needs: unpack_codes
# operators: view, gt
def unpack_truths(packed, shape):
    return unpack_codes(packed, 1, math.prod(shape)).view(shape) > 0


# needs: window_bits, pack_codes
# operators: arange 2, view, mul 3, sub 2, add, reshape, to
def pack_window(index, extent, kernel, stride, padding):
    """Where in its window each maximum stood, in few bits."""
    rows = torch.arange(index.size(2), device=index.device).view(-1, 1) * stride[0] - padding[0]
    columns = torch.arange(index.size(3), device=index.device) * stride[1] - padding[1]
    place = (index // extent[1] - rows) * kernel[1] + (index % extent[1] - columns)
    return pack_codes(place.reshape(-1).float(), window_bits(kernel))


# needs: window_bits, unpack_codes
# operators: view 2, to, arange 2, mul 3, sub 2, add 2
def unpack_window(packed, shape, extent, kernel, stride, padding):
    """PyTorch's indices again."""
    place = unpack_codes(packed, window_bits(kernel), math.prod(shape)).view(shape).long()
    rows = torch.arange(shape[2], device=packed.device).view(-1, 1) * stride[0] - padding[0]
    columns = torch.arange(shape[3], device=packed.device) * stride[1] - padding[1]
    return (rows + place // kernel[1]) * extent[1] + columns + place % kernel[1]


def window_bits(kernel):
    """For a place in a window: 1, 2, 4 or 8."""
    return next(bits for bits in (1, 2, 4, 8) if kernel[0] * kernel[1] <= 2**bits)


# operators: finfo, clamp, to
# types: float16, bfloat16
def pack_cast(x, to):
    """To a smaller floating-point type; too large values become the largest."""
    types = {"bf16": torch.bfloat16, "f16": torch.float16}
    types |= {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    largest = torch.finfo(types[to]).max
    return x.clamp(-largest, largest).to(types[to])


# operators: to
def unpack_cast(packed, to, shape, dtype):
    return packed.to(dtype)


# needs: pack_codes, seeded_noise
# operators: reshape, cat, expand, view 3, amin, amax, clamp_min, to 2, floor, clamp
def pack_bits(x, bits, rounding="nearest", seed=0):
    """Groups of 256 with their own minimum and scale, as one tensor of bytes and two of float."""
    flat = x.reshape(-1)
    missing = -flat.numel() % 256
    rows = torch.cat([flat, flat[-1:].expand(missing)]).view(-1, 256)
    low = rows.amin(1, keepdim=True)
    scale = ((rows.amax(1, keepdim=True) - low) / (2**bits - 1)).clamp_min(2.0**-112)
    shift = 0.5
    if rounding == "stochastic":
        shift = seeded_noise(rows.numel(), seed, x.device).to(rows.dtype).view(rows.shape)
    codes = torch.floor((rows - low) / scale + shift).clamp(0, 2**bits - 1)
    return pack_codes(codes.view(-1).float(), bits), low, scale


# needs: unpack_codes
# operators: view 3, to, addcmul
def unpack_bits(packed, bits, shape, dtype=torch.float32):
    codes, low, scale = packed
    count = math.prod(shape)
    rows = unpack_codes(codes, bits, low.numel() * 256).view(-1, 256).to(low.dtype)
    return torch.addcmul(low, rows, scale).view(-1)[:count].view(shape)


# operators: cat, new_zeros, view, to 2, sum, floor
# types: uint8
def pack_codes(codes, bits):
    """Small whole numbers in bytes, by multiplication, addition and floor only. Of those of 3, 5 and
    6 bits the low 2 or 4 bits come first, then the high ones."""
    if 8 % bits:
        low = 4 if bits > 4 else 2
        high = torch.floor(codes * 2.0**-low)
        parts = pack_codes(codes - high * 2.0**low, low), pack_codes(high, bits - low)
        return torch.cat(parts)
    each = 8 // bits
    missing = -codes.numel() % each
    codes = torch.cat([codes, codes.new_zeros(missing)]).view(-1, each)
    weights = torch.tensor([2.0 ** (bits * i) for i in range(each)], device=codes.device)
    return (codes * weights).sum(1).to(torch.uint8)


# operators: to, floor, stack, view
def unpack_codes(packed, bits, count):
    """The reverse of pack_codes, by multiplication and floor only."""
    if 8 % bits:
        low = 4 if bits > 4 else 2
        split = -(-count * low // 8)
        high = unpack_codes(packed[split:], bits - low, count) * 2.0**low
        return unpack_codes(packed[:split], low, count) + high
    each, rest, codes = 8 // bits, packed.float(), []
    for _ in range(each):
        higher = torch.floor(rest * 2.0**-bits)
        codes.append(rest - higher * 2.0**bits)
        rest = higher
    return torch.stack(codes, 1).view(-1)[:count]
