#include "model/packing.h"

#include <array>

#include "base/errors.h"

namespace tensorpress::model {
namespace {

/// A function of the emitted file and those it calls itself.
struct Function {
  std::string_view name;
  std::string_view native;
  std::string_view portable;
};

constexpr std::array kFunctions = std::to_array<Function>({
    {"pack_signs", R"(
def pack_signs(x):
    """One bit a value: whether it is above 0."""
    return packing.sign_pack(x.contiguous())
)",
     R"(
def pack_signs(x):
    """One bit a value: whether it is above 0."""
    return pack_codes((x > 0).float(), 1)
)"},
    {"mask_by_signs_", R"(
def mask_by_signs_(x, signs):
    """Zero where the value that the signs were taken of was not above 0; in place."""
    if not x.is_contiguous():
        return x.mul_(packing.sign_unpack(signs, x.shape, x.dtype))
    flat, piece = x.view(-1), 1 << 20
    for first in range(0, flat.numel(), piece):
        part = flat[first : first + piece]
        bits = signs[first // 8 : (first + part.numel() + 7) // 8]
        part.mul_(packing.sign_unpack(bits, part.shape, x.dtype))
    return x
)",
     R"(
def mask_by_signs_(x, signs):
    """Zero where the value that the signs were taken of was not above 0."""
    return x * unpack_codes(signs, 1, x.numel()).view(x.shape).to(x.dtype)
)"},
    {"tick", R"(
def tick(B, name):
    if name in B:
        B[name] += 1
)",
     R"(
def tick(B, name):
    if name in B:
        B[name] += 1
)"},
    {"normalize_", R"(
def normalize_(x, running_mean, running_var, training, momentum, eps):
    """Every channel to mean 0 and variance 1, in place; the means and the inverse deviations."""
    mean, rstd = x.new_empty(x.size(1)), x.new_empty(x.size(1))
    aten.native_batch_norm.out(
        x, None, None, running_mean, running_var, training, momentum, eps,
        out=x, save_mean=mean, save_invstd=rstd,
    )
    return x, mean, rstd
)",
     R"(
def normalize_(x, running_mean, running_var, training, momentum, eps):
    """Every channel to mean 0 and variance 1; the means and the inverse deviations."""
    return aten.native_batch_norm(
        x, None, None, running_mean, running_var, training, momentum, eps
    )
)"},
    {"conv_slices",
     R"(
def conv_slices(convolution, samples, x, *arguments, y=None):
    """So many samples of the batch at a time, which needs less memory besides; y may be something
    that x is made of."""
    count = x.shape[0]
    for first in range(0, count, samples):
        part = slice(first, min(first + samples, count))
        y_part = convolution(x[part], *arguments)
        if y is None:
            y = y_part.new_empty((count, *y_part.shape[1:]))
        y[part] = y_part
        del y_part
    return y
)",
     {}},
    {"conv_slices_",
     R"(
def conv_slices_(convolution, samples, x, *arguments):
    """The same in the memory of x."""
    for first in range(0, x.size(0), samples):
        part = x[first : first + samples]
        part.copy_(convolution(part, *arguments))
    return x
)",
     {}},
    {"conv_backward_slices",
     R"(
def conv_backward_slices(samples, gradient, x, d_x, weight, bias, *geometry, add=False):
    """aten.convolution_backward, so many samples at a time. The gradient of x goes to d_x, which
    may be in the memory of x or, if it is not larger, of the gradient; or it is added to d_x.
    What is concatenated in x has weights of its own and is worked on by itself."""
    *geometry, (wanted, _, biased) = geometry
    if d_x is None and wanted:
        d_x = gradient.new_empty(x.shape)
    pieces = [(x, d_x, slice(0, weight.size(1)))]
    transposed, groups = geometry[3], geometry[5]
    if getattr(x, "pieces", None) and hasattr(d_x, "beside") and groups == 1 and not transposed:
        pieces = d_x.beside(x.pieces, gradient)
    d_weight, d_bias = torch.zeros_like(weight), None
    for first in range(0, x.shape[0], samples):
        part = slice(first, min(first + samples, x.shape[0]))
        for number, (x_piece, d_piece, channels) in enumerate(pieces):
            more_x, more, more_bias = aten.convolution_backward(
                gradient[part], x_piece[part], weight[:, channels], bias, *geometry,
                [wanted, True, biased and number == 0],
            )
            if add:
                d_piece[part] += more_x
            elif d_piece is not None:
                d_piece[part] = more_x
            d_weight[:, channels] += more
            if biased and number == 0:
                d_bias = more_bias if d_bias is None else d_bias.add_(more_bias)
            del more_x, more, more_bias
    return d_x, d_weight, d_bias
)",
     {}},
    {"masked_slices",
     R"(
def masked_slices(x, signs):
    """mask_by_signs_, slice by slice of the batch."""
    each = math.prod(x.shape[1:]) // 8
    return Slices(
        x.shape,
        lambda part: mask_by_signs_(x[part], signs[part.start * each : part.stop * each]),
    )
)",
     {}},
    {"affine_slices",
     R"(
def affine_slices(normal, weight, bias):
    """bias + weight * normal of every channel, slice by slice of the batch."""
    weight, bias = (each.view(-1, *[1] * (len(normal.shape) - 2)) for each in (weight, bias))
    return Slices(normal.shape, lambda part: torch.addcmul(bias, normal[part], weight))
)",
     {}},
    {"unpack_slices",
     R"(
def unpack_slices(packed, bits, shape):
    """unpack_bits, slice by slice of the batch; a sample is whole groups."""
    if packed.dtype != torch.uint8:
        return Slices(shape, lambda part: packed[part].clone())
    each = math.prod(shape[1:]) // 256 * (4 + 32 * bits)

    def decode(part):
        samples = (part.stop - part.start, *shape[1:])
        return unpack_bits(packed[part.start * each : part.stop * each], bits, samples)

    return Slices(shape, decode)
)",
     {}},
    {"cast_slices",
     R"(
def cast_slices(packed, dtype):
    """The values in their own type, slice by slice of the batch."""
    return Slices(packed.shape, lambda part: packed[part].to(dtype))
)",
     {}},
    {"cat_slices",
     R"(
def cat_slices(xs, axis, shape):
    """torch.cat, slice by slice of the batch."""
    cat = Slices(shape, lambda part: torch.cat([x[part] for x in xs], axis))
    cat.pieces = xs if axis == 1 else None
    return cat
)",
     {}},
    {"mapped_slices",
     R"(
def mapped_slices(x, function, shape):
    """A function of x, slice by slice of the batch."""
    return Slices(shape, lambda part: function(x[part]))
)",
     {}},
    {"Slices",
     R"(
class Slices:
    """A value of which slices of the batch are decoded when they are read: x[a:b]."""

    def __init__(self, shape, decode):
        self.shape, self.decode = shape, decode

    def __getitem__(self, part):
        return self.decode(part)
)",
     {}},
    {"CatSink",
     R"(
class CatSink:
    """Takes slices of the gradient of torch.cat(xs, axis), and puts each part where that of x goes."""

    def __init__(self, sinks, extents, axis):
        self.sinks, self.extents, self.axis = sinks, extents, axis

    def __setitem__(self, part, gradient):
        for sink, piece in zip(self.sinks, gradient.split(self.extents, self.axis)):
            sink[part] = piece

    def beside(self, xs, read):
        """Each x, where its gradient goes, and its channels; what is in the memory of the gradient
        that is read comes last."""
        ends = [sum(self.extents[: i + 1]) for i in range(len(xs))]
        channels = [slice(end - extent, end) for end, extent in zip(ends, self.extents)]
        return sorted(zip(xs, self.sinks, channels), key=lambda piece: piece[1] is read)
)",
     {}},
    {"MappedSink",
     R"(
class MappedSink:
    """Takes slices of the gradient of a function, and puts those of its input where they go."""

    def __init__(self, sink, backward):
        self.sink, self.backward = sink, backward

    def __setitem__(self, part, gradient):
        self.sink[part] = self.backward(gradient)
)",
     {}},
    {"add_unpacked_",
     R"(
def add_unpacked_(x, packed, bits):
    """x + unpack_bits(packed), in place and piece by piece."""
    if packed.dtype != torch.uint8 or not x.is_contiguous():
        return x.add_(unpack_bits(packed, bits, x.shape))
    flat, piece, record = x.view(-1), 1 << 20, 4 + 32 * bits
    for first in range(0, flat.numel(), piece):
        part = flat[first : first + piece]
        bytes_ = packed[first // 256 * record : (first + piece) // 256 * record]
        part.add_(unpack_bits(bytes_, bits, part.shape))
    return x
)",
     {}},
    {"add_unpacked",
     R"(
def add_unpacked(x, packed, bits):
    return x + unpack_bits(packed, bits, x.shape)
)",
     {}},
    {"batch_norm_backward_packed",
     R"(
def batch_norm_backward_packed(gradient, packed, bits, weight, rstd, in_place=False):
    """batch_norm_backward slice by slice of the batch, from packed normalized values."""
    count, each = gradient.size(0), gradient[0].numel()
    normal, samples = unpack_slices(packed, bits, gradient.shape), max(1, (1 << 20) // each)
    parts = [slice(i, min(i + samples, count)) for i in range(0, count, samples)]
    over, column = [0, *range(2, gradient.dim())], (-1, *[1] * (gradient.dim() - 2))
    d_weight, d_bias = torch.zeros_like(weight), torch.zeros_like(weight)
    for part in parts:
        d_bias += gradient[part].sum(over)
        d_weight += normal[part].mul_(gradient[part]).sum(over)
    scale = weight * rstd
    mean = -scale / (gradient.numel() // weight.numel())
    shift, slope, scale = (each.view(column) for each in (d_bias * mean, d_weight * mean, scale))
    d_x = gradient if in_place else torch.empty_like(gradient)
    for part in parts:
        torch.addcmul(shift, gradient[part], scale, out=d_x[part]).addcmul_(normal[part], slope)
    return d_x, d_weight, d_bias
)",
     {}},
    {"batch_norm_backward",
     R"(
def batch_norm_backward(gradient, normal, weight, rstd, mask):
    """From the normalized values: an input of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    return aten.native_batch_norm_backward(
        gradient, normal, weight * rstd, None, None, zeros, ones, True, 0.0, mask
    )
)",
     {}},
    {"layer_norm_backward", R"(
def layer_norm_backward(gradient, normal, features, rstd, weight, bias, mask):
    """From the normalized values: rows of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    d_x, d_weight, d_bias = aten.native_layer_norm_backward(
        gradient, normal, features, zeros, ones, weight, bias, mask
    )
    return d_x.mul_(rstd) if mask[0] else None, d_weight, d_bias
)",
     R"(
def layer_norm_backward(gradient, normal, features, rstd, weight, bias, mask):
    """From the normalized values: rows of mean 0 and deviation 1."""
    zeros, ones = torch.zeros_like(rstd), torch.ones_like(rstd)
    d_x, d_weight, d_bias = aten.native_layer_norm_backward(
        gradient, normal, features, zeros, ones, weight, bias, mask
    )
    return d_x * rstd if mask[0] else None, d_weight, d_bias
)"},
    {"cross_entropy_backward_",
     R"(
def cross_entropy_backward_(log, labels, scale):
    """Probabilities less 1 at the label, times the scale, in the memory of their logarithms."""
    counted = labels != -100
    rows = torch.arange(log.size(0), device=log.device)
    log.exp_()[rows, labels.clamp_min(0)] -= 1
    return log.mul_((scale * counted).unsqueeze(1))
)",
     {}},
    {"local_response_norm_backward", R"(
def local_response_norm_backward(gradient, x, size, alpha, beta, k):
    def over_neighbours(t, left, right):
        padded = F.pad(t.unsqueeze(1), (0, 0, 0, 0, left, right))
        return F.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1)

    half = size // 2
    d = over_neighbours(x * x, half, (size - 1) // 2) * alpha + k
    back = over_neighbours(gradient * x / d.pow(beta + 1), (size - 1) // 2, half)
    return gradient / d.pow(beta) - (2 * alpha * beta) * x * back
)",
     R"(
def local_response_norm_backward(gradient, x, size, alpha, beta, k):
    def over_neighbours(t, left, right):
        padded = F.pad(t.unsqueeze(1), (0, 0, 0, 0, left, right))
        return F.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1)

    half = size // 2
    d = over_neighbours(x * x, half, (size - 1) // 2) * alpha + k
    back = over_neighbours(gradient * x / d.pow(beta + 1), (size - 1) // 2, half)
    return gradient / d.pow(beta) - (2 * alpha * beta) * x * back
)"},
    {"sparse_max",
     R"(
def sparse_max(a, x):
    """The largest product of each row and column, and its place, which PyTorch finds only for
    autograd."""
    with torch.enable_grad():
        y, winner = aten._sparse_mm_reduce_impl(a, x.detach().requires_grad_(), "amax")
    return y.detach(), winner
)",
     {}},
    {"dropout_noise", R"(
def dropout_noise(like, keep, seed):
    """The same for the same seed: nothing needs to be kept."""
    generator = torch.Generator(like.device).manual_seed(seed)
    noise = torch.empty(like.shape, dtype=like.dtype, device=like.device)  # whatever its strides
    return noise.bernoulli_(keep, generator=generator).div_(keep)
)",
     R"(
