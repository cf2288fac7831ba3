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
    return x.mul_(packing.sign_unpack(signs, x.shape, x.dtype))
)",
     R"(
def mask_by_signs_(x, signs):
    """Zero where the value that the signs were taken of was not above 0."""
    return x * unpack_codes(signs, 1, x.numel()).view(x.shape).to(x.dtype)
)"},
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
    {"pack_cast", R"(
def pack_cast(x, to):
    return x.to(to)
)",
     R"(
def pack_cast(x, to):
    return x.to(to)
)"},
    {"pack_codes", "",
     R"(
def pack_codes(codes, bits):
    """Small whole numbers in bytes, by multiplication and addition only."""
    each = 8 // bits
    missing = -codes.numel() % each
    codes = torch.cat([codes, codes.new_zeros(missing)]).view(-1, each)
    weights = torch.tensor([2.0 ** (bits * i) for i in range(each)], device=codes.device)
    return (codes * weights).sum(1).to(torch.uint8)
)"},
    {"unpack_codes", "",
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

}  // namespace

std::string pack_expression(const Storing& storing, const std::string& variable, ValueId seed) {
  switch (storing.kind) {
    case Storing::Kind::quantize:
      if (storing.stochastic) {
        return text("pack_bits(", variable, ", ", storing.bits, ", \"stochastic\", seed + ", seed,
                    ")");
      }
      return text("pack_bits(", variable, ", ", storing.bits, ")");
    case Storing::Kind::cast:
      return text("pack_cast(", variable, ", torch.", storing.type, ")");
    default:
      return variable;
  }
}

std::string unpack_expression(const Storing& storing, const std::string& stored,
                              const TensorType& type) {
  switch (storing.kind) {
    case Storing::Kind::quantize:
      return text("unpack_bits(", stored, ", ", storing.bits, ", ", to_python(type.shape), ")");
    case Storing::Kind::cast:
      return text(stored, ".to(", torch_name(type.element), ")");
    default:
      return stored;
  }
}

std::string packing_functions(const std::string& code, bool native) {
  std::string all = code;
  std::string functions;
  for (const Function& each : kFunctions) {
    if (!mentions(all, each.name)) continue;
    const std::string_view body = native ? each.native : each.portable;
    functions += text("\n", body);
    all += body;
  }
  return functions;
}

}  // namespace tensorpress::model
