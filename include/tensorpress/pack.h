// Values packed into fewer bits in the caller's memory, without a container: for those who keep the
// bytes themselves, such as activations between forward and backward. Sizes are known beforehand,
// nothing is allocated or kept between calls, and any number of threads may call at once. The bytes
// are the same on every machine, instruction set and thread; docs/format.md describes them.
//
//   const QuantizeOptions four_bits{.bits = 4, .rounding = Rounding::stochastic, .seed = step};
//   const auto size = packed_size(count, four_bits);
//   if (!size.ok()) return size.error();
//   std::vector<std::byte> packed(*size);
//   const auto outcome = pack(DType::f32, values, four_bits, packed);
//   if (!outcome.ok()) return outcome.error();
//   if (*outcome == PackOutcome::packed) return unpack(DType::f32, packed, four_bits, values);
//
// Values are contiguous elements of a dtype, given as bytes that are aligned as the elements need
// it; packed bytes may lie anywhere. Wrong sizes, types and options are errors; hostile packed
// bytes give some values, never harm.
//
// To use several threads, cut the values at multiples of `granularity(options)` elements and give
// each call its part: the parts' packed bytes, one after the other, are those of the whole (set
// QuantizeOptions::first_element; a mask is the exception, it cannot be cut).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "tensorpress/api.h"
#include "tensorpress/dtype.h"
#include "tensorpress/result.h"

