// How values wait in fewer bytes: signs, quantized groups, casts, chopped DCT, codecs of the
// library, places in pooling windows, the host's memory. Portable forms use multiplication and
// floor, no shifts.
#include <array>

#include "model/emit/functions/functions.h"

namespace tensorpress::model {
namespace {

constexpr std::array kFunctions = std::to_array<EmittedFunction>({
    {"pack_signs", R"(
def pack_signs(x):
    """One bit a value: whether it is above 0."""
    return packing.sign_pack(x.contiguous())
)",
     R"(
def pack_signs(x):
    """One bit a value: whether it is above 0."""
    return pack_codes((x.reshape(-1) > 0).float(), 1)
)"},
    {"mask_by_signs_", R"(
def mask_by_signs_(x, signs, slope=0.0):
    """Times the slope where the bit is not set, in place: where a value was not above 0."""

    def scale_(part, bits):
        factors = packing.sign_unpack(bits, part.shape, x.dtype)
        part.mul_(factors.masked_fill_(factors == 0, slope) if slope else factors)

    if not x.is_contiguous():
        scale_(x, signs)
        return x
    flat, piece = x.view(-1), 1 << 20
    for first in range(0, flat.numel(), piece):
        part = flat[first : first + piece]
        scale_(part, signs[first // 8 : (first + part.numel() + 7) // 8])
    return x
)",
     R"(
def mask_by_signs_(x, signs, slope=0.0):
    """Times the slope where the bit is not set: where a value was not above 0."""
    above = unpack_codes(signs, 1, x.numel()).view(x.shape).to(x.dtype)
    return x * (above + slope * (1 - above))
)"},
    {"pack_inside", R"(
def pack_inside(x, low, high):
    """One bit a value: whether it is between low and high."""
    pieces = x.reshape(-1).split(1 << 20)
    return torch.cat([pack_truths((each > low) * (each < high)) for each in pieces])
)",
     R"(
def pack_inside(x, low, high):
    """One bit a value: whether it is between low and high."""
    return pack_truths((x > low) * (x < high))
)"},
    {"cut_outside",
     R"(
def cut_outside(x, signs, low, high):
    """x where the bit is set, elsewhere the end of the range that is nearer."""
    ends = torch.where(x > (low + high) / 2, high, low)
    return torch.where(unpack_truths(signs, x.shape), x, ends.to(x.dtype))
)",
     {}},
    {"pack_truths", R"(
def pack_truths(x):
    """One bit an element."""
    return packing.sign_pack(x.contiguous())
)",
     R"(
def pack_truths(x):
    """One bit an element."""
    return pack_codes(x.reshape(-1).float(), 1)
)"},
    {"unpack_truths", R"(
def unpack_truths(packed, shape):
    return packing.sign_unpack(packed, shape, torch.bool)
)",
     R"(
def unpack_truths(packed, shape):
    return unpack_codes(packed, 1, math.prod(shape)).view(shape) > 0
)"},
    {"add_unpacked_",
     R"(
def add_unpacked_(x, packed, bits):
    """x + unpack_bits(packed), in place and piece by piece."""
    if packed.dtype != torch.uint8 or not x.is_contiguous():
        return x.add_(unpack_bits(packed, bits, x.shape, x.dtype))
    flat, piece, record = x.view(-1), 1 << 20, 4 + 32 * bits
    for first in range(0, flat.numel(), piece):
        part = flat[first : first + piece]
        bytes_ = packed[first // 256 * record : (first + piece) // 256 * record]
        part.add_(unpack_bits(bytes_, bits, part.shape, x.dtype))
    return x
)",
     {}},
    {"add_unpacked",
     R"(
def add_unpacked(x, packed, bits):
    return x + unpack_bits(packed, bits, x.shape, x.dtype)
)",
     {}},
    {"pack_window", R"(
def pack_window(index, extent, kernel, stride, padding):
    """Where in its window each maximum stood, in few bits."""
    return pool_indices.pack(index, pool_indices.Windows(extent, kernel, stride, padding, (1, 1)))
)",
     R"(
def pack_window(index, extent, kernel, stride, padding):
    """Where in its window each maximum stood, in few bits."""
    rows = torch.arange(index.size(2), device=index.device).view(-1, 1) * stride[0] - padding[0]
    columns = torch.arange(index.size(3), device=index.device) * stride[1] - padding[1]
    place = (index // extent[1] - rows) * kernel[1] + (index % extent[1] - columns)
    return pack_codes(place.reshape(-1).float(), window_bits(kernel))
)"},
    {"unpack_window", R"(
def unpack_window(packed, shape, extent, kernel, stride, padding):
    """PyTorch's indices again."""
    return pool_indices.unpack(packed, shape, pool_indices.Windows(extent, kernel, stride, padding, (1, 1)))
)",
     R"(
def unpack_window(packed, shape, extent, kernel, stride, padding):
    """PyTorch's indices again."""
    place = unpack_codes(packed, window_bits(kernel), math.prod(shape)).view(shape).long()
    rows = torch.arange(shape[2], device=packed.device).view(-1, 1) * stride[0] - padding[0]
    columns = torch.arange(shape[3], device=packed.device) * stride[1] - padding[1]
    return (rows + place // kernel[1]) * extent[1] + columns + place % kernel[1]
)"},
    {"window_bits",
     {},
     R"(
def window_bits(kernel):
    """For a place in a window: 1, 2, 4 or 8."""
    return next(bits for bits in (1, 2, 4, 8) if kernel[0] * kernel[1] <= 2**bits)
)"},
    {"pack_cast", R"(
def pack_cast(x, to):
    """To a smaller floating-point type; too large values become the largest."""
    if to in ("bf16", "f16"):
        return x.to(torch.bfloat16 if to == "bf16" else torch.float16)
    packed = packing.cast_pack(x.contiguous(), to)
    return x.clone() if packed is None else packed
)",
     R"(
