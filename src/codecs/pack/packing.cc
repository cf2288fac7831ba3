#include "codecs/pack/packing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/errors.h"
#include "kernels/bitmask/bitmask.h"
#include "kernels/elements/elements.h"
#include "kernels/fp8/fp8.h"
#include "kernels/magnitude/magnitude.h"
#include "kernels/quantize/group_scale.h"
#include "kernels/quantize/quantize.h"
#include "kernels/stream_copy/stream_copy.h"

namespace tensorpress::packing {
namespace {

constexpr std::size_t kLargestGroup = 65536;
constexpr std::size_t kMaskHeaderBytes = 8;
// Casts go through the first-level cache in pieces of this many values.
constexpr std::size_t kPiece = 2048;

std::size_t count_of(DType dtype, std::size_t bytes) {
  return bytes / size_of(dtype);
}

/// One element as the low bits of a number.
std::uint64_t pattern_at(const std::byte* element, std::size_t bytes) {
  switch (bytes) {
    case 1:
      return static_cast<std::uint64_t>(*element);
    case 2: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, element, sizeof bits);
      return bits;
    }
    case 4: {
      std::uint32_t bits = 0;
      std::memcpy(&bits, element, sizeof bits);
      return bits;
    }
    default: {
      std::uint64_t bits = 0;
      std::memcpy(&bits, element, sizeof bits);
      return bits;
    }
  }
}

/// The first element that is not 0, or 0.
std::uint64_t first_pattern(std::span<const std::byte> values, std::size_t element_bytes) {
  const auto first =
      std::ranges::find_if(values, [](std::byte byte) { return byte != std::byte{0}; });
  if (first == values.end()) return 0;
  const auto offset = static_cast<std::size_t>(first - values.begin());
  return pattern_at(values.data() + offset / element_bytes * element_bytes, element_bytes);
}

std::uint64_t one_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0x3F800000;
    case DType::f64:
      return 0x3FF0000000000000;
    case DType::f16:
      return 0x3C00;
    case DType::bf16:
      return 0x3F80;
    case DType::u8:
    case DType::i16:
      break;
  }
  return 1;
}

bool is_fp8(CastType type) {
  return type == CastType::e4m3 || type == CastType::e5m2;
}

/// Floats to the type and back, with little-endian bytes in between.
class Caster {
 public:
  Caster(Isa isa, CastType type)
      : fp8_(type == CastType::e4m3 ? kernels::e4m3_conversion(isa)
                                    : kernels::e5m2_conversion(isa)),
        half_(kernels::element_conversion(type == CastType::f16 ? DType::f16 : DType::bf16, isa)),
        narrow_to_bytes_(is_fp8(type)) {}

  void narrow(const float* values, std::size_t count, std::byte* packed) const {
    if (narrow_to_bytes_) {
      fp8_.narrow(values, reinterpret_cast<std::uint8_t*>(packed), count);
      return;
    }
    if constexpr (std::endian::native == std::endian::little) {
      half_.store(values, count, packed);
    } else {
      std::array<std::uint16_t, kPiece> halves;
      half_.store(values, count, std::as_writable_bytes(std::span(halves)).data());
      for (std::size_t i = 0; i < count; ++i) halves[i] = little_endian(halves[i]);
      std::memcpy(packed, halves.data(), count * sizeof(std::uint16_t));
    }
  }
  void widen(const std::byte* packed, std::size_t count, float* values) const {
    if (narrow_to_bytes_) {
      fp8_.widen(reinterpret_cast<const std::uint8_t*>(packed), values, count);
      return;
    }
    if constexpr (std::endian::native == std::endian::little) {
      half_.load(packed, count, values);
    } else {
      std::array<std::uint16_t, kPiece> halves;
      std::memcpy(halves.data(), packed, count * sizeof(std::uint16_t));
      for (std::size_t i = 0; i < count; ++i) halves[i] = little_endian(halves[i]);
      half_.load(std::as_bytes(std::span(halves)).data(), count, values);
    }
  }

 private:
  kernels::Fp8Conversion fp8_;
  kernels::ElementConversion half_;
  bool narrow_to_bytes_;
};

std::size_t cast_bytes(CastType type) {
  return is_fp8(type) ? 1 : 2;
}

}  // namespace

float largest_of(CastType type) {
  switch (type) {
    case CastType::f16:
      return 65504;
    case CastType::e4m3:
      return kernels::kLargestE4m3;
    case CastType::e5m2:
      return kernels::kLargestE5m2;
    case CastType::bf16:
      break;
  }
  return 0x1.FEp127f;
}

Result<void> check_groups(const std::byte* packed, std::size_t count,
                          const QuantizeOptions& options) {
  const auto levels = static_cast<float>((1u << options.bits) - 1);
  for (std::size_t i = 0; i < count; i += options.group) {
    const auto grid = kernels::GroupScale::of_header(load_le<std::uint32_t>(packed));
    if (!kernels::is_finite(levels * grid.scale + grid.minimum)) {
      return corrupt("the group of value ", i, " has a minimum or scale that is not finite");
    }
    packed += kernels::quantized_group_bytes(std::min(options.group, count - i), options.bits);
  }
  return {};
}

