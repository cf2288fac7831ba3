// What compression and decompression of a chunk share: the flags of a coded chunk, elements as bits
// and as values, and which bounds a coder can take.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "base/tensor/elements.h"
#include "codecs/bounded/exact_values.h"
#include "codecs/bounded/field_coder.h"

namespace tensorpress::bounded {

enum Flag : std::uint8_t {
  kConstant = 1,
  kSpecials = 2,
  kSigns = 4,
  kPatches = 8,
  kCoded = 16,
  kDoubleLogs = 32,  // log2|x| was coded in double
  kHalfLimit = 64,   // the coder kept half of the limit
};

/// use(element) with an element of the type, if it is floating; else otherwise().
template <class Use, class Otherwise>
auto with_element_type(DType dtype, const Use& use, const Otherwise& otherwise)
    -> decltype(use(float{})) {
  switch (dtype) {
    case DType::f32:
      return use(float{});
    case DType::f64:
      return use(double{});
    case DType::f16:
      return use(F16Bits{});
    case DType::bf16:
      return use(Bf16Bits{});
    case DType::u8:
    case DType::i16:
      break;
  }
  return otherwise();
}

struct ElementBuffers {
  AlignedBuffer elements;  // of a chunk with gaps between its rows
  AlignedBuffer values;    // as the coder takes them: floats of a half type, logarithms
  AlignedBuffer clean;     // values with the holes filled
  AlignedBuffer mask;
};

template <class T>
void store_element(ElementBits bits, std::byte* to) {
  T value;
  static_assert(sizeof value <= sizeof bits);
  if constexpr (sizeof(T) == 8) {
    value = std::bit_cast<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    value = std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  } else {
    value = T{static_cast<std::uint16_t>(bits)};
  }
  std::memcpy(to, &value, sizeof value);
}

template <class T>
ElementBits load_bits(const std::byte* from) {
  if constexpr (sizeof(T) == 8) {
    std::uint64_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return bits;
  } else if constexpr (sizeof(T) == 4) {
    std::uint32_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return bits;
  } else {
    std::uint16_t bits;
    std::memcpy(&bits, from, sizeof bits);
    return bits;
  }
}

// The type that values of an element type are scanned and coded in.
template <class Element>
using ValueOf = std::conditional_t<std::is_same_v<Element, double>, double, float>;

inline void to_element(double value, float& to) {
  to = narrowed(value);
}
inline void to_element(double value, double& to) {
  to = value;
}
// Rounding twice is harmless: what comes out is checked.
inline void to_element(double value, F16Bits& to) {
  from_float(narrowed(value), to);
}
inline void to_element(double value, Bf16Bits& to) {
  from_float(narrowed(value), to);
}

// The largest error that a coder may make in T, within what FieldCoder promises to take.
template <class T>
double coder_bound(double limit) {
  constexpr double kLargest = static_cast<double>(std::numeric_limits<T>::max()) / 16;
  return std::min(limit, kLargest);
}
template <class T>
bool is_codable(double limit) {
  return limit >= static_cast<double>(std::numeric_limits<T>::min());
}

// What is left of a limit on log2|x| when x's logarithm and what is decoded are rounded to Log.
template <class Log>
double limit_of_logarithms(double limit) {
  return limit - (std::is_same_v<Log, float> ? 0x1p-17 : 0x1p-42);
}

inline std::vector<Hole> holes_of(std::span<const std::uint8_t> mask) {
  std::vector<Hole> holes;
  const auto* const begin = mask.data();
  const auto* const end = begin + mask.size();
  const auto* at = begin;
  while ((at = std::find(at, end, std::uint8_t{1})) != end) {
    const auto* const stop = std::find(at, end, std::uint8_t{0});
    holes.push_back(
        {static_cast<std::uint64_t>(at - begin), static_cast<std::uint64_t>(stop - at)});
    at = stop;
  }
  return holes;
}

}  // namespace tensorpress::bounded