def pack_cast(x, to):
    """To a smaller floating-point type; too large values become the largest."""
    types = {"bf16": torch.bfloat16, "f16": torch.float16}
    types |= {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    largest = torch.finfo(types[to]).max
    return x.clamp(-largest, largest).to(types[to])
)"},
    {"unpack_cast", R"(
def unpack_cast(packed, to, shape, dtype):
    if packed.dtype != torch.uint8:
        return packed.to(dtype)
    return packing.cast_unpack(packed, shape, dtype, to)
)",
     R"(
def unpack_cast(packed, to, shape, dtype):
    return packed.to(dtype)
)"},
    {"pack_bounded",
     R"(
def pack_bounded(x, codec, bound, value):
    """By a codec of the library that keeps a bound, here of each element's error."""
    return tensor_codecs.CODECS[codec](bound, value).encode(x, 0)[0]
)",
     {}},
    {"unpack_bounded",
     R"(
def unpack_bounded(packed, codec, bound, value, shape, dtype):
    return tensor_codecs.CODECS[codec](bound, value).decode((packed,), shape, dtype)
)",
     {}},
    {"to_host",
     R"(
def to_host(x):
    """A copy in the host's memory: what is on the device may be overwritten."""
    return x.to("cpu", copy=True)
)",
     {}},
    {"to_device",
     R"(
def to_device(x, like):
    return x.to(like.device, copy=True)
)",
     {}},
    {"pack_chop",
     R"(
def pack_chop(x, cf):
    """The lowest cf x cf of the 8 x 8 DCT coefficients of each block (DCT+Chop), by two products.
    A last short block goes on with its last value."""
    left, right = (chop_matrix(extent, cf, x) for extent in x.shape[-2:])
    for matrix, extent in zip((left, right), x.shape[-2:]):
        matrix[:, extent - 1] = matrix[:, extent - 1 :].sum(1)
    return left[:, : x.shape[-2]] @ x @ right[:, : x.shape[-1]].t()
)",
     {}},
    {"unpack_chop",
     R"(
def unpack_chop(kept, cf, shape):
    left, right = (chop_matrix(extent, cf, kept)[:, :extent] for extent in shape[-2:])
    return left.t() @ kept @ right
)",
     {}},
    {"chop_matrix",
     R"(
def chop_matrix(extent, cf, like):
    """The first cf rows of the orthonormal DCT of 8 elements, for each block of an axis."""
    k, n = torch.arange(cf, dtype=torch.float64).view(-1, 1), torch.arange(8, dtype=torch.float64)
    dct = torch.cos(math.pi / 8 * (n + 0.5) * k) * torch.where(k == 0, 8**-0.5, 0.5)
    return torch.block_diag(*[dct] * ((extent + 7) // 8)).to(like.device, like.dtype)
)",
     {}},
    {"pack_adaptive",
     R"(
def pack_adaptive(x, bits, seed):
    """As many bits as are chosen now: 32 keeps the values, 2 and less are rounded stochastically."""
    if bits == 32:
        return x.clone()
    return pack_bits(x, bits, "stochastic" if bits <= 2 else "nearest", seed)
)",
     {}},
    {"pack_bits", R"(
def pack_bits(x, bits, rounding="nearest", seed=0):
    """Groups of 256 with their own minimum and scale. What cannot be represented stays as it is."""
    values = x.float() if x.dtype == torch.float64 else x
    packed = packing.quantize_pack(values.contiguous(), bits, 256, rounding, seed)
    return x.clone() if packed is None else packed
)",
     R"(
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
)"},
    {"unpack_bits", R"(
def unpack_bits(packed, bits, shape, dtype=torch.float32):
    if packed.dtype != torch.uint8:
        return packed.clone()  # which may be overwritten
    if dtype == torch.float64:
        return packing.quantize_unpack(packed, shape, torch.float32, bits, 256).to(dtype)
    return packing.quantize_unpack(packed, shape, dtype, bits, 256)
)",
     R"(
def unpack_bits(packed, bits, shape, dtype=torch.float32):
    codes, low, scale = packed
    count = math.prod(shape)
    rows = unpack_codes(codes, bits, low.numel() * 256).view(-1, 256).to(low.dtype)
    return torch.addcmul(low, rows, scale).view(-1)[:count].view(shape)
)"},
    {"pack_codes",
     {},
     R"(
def pack_codes(codes, bits):
    """Small whole numbers in bytes, by multiplication and addition only."""
    each = 8 // bits
    missing = -codes.numel() % each
    codes = torch.cat([codes, codes.new_zeros(missing)]).view(-1, each)
    weights = torch.tensor([2.0 ** (bits * i) for i in range(each)], device=codes.device)
    return (codes * weights).sum(1).to(torch.uint8)
)"},
    {"unpack_codes",
     {},
     R"(
def unpack_codes(packed, bits, count):
    """The reverse of pack_codes, by multiplication and floor only."""
    each, rest, codes = 8 // bits, packed.float(), []
    for _ in range(each):
        higher = torch.floor(rest * 2.0**-bits)
        codes.append(rest - higher * 2.0**bits)
        rest = higher
    return torch.stack(codes, 1).view(-1)[:count]
)"},
});

}  // namespace

std::span<const EmittedFunction> packing_functions() {
  return kFunctions;
}

}  // namespace tensorpress::model