def dropout_noise(like, keep, seed):
    """The same for the same seed: nothing needs to be kept. By multiplication and floor only."""
    number = torch.arange(like.numel(), device=like.device, dtype=torch.float64)
    for factor in (0.6180339887498949, 0.7548776662466927):
        number = (number + seed % 1000003 + 1) * factor
        number = (number - torch.floor(number)) * 99991.0
    chosen = torch.floor(number - torch.floor(number) + keep)
    return (chosen / keep).to(like.dtype).view(like.shape)
)"},
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
    packed = packing.quantize_pack(x.contiguous(), bits, 256, rounding, seed)
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
    shift = torch.rand_like(rows) if rounding == "stochastic" else 0.5
    codes = torch.floor((rows - low) / scale + shift).clamp(0, 2**bits - 1)
    return pack_codes(codes.view(-1).float(), bits), low, scale
)"},
    {"unpack_bits", R"(
def unpack_bits(packed, bits, shape, dtype=torch.float32):
    if packed.dtype != torch.uint8:
        return packed
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

bool mentions(const std::string& code, std::string_view name) {
  for (std::size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : code[at - 1];
    const bool inside = std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_';
    if (!inside && code.compare(at + name.size(), 1, "(") == 0) return true;
  }
  return false;
}

std::string bound_arguments(const Storing& storing) {
  return text("\"", storing.codec, "\", \"", storing.bound, "\", ", storing.bound_value);
}

}  // namespace

