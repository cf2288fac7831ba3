// The public calls of tensorpress/pack.h: sizes and arguments checked, the instruction set chosen.
#include "tensorpress/pack.h"

#include <bit>
#include <cstdint>

#include "base/errors.h"
#include "base/tensor/half_types.h"
#include "codecs/pack/packing.h"
#include "kernels/bitmask/bitmask.h"
#include "kernels/quantize/quantize.h"

namespace tensorpress {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 59;  // as many as a tensor may have
constexpr std::size_t kPastCacheFrom = std::size_t{16} << 20;

Result<void> check_count(std::size_t count) {
  if (count > kMostValues) return too_large(count, " values are more than 2^59");
  return {};
}

Result<void> check_values(DType dtype, const std::byte* data, std::size_t bytes) {
  const std::size_t size = size_of(dtype);
  if (size == 0) return bad_argument("there is no dtype number ", static_cast<int>(dtype));
  if (bytes % size != 0) {
    return bad_argument("the values have ", bytes, " bytes, which is not a multiple of the ", size,
                        " bytes of ", name_of(dtype));
  }
  if (reinterpret_cast<std::uintptr_t>(data) % size != 0) {
    return bad_argument("the values are not aligned to the ", size, " bytes of ", name_of(dtype),
                        "; copy them to aligned memory first");
  }
  return {};
}

template <class Options>
Result<void> check_call(DType dtype, const std::byte* values, std::size_t value_bytes,
                        const Options& options, std::size_t packed_bytes) {
  RETURN_IF_ERROR(check_values(dtype, values, value_bytes));
  RETURN_IF_ERROR(packing::check(dtype, options));
  const std::size_t count = value_bytes / size_of(dtype);
  TRY(const std::size_t expected, packed_size(count, options));
  if (packed_bytes != expected) {
    return bad_argument("the packed bytes are ", packed_bytes, "; ", count, " values take ",
                        expected, " (packed_size)");
  }
  return {};
}

template <class Options>
Result<PackOutcome> checked_pack(DType dtype, std::span<const std::byte> values,
                                 const Options& options, std::span<std::byte> packed) {
  RETURN_IF_ERROR(check_call(dtype, values.data(), values.size(), options, packed.size()));
  TRY(const Isa isa, active_isa());
  return packing::pack(isa, dtype, values, options, packed.data()) ? PackOutcome::packed
                                                                   : PackOutcome::not_representable;
}

template <class Options>
Result<void> checked_unpack(DType dtype, std::span<const std::byte> packed, const Options& options,
                            std::span<std::byte> values, Stores stores) {
  RETURN_IF_ERROR(check_call(dtype, values.data(), values.size(), options, packed.size()));
  TRY(const Isa isa, active_isa());
  const bool past_cache =
      stores == Stores::automatic ? values.size() >= kPastCacheFrom : stores == Stores::past_cache;
  packing::unpack(isa, dtype, packed.data(), options, values, past_cache);
  return {};
}

}  // namespace

Result<std::size_t> packed_size(std::size_t count, const QuantizeOptions& options) {
  RETURN_IF_ERROR(packing::check(DType::f32, options));
  RETURN_IF_ERROR(check_count(count));
  const std::size_t rest = count % options.group;
  return count / options.group * kernels::quantized_group_bytes(options.group, options.bits) +
         (rest == 0 ? 0 : kernels::quantized_group_bytes(rest, options.bits));
}
Result<std::size_t> packed_size(std::size_t count, const CastOptions& options) {
  RETURN_IF_ERROR(packing::check(DType::f32, options));
  RETURN_IF_ERROR(check_count(count));
  return options.to == CastType::e4m3 || options.to == CastType::e5m2 ? count : 2 * count;
}
Result<std::size_t> packed_size(std::size_t count, const MaskOptions& /*options*/) {
  RETURN_IF_ERROR(check_count(count));
  return 8 + (count + 7) / 8;
}
Result<std::size_t> packed_size(std::size_t count, const SignOptions& /*options*/) {
  RETURN_IF_ERROR(check_count(count));
  return (count + 7) / 8;
}

Result<PackOutcome> pack(DType dtype, std::span<const std::byte> values,
                         const QuantizeOptions& options, std::span<std::byte> packed) {
  return checked_pack(dtype, values, options, packed);
}
Result<PackOutcome> pack(DType dtype, std::span<const std::byte> values, const CastOptions& options,
                         std::span<std::byte> packed) {
  return checked_pack(dtype, values, options, packed);
}
Result<PackOutcome> pack(DType dtype, std::span<const std::byte> values, const MaskOptions& options,
                         std::span<std::byte> packed) {
  return checked_pack(dtype, values, options, packed);
}
Result<PackOutcome> pack(DType dtype, std::span<const std::byte> values, const SignOptions& options,
                         std::span<std::byte> packed) {
  return checked_pack(dtype, values, options, packed);
}

Result<void> unpack(DType dtype, std::span<const std::byte> packed, const QuantizeOptions& options,
                    std::span<std::byte> values, Stores stores) {
  return checked_unpack(dtype, packed, options, values, stores);
}
Result<void> unpack(DType dtype, std::span<const std::byte> packed, const CastOptions& options,
                    std::span<std::byte> values, Stores stores) {
  return checked_unpack(dtype, packed, options, values, stores);
}
Result<void> unpack(DType dtype, std::span<const std::byte> packed, const MaskOptions& options,
                    std::span<std::byte> values, Stores stores) {
  return checked_unpack(dtype, packed, options, values, stores);
}
Result<void> unpack(DType dtype, std::span<const std::byte> packed, const SignOptions& options,
                    std::span<std::byte> values, Stores stores) {
  return checked_unpack(dtype, packed, options, values, stores);
}

Result<void> restore_signs(DType dtype, std::span<const std::byte> packed,
                           std::span<std::byte> values) {
  RETURN_IF_ERROR(check_call(dtype, values.data(), values.size(), SignOptions{}, packed.size()));
  std::uint64_t small = 0;
  switch (dtype) {
    case DType::f32:
      small = std::bit_cast<std::uint32_t>(0x1p-63f);
      break;
    case DType::bf16:
      small = float_to_bf16(0x1p-63f);
      break;
    case DType::f16:
      small = float_to_f16(0x1p-24f);
      break;
    default:
      return unsupported("signs are restored in f32, f16 and bf16, and this is ", name_of(dtype));
  }
  TRY(const Isa isa, active_isa());
  kernels::bitmask_kernels(dtype, isa)
      .restore_positive(packed.data(), values.size() / size_of(dtype), small, values.data());
  return {};
}

}  // namespace tensorpress
