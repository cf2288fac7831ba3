// Packed values for C: tensorpress/pack.h with one options struct for its four kinds.
#include "tensorpress/pack.h"

#include <variant>

#include "c_api/arguments.h"

namespace tensorpress::c_api {
namespace {

using PackOptions = std::variant<QuantizeOptions, CastOptions, MaskOptions, SignOptions>;

Result<PackOptions> quantize_options(const tensorpress_pack_options& given) {
  QuantizeOptions options;
  if (given.bits != 0) options.bits = given.bits;
  if (given.group != 0) options.group = given.group;
  if (given.stochastic != 0 && given.stochastic != 1) {
    return bad_argument("stochastic is ", given.stochastic, "; use 0 or 1");
  }
  options.rounding = given.stochastic == 1 ? Rounding::stochastic : Rounding::nearest;
  options.seed = given.seed;
  options.first_element = given.first_element;
  return PackOptions(options);
}

Result<PackOptions> cast_options(const tensorpress_pack_options& given) {
  switch (given.cast_to) {
    case TENSORPRESS_CAST_F16:
      return PackOptions(CastOptions{CastType::f16});
    case TENSORPRESS_CAST_BF16:
      return PackOptions(CastOptions{CastType::bf16});
    case TENSORPRESS_CAST_E4M3:
      return PackOptions(CastOptions{CastType::e4m3});
    case TENSORPRESS_CAST_E5M2:
      return PackOptions(CastOptions{CastType::e5m2});
    default:
      return bad_argument("cast_to is ", given.cast_to, "; use one of TENSORPRESS_CAST_...");
  }
}

/// NULL: the defaults.
Result<PackOptions> options_of(const tensorpress_pack_options* options) {
  TRY(const auto given, known_options(options, sizeof(tensorpress_pack_options)));
  switch (given.packing) {
    case TENSORPRESS_QUANTIZE:
      return quantize_options(given);
    case TENSORPRESS_CAST:
      return cast_options(given);
    case TENSORPRESS_MASK:
      return PackOptions(MaskOptions{});
    case TENSORPRESS_SIGNS:
      return PackOptions(SignOptions{});
    default:
      return bad_argument("packing is ", given.packing,
                          "; use TENSORPRESS_QUANTIZE, _CAST, _MASK or _SIGNS");
  }
}

/// Of `count` elements; `data` may be NULL only when there are none.
Result<std::size_t> byte_count(const void* data, tensorpress_dtype dtype, std::size_t count,
                               DType& element) {
  TRY(element, dtype_of(dtype));
  if (count > PTRDIFF_MAX / size_of(element)) return too_large(count, " values");
  if (count > 0) RETURN_IF_ERROR(require(data, "values"));
  return count * size_of(element);
}

}  // namespace
}  // namespace tensorpress::c_api

using tensorpress::DType;
using tensorpress::Result;
using tensorpress::c_api::at_border;
using tensorpress::c_api::byte_count;
using tensorpress::c_api::bytes_of;
using tensorpress::c_api::options_of;
using tensorpress::c_api::require;

tensorpress_status tensorpress_packed_size(size_t count, const tensorpress_pack_options* options,
                                           size_t* packed_bytes, tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(packed_bytes, "packed_bytes"));
    TRY(const auto packing, options_of(options));
    TRY(*packed_bytes,
        std::visit([&](const auto& each) { return tensorpress::packed_size(count, each); },
                   packing));
    return {};
  });
}

tensorpress_status tensorpress_pack(const void* values, tensorpress_dtype dtype, size_t count,
                                    const tensorpress_pack_options* options, void* packed,
                                    size_t packed_bytes, int* representable,
                                    tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    RETURN_IF_ERROR(require(representable, "representable"));
    TRY(const auto packing, options_of(options));
    DType element{};
    TRY(const std::size_t bytes, byte_count(values, dtype, count, element));
    if (packed_bytes > 0) RETURN_IF_ERROR(require(packed, "packed"));
    const std::span from(static_cast<const std::byte*>(values), bytes);
    const std::span to(static_cast<std::byte*>(packed), packed_bytes);
    TRY(const auto outcome,
        std::visit([&](const auto& each) { return tensorpress::pack(element, from, each, to); },
                   packing));
    *representable = outcome == tensorpress::PackOutcome::packed ? 1 : 0;
    return {};
  });
}

tensorpress_status tensorpress_unpack(const void* packed, size_t packed_bytes,
                                      const tensorpress_pack_options* options, void* values,
                                      tensorpress_dtype dtype, size_t count,
                                      tensorpress_error* error) {
  return at_border(error, [&]() -> Result<void> {
    TRY(const auto packing, options_of(options));
    DType element{};
    TRY(const std::size_t bytes, byte_count(values, dtype, count, element));
    TRY(const auto from, bytes_of(packed, packed_bytes, "packed"));
    const std::span to(static_cast<std::byte*>(values), bytes);
    return std::visit(
        [&](const auto& each) { return tensorpress::unpack(element, from, each, to); }, packing);
  });
}