std::string pack_expression(const Storing& storing, const std::string& bits,
                            const std::string& variable, ValueId seed) {
  switch (storing.kind) {
    case Storing::Kind::quantize:
      if (bits != text(storing.bits)) {
        return text("pack_adaptive(", variable, ", ", bits, ", seed + ", seed, ")");
      }
      if (storing.stochastic) {
        return text("pack_bits(", variable, ", ", bits, ", \"stochastic\", seed + ", seed, ")");
      }
      return text("pack_bits(", variable, ", ", bits, ")");
    case Storing::Kind::cast:
      return text("pack_cast(", variable, ", \"", storing.type, "\")");
    case Storing::Kind::chop:
      return text("pack_chop(", variable, ", ", storing.chop_factor, ")");
    case Storing::Kind::bounded:
      return text("pack_bounded(", variable, ", ", bound_arguments(storing), ")");
    default:
      return variable;
  }
}

std::string unpack_expression(const Storing& storing, const std::string& bits,
                              const std::string& stored, const TensorType& type) {
  switch (storing.kind) {
    case Storing::Kind::quantize:
      return text("unpack_bits(", stored, ", ", bits, ", ", to_python(type.shape), ")");
    case Storing::Kind::cast:
      return text("unpack_cast(", stored, ", \"", storing.type, "\", ", to_python(type.shape), ", ",
                  torch_name(type.element), ")");
    case Storing::Kind::chop:
      return text("unpack_chop(", stored, ", ", storing.chop_factor, ", ", to_python(type.shape),
                  ")");
    case Storing::Kind::bounded:
      return text("unpack_bounded(", stored, ", ", bound_arguments(storing), ", ",
                  to_python(type.shape), ", ", torch_name(type.element), ")");
    default:
      return stored;
  }
}

std::string unpack_slices_expression(const Storing& storing, const std::string& bits,
                                     const std::string& stored, const TensorType& type) {
  if (storing.kind == Storing::Kind::cast) {
    return text("cast_slices(", stored, ", ", torch_name(type.element), ")");
  }
  return text("unpack_slices(", stored, ", ", bits, ", ", to_python(type.shape), ")");
}

std::vector<std::string_view> packing_function_names() {
  std::vector<std::string_view> names;
  for (const Function& each : kFunctions) names.push_back(each.name);
  return names;
}

std::string packing_functions(const std::string& code, bool native) {
  const auto body = [&](const Function& each) {
    const bool own = native ? !each.native.empty() : each.portable.empty();
    return own ? each.native : each.portable;
  };
  std::array<bool, kFunctions.size()> wanted{};
  std::string all = code;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < kFunctions.size(); ++i) {
      if (wanted[i] || !mentions(all, kFunctions[i].name)) continue;
      wanted[i] = more = true;
      all += body(kFunctions[i]);
    }
  }
  std::string functions;
  for (std::size_t i = 0; i < kFunctions.size(); ++i) {
    if (wanted[i]) functions += text("\n", body(kFunctions[i]));
  }
  return functions;
}

}  // namespace tensorpress::model