Result<void> check(DType dtype, const QuantizeOptions& options) {
  if (options.bits < 1 || options.bits > 8 || options.bits == 7) {
    return bad_argument("bits is ", options.bits, "; it must be 1, 2, 3, 4, 5, 6 or 8");
  }
  const std::size_t block = kernels::quantized_block_values(options.bits);
  if (options.group == 0 || options.group > kLargestGroup || options.group % block != 0) {
    return bad_argument("group is ", options.group, "; with ", options.bits,
                        " bits it must be a multiple of ", block, ", at most ", kLargestGroup);
  }
  if (options.first_element % block != 0) {
    return bad_argument("first_element is ", options.first_element, "; with ", options.bits,
                        " bits it must be a multiple of ", block);
  }
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) {
    return unsupported("quantize packs f32, f16 and bf16, and this is ", name_of(dtype),
                       "; convert it to f32 first");
  }
  return {};
}

Result<void> check(DType dtype, const CastOptions& options) {
  if (options.to > CastType::e5m2) {
    return bad_argument("there is no cast number ", static_cast<int>(options.to));
  }
  if (dtype == DType::f32) return {};
  if (is_fp8(options.to) && (dtype == DType::f16 || dtype == DType::bf16)) return {};
  return unsupported("a cast to ",
                     is_fp8(options.to) ? "fp8 takes f32, f16 and bf16" : "16 bits takes f32",
                     ", and this is ", name_of(dtype), "; convert it to f32 first");
}

Result<void> check(DType /*dtype*/, const MaskOptions& /*options*/) {
  return {};
}
Result<void> check(DType /*dtype*/, const SignOptions& /*options*/) {
  return {};
}

bool pack(Isa isa, DType dtype, std::span<const std::byte> values, const QuantizeOptions& options,
          std::byte* packed) {
  const auto kernel =
      kernels::group_quantizer(dtype, options.bits, options.rounding == Rounding::stochastic, isa);
  return kernel.pack(values.data(), count_of(dtype, values.size()), options.group, options.seed,
                     options.first_element, packed);
}

void unpack(Isa isa, DType dtype, const std::byte* packed, const QuantizeOptions& options,
            std::span<std::byte> values, bool past_cache) {
  const auto kernel = kernels::group_quantizer(dtype, options.bits, false, isa);
  kernel.unpack(packed, count_of(dtype, values.size()), options.group, values.data(), past_cache);
}

bool pack(Isa isa, DType dtype, std::span<const std::byte> values, const CastOptions& options,
          std::byte* packed) {
  const Caster caster(isa, options.to);
  const auto measure = kernels::largest_magnitude(isa);
  const auto elements = kernels::element_conversion(dtype, isa);
  const std::size_t count = count_of(dtype, values.size());
  std::uint32_t largest = 0;
  std::array<float, kPiece> widened;
  for (std::size_t i = 0; i < count; i += kPiece) {
    const std::size_t size = std::min(kPiece, count - i);
    const std::byte* const from = values.data() + i * size_of(dtype);
    const auto* floats = reinterpret_cast<const float*>(from);
    if (dtype != DType::f32) {
      elements.load(from, size, widened.data());
      floats = widened.data();
    }
    largest = std::max(largest, measure(floats, size));
    caster.narrow(floats, size, packed + i * cast_bytes(options.to));
  }
  return largest <= std::bit_cast<std::uint32_t>(largest_of(options.to));
}

void unpack(Isa isa, DType dtype, const std::byte* packed, const CastOptions& options,
            std::span<std::byte> values, bool past_cache) {
  const Caster caster(isa, options.to);
  const auto elements = kernels::element_conversion(dtype, isa);
  const auto stream = kernels::stream_copy(isa);
  const std::size_t count = count_of(dtype, values.size());
  std::array<float, kPiece> widened;
  for (std::size_t i = 0; i < count; i += kPiece) {
    const std::size_t size = std::min(kPiece, count - i);
    std::byte* const to = values.data() + i * size_of(dtype);
    const std::byte* const from = packed + i * cast_bytes(options.to);
    if (dtype != DType::f32) {
      caster.widen(from, size, widened.data());
      elements.store(widened.data(), size, to);
    } else if (past_cache) {
      caster.widen(from, size, widened.data());
      stream(reinterpret_cast<const std::byte*>(widened.data()), to, size * sizeof(float));
    } else {
      caster.widen(from, size, reinterpret_cast<float*>(to));
    }
  }
}

bool pack(Isa isa, DType dtype, std::span<const std::byte> values, const MaskOptions& /*options*/,
          std::byte* packed) {
  const std::uint64_t other = first_pattern(values, size_of(dtype));
  store_le(packed, other);
  const std::size_t count = count_of(dtype, values.size());
  if (other == 0) {
    std::memset(packed + kMaskHeaderBytes, 0, (count + 7) / 8);
    return true;
  }
  return kernels::bitmask_kernels(dtype, isa)
      .pack_equal(values.data(), count, other, packed + kMaskHeaderBytes);
}

void unpack(Isa isa, DType dtype, const std::byte* packed, const MaskOptions& /*options*/,
            std::span<std::byte> values, bool past_cache) {
  kernels::bitmask_kernels(dtype, isa)
      .expand(packed + kMaskHeaderBytes, count_of(dtype, values.size()),
              load_le<std::uint64_t>(packed), values.data(), past_cache);
}

bool pack(Isa isa, DType dtype, std::span<const std::byte> values, const SignOptions& /*options*/,
          std::byte* packed) {
  kernels::bitmask_kernels(dtype, isa)
      .pack_positive(values.data(), count_of(dtype, values.size()), packed);
  return true;
}

void unpack(Isa isa, DType dtype, const std::byte* packed, const SignOptions& /*options*/,
            std::span<std::byte> values, bool past_cache) {
  kernels::bitmask_kernels(dtype, isa)
      .expand(packed, count_of(dtype, values.size()), one_of(dtype), values.data(), past_cache);
}

}  // namespace tensorpress::packing
