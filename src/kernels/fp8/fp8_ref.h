// One value at a time: the plain loops that the SIMD conversions are compared with, and the last
// few elements of every call.
#pragma once

#include <algorithm>
#include <bit>

#include "base/tensor/half_types.h"
#include "kernels/fp8/fp8.h"

namespace tensorpress::kernels {

/// What tells the two types apart. The unit of subnormal values is that of floats around `rounder`.
template <int kFractionBits>
struct Fp8Layout {
  static constexpr bool kE4m3 = kFractionBits == 3;
  static constexpr int kShift = 23 - kFractionBits;
  static constexpr std::uint32_t kRebias = (kE4m3 ? 120u : 112u) << kFractionBits;
  static constexpr std::uint32_t kSmallestNormal = (kE4m3 ? 121u : 113u) << 23;
  static constexpr float kRounder = kE4m3 ? 0x1p14f : 0x1p7f;
  static constexpr std::uint32_t kLargest = kE4m3 ? 0x7Eu : 0x7Bu;
  static constexpr std::uint32_t kInfinity = kE4m3 ? 0x7Fu : 0x7Cu;
};

template <int kFractionBits>
std::uint8_t float_to_fp8(float value) {
  using Layout = Fp8Layout<kFractionBits>;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t code = 0;
  if (magnitude > 0x7F800000u) {
    code = 0x7F;
  } else if (magnitude == 0x7F800000u) {
    code = Layout::kInfinity;
  } else if (magnitude < Layout::kSmallestNormal) {
    const float rounded = std::bit_cast<float>(magnitude) + Layout::kRounder;
    code = std::bit_cast<std::uint32_t>(rounded) - std::bit_cast<std::uint32_t>(Layout::kRounder);
  } else {
    const std::uint32_t odd = (magnitude >> Layout::kShift) & 1u;
    const std::uint32_t half = (1u << (Layout::kShift - 1)) - 1 + odd;
    code = std::min(((magnitude + half) >> Layout::kShift) - Layout::kRebias, Layout::kLargest);
  }
  return static_cast<std::uint8_t>(sign | code);
}

inline float e4m3_to_float(std::uint8_t code) {
  const std::uint32_t magnitude = code & 0x7Fu;
  const std::uint32_t sign = (code & 0x80u) << 24;
  if (magnitude == 0x7F) return std::bit_cast<float>(sign | 0x7FC00000u);
  if (magnitude < 8) {
    const float value = static_cast<float>(magnitude) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}

/// e5m2 is the upper half of an f16.
inline float e5m2_to_float(std::uint8_t code) {
  return f16_to_float(static_cast<std::uint16_t>(code << 8));
}

template <int kFractionBits>
void fp8_narrow_reference(const float* from, std::uint8_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = float_to_fp8<kFractionBits>(from[i]);
}
inline void e4m3_widen_reference(const std::uint8_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = e4m3_to_float(from[i]);
}
inline void e5m2_widen_reference(const std::uint8_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = e5m2_to_float(from[i]);
}

}  // namespace tensorpress::kernels