namespace tensorpress {

enum class Rounding : std::uint8_t {
  nearest,
  stochastic  // up with the probability of the remainder: unbiased
};

/// Per group of values a minimum and a scale in 4 bytes together, and a code of `bits` bits a
/// value: the value is minimum + code * scale. Takes f32, f16 and bf16.
///
/// - The error is at most scale / 2 (nearest) or below scale (stochastic), and scale is at most
///   1.04 (max - min + 2^-10 |min|) / (2^bits - 1), or 2^-112 if that is more. In f16 and bf16 the
///   rounding of the result to its type comes on top.
/// - In a group whose minimum is 0, such as one of a ReLU's output, zeros stay zero; a group in
///   which all values are equal comes back within 2^-10 of it, or 2^-112 if that is more, exactly
///   if the value has at most 11 significant bits. (1 bit nearest promises neither.)
/// - 1 bit, nearest: the group's two conditional means, of the values above its mean and of the
///   others, so that its sum is about kept (the lower mean to 2^-11 of itself, the distance to
///   2^-6). The bound above does not hold. 1 bit, stochastic: minimum and maximum.
/// - Stochastic rounding depends on seed and the element's number, on nothing else.
struct QuantizeOptions {
  int bits = 4;             // 1, 2, 3, 4, 5, 6 or 8
  std::size_t group = 256;  // a multiple of 256 / bits (6: of 128; 3, 5: of 256), at most 65536
  Rounding rounding = Rounding::nearest;
  std::uint64_t seed = 0;
  /// The number of the first value of this call, a multiple of the same.
  std::uint64_t first_element = 0;
};

enum class CastType : std::uint8_t {
  f16,   // IEEE 754 binary16; beyond 65504 infinity
  bf16,  // the upper half of an f32
  e4m3,  // fp8 of 4 and 3 bits (OCP "E4M3"): to 448, no infinity
  e5m2   // fp8 of 5 and 2 bits (OCP "E5M2"): to 57344
};

/// A smaller floating-point type, rounded to nearest, ties to even. From f32 to all of them, from
/// f16 and bf16 to fp8. Finite values beyond fp8's largest become the largest; infinity becomes NaN
/// in e4m3; NaN stays NaN, though which one may depend on the instruction set.
struct CastOptions {
  CastType to = CastType::bf16;
};

/// One bit a value, exactly: for values of which each is 0 or one other, the same everywhere, such
/// as booleans and dropout's masks. Compares bits, so -0 is not 0 and NaN equals itself. Takes
/// every dtype. 8 bytes for the other value, then the bits, lowest first.
struct MaskOptions {};

/// One bit a value: whether it is above 0 (NaN is not). The bits, lowest first. Takes every dtype.
struct SignOptions {};

/// Bytes that `count` values take, or what is wrong with the options.
TENSORPRESS_API Result<std::size_t> packed_size(std::size_t count, const QuantizeOptions& options);
TENSORPRESS_API Result<std::size_t> packed_size(std::size_t count, const CastOptions& options);
TENSORPRESS_API Result<std::size_t> packed_size(std::size_t count, const MaskOptions& options);
TENSORPRESS_API Result<std::size_t> packed_size(std::size_t count, const SignOptions& options);

/// Where values may be cut for several calls; 0: nowhere.
constexpr std::size_t granularity(const QuantizeOptions& options) {
  return options.group;
}
constexpr std::size_t granularity(const CastOptions& /*options*/) {
  return 64;
}
constexpr std::size_t granularity(const MaskOptions& /*options*/) {
  return 0;
}
constexpr std::size_t granularity(const SignOptions& /*options*/) {
  return 64;
}

enum class PackOutcome : std::uint8_t {
  packed,
  /// The packed bytes are of no use; keep the values as they are. Quantize: NaN, infinity, or a
  /// group so wide that f32 does not hold its range. Mask: a third value. Cast: the bytes are as
  /// the type's rules say, but a value was NaN, infinite or beyond the type's range.
  not_representable
};

/// `packed` has packed_size bytes.
TENSORPRESS_API Result<PackOutcome> pack(DType dtype, std::span<const std::byte> values,
                                         const QuantizeOptions& options,
                                         std::span<std::byte> packed);
TENSORPRESS_API Result<PackOutcome> pack(DType dtype, std::span<const std::byte> values,
                                         const CastOptions& options, std::span<std::byte> packed);
TENSORPRESS_API Result<PackOutcome> pack(DType dtype, std::span<const std::byte> values,
                                         const MaskOptions& options, std::span<std::byte> packed);
TENSORPRESS_API Result<PackOutcome> pack(DType dtype, std::span<const std::byte> values,
                                         const SignOptions& options, std::span<std::byte> packed);

/// How unpack writes. Large results that are not read again at once are faster past the cache.
enum class Stores : std::uint8_t {
  automatic,  // past the cache from 16 MiB of values on
  cached,
  past_cache
};

/// The options and the dtype are those of pack (seed and first_element do not matter). f16 and bf16
/// values that quantization put beyond their largest number become that number. Signs: 1 where the
/// bit is set, else 0.
TENSORPRESS_API Result<void> unpack(DType dtype, std::span<const std::byte> packed,
                                    const QuantizeOptions& options, std::span<std::byte> values,
                                    Stores stores = Stores::automatic);
TENSORPRESS_API Result<void> unpack(DType dtype, std::span<const std::byte> packed,
                                    const CastOptions& options, std::span<std::byte> values,
                                    Stores stores = Stores::automatic);
TENSORPRESS_API Result<void> unpack(DType dtype, std::span<const std::byte> packed,
                                    const MaskOptions& options, std::span<std::byte> values,
                                    Stores stores = Stores::automatic);
TENSORPRESS_API Result<void> unpack(DType dtype, std::span<const std::byte> packed,
                                    const SignOptions& options, std::span<std::byte> values,
                                    Stores stores = Stores::automatic);

/// Makes lossy values agree with the signs that `pack` took of the originals, in place: values
/// without a bit that are above 0 become 0; values with a bit that are not above 0 become 2^-63
/// (f16: 2^-24), whose products with gradients are still normal numbers: CPUs multiply others
/// slowly. Takes f32, f16 and bf16.
TENSORPRESS_API Result<void> restore_signs(DType dtype, std::span<const std::byte> packed,
                                           std::span<std::byte> values);

/// The same calls on floats.
template <class Options>
  requires(!std::is_same_v<Options, DType>)
Result<PackOutcome> pack(std::span<const float> values, const Options& options,
                         std::span<std::byte> packed) {
  return pack(DType::f32, std::as_bytes(values), options, packed);
}
template <class Options>
Result<void> unpack(std::span<const std::byte> packed, const Options& options,
                    std::span<float> values, Stores stores = Stores::automatic) {
  return unpack(DType::f32, packed, options, std::as_writable_bytes(values), stores);
}

}  // namespace tensorpress
