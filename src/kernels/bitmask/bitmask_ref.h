// The plain versions of bitmask.h's kernels: the truth for tests, and the last values of a call.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/bitmask/bitmask.h"

namespace tensorpress::kernels::bitmask_detail {

/// What is above 0, on bit patterns as signed integers: from 1 to the dtype's infinity or largest
/// number. u8 is the exception: everything but 0.
template <class U>
struct PositivePatterns {
  std::make_signed_t<U> last;
};

template <class U>
bool is_positive(U bits, PositivePatterns<U> patterns) {
  if constexpr (sizeof(U) == 1) {
    return bits != 0;
  } else {
    const auto number = static_cast<std::make_signed_t<U>>(bits);
    return number > 0 && number <= patterns.last;
  }
}

inline bool bit_of(const std::byte* bits, std::size_t i) {
  return ((static_cast<unsigned>(bits[i / 8]) >> (i % 8)) & 1u) != 0;
}

template <class U, class Test>
void pack_bits(const U* values, std::size_t count, std::byte* bits, Test test) {
  for (std::size_t i = 0; i < count; i += 8) {
    unsigned byte = 0;
    for (std::size_t j = 0; j < std::min<std::size_t>(8, count - i); ++j) {
      byte |= static_cast<unsigned>(test(values[i + j])) << j;
    }
    bits[i / 8] = static_cast<std::byte>(byte);
  }
}

template <class U>
bool pack_equal_reference(const U* values, std::size_t count, U other, std::byte* bits) {
  pack_bits(values, count, bits, [](U value) { return value != 0; });
  return std::all_of(values, values + count, [&](U value) { return value == 0 || value == other; });
}

template <class U>
void expand_reference(const std::byte* bits, std::size_t count, U other, U* values) {
  for (std::size_t i = 0; i < count; ++i) values[i] = bit_of(bits, i) ? other : U{0};
}

template <class U>
void restore_positive_reference(const std::byte* bits, std::size_t count, U tiny,
                                PositivePatterns<U> patterns, U* values) {
  for (std::size_t i = 0; i < count; ++i) {
    const bool wanted = bit_of(bits, i);
    if (wanted != is_positive(values[i], patterns)) values[i] = wanted ? tiny : U{0};
  }
}

constexpr std::int64_t last_positive(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0x7F800000;
    case DType::f64:
      return 0x7FF0000000000000;
    case DType::f16:
      return 0x7C00;
    case DType::bf16:
      return 0x7F80;
    case DType::i16:
      return 0x7FFF;
    case DType::u8:
      break;
  }
  return 0x7F;
}

template <DType kType>
inline constexpr auto kPatterns = [] {
  using U = std::conditional_t<
      size_of(kType) == 1, std::uint8_t,
      std::conditional_t<size_of(kType) == 2, std::uint16_t,
                         std::conditional_t<size_of(kType) == 4, std::uint32_t, std::uint64_t>>>;
  return PositivePatterns<U>{static_cast<std::make_signed_t<U>>(last_positive(kType))};
}();

/// Gives `Kernels<U, dtype>()` of the dtype.
template <template <class, DType> class Kernels>
BitmaskKernels for_dtype(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return Kernels<std::uint64_t, DType::f64>::get();
    case DType::f16:
      return Kernels<std::uint16_t, DType::f16>::get();
    case DType::bf16:
      return Kernels<std::uint16_t, DType::bf16>::get();
    case DType::i16:
      return Kernels<std::uint16_t, DType::i16>::get();
    case DType::u8:
      return Kernels<std::uint8_t, DType::u8>::get();
    case DType::f32:
      break;
  }
  return Kernels<std::uint32_t, DType::f32>::get();
}

}  // namespace tensorpress::kernels::bitmask_detail
