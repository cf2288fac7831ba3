// What one group's header holds, and the random bits of stochastic rounding: the scalar pieces that
// every instruction set shares. All arithmetic is f32, every operation rounded by itself.
//
// Header, u32: bits 31..13 are the upper 19 bits of the minimum as f32 (sign, 8 bits of exponent,
// 10 of fraction), bits 12..0 are bits 30..18 of the scale as f32 (8 bits of exponent, 5 of
// fraction). So the full range of f32 fits in 4 bytes, with the precision of f16 for the minimum.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tensorpress::kernels {

struct GroupScale {
  float minimum = 0;
  float scale = 0;
  float inverse = 0;  // 1 / scale, or 0 when scale is

  std::uint32_t header() const {
    return std::bit_cast<std::uint32_t>(minimum) | (std::bit_cast<std::uint32_t>(scale) >> 18);
  }
  static GroupScale of_header(std::uint32_t header) {
    return {std::bit_cast<float>(header & ~0x1FFFu), std::bit_cast<float>((header & 0x1FFFu) << 18),
            0};
  }
};

inline bool is_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu) < 0x7F800000u;
}

/// The grid from at most `least` to at least `most`, both finite. Nothing when f32 does not hold
/// it.
inline std::optional<GroupScale> scale_of_range(float least, float most, float levels) {
  constexpr float kSmallestScale = 0x1p-112f;  // so that kFractions / scale is finite
  least += 0.0f;                               // no -0, which depends on the order of a minimum
  auto bits = std::bit_cast<std::uint32_t>(least);
  if (least < 0) bits += 0x1FFFu;  // down, which is away from zero
  GroupScale group;
  group.minimum = std::bit_cast<float>(bits & ~0x1FFFu);
  const float range = most - group.minimum;
  if (!is_finite(group.minimum) || !is_finite(range)) return std::nullopt;
  if (range > 0) {
    const auto exact = std::bit_cast<std::uint32_t>(std::max(range / levels, kSmallestScale));
    group.scale = std::bit_cast<float>((exact + 0x3FFFFu) & ~0x3FFFFu);
    group.inverse = 1.0f / group.scale;
  }
  if (!is_finite(levels * group.scale + group.minimum)) return std::nullopt;
  return group;
}

/// Two values, as near as the header can hold them.
inline std::optional<GroupScale> scale_of_means(float low, float high) {
  low += 0.0f;
  GroupScale group;
  group.minimum = std::bit_cast<float>((std::bit_cast<std::uint32_t>(low) + 0x1000u) & ~0x1FFFu);
  const float distance = high - group.minimum;
  if (!is_finite(group.minimum) || !is_finite(distance)) return std::nullopt;
  if (distance > 0) {
    group.scale =
        std::bit_cast<float>((std::bit_cast<std::uint32_t>(distance) + 0x20000u) & ~0x3FFFFu);
  }
  if (!is_finite(group.scale + group.minimum)) return std::nullopt;
  return group;
}

/// Sums over a group in the order of 16 lanes: value i belongs to lane i mod 16.
inline constexpr std::size_t kSumLanes = 16;
inline float sum_of_lanes(const float* lanes) {
  float eight[8], four[4];
  for (std::size_t i = 0; i < 8; ++i) eight[i] = lanes[i] + lanes[i + 8];
  for (std::size_t i = 0; i < 4; ++i) four[i] = eight[i] + eight[i + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

/// Adding this to a float in [0, 2^22) rounds it to a whole number, ties to even, in the low bits.
inline constexpr float kRounder = 0x1.8p23f;
inline constexpr std::uint32_t kRounderBits = 0x4B400000u;

/// Stochastic rounding has so many bits of fraction: the expectation of a value is off by at most
/// 2^-15 of the scale, that of many values by far less.
inline constexpr int kFractionBits = 14;
inline constexpr float kFractions = 1 << kFractionBits;

inline std::uint64_t mix64(std::uint64_t x) {  // the finalizer of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Random bits from seed and number alone. Elements i and i + 8 (i mod 16 < 8) are a pair and share
/// 32 random bits: the low 14 for the first, the high 14 for the second. Pairs have the number
/// 8 floor(i / 16) + i mod 8, whose high half (that of the group's first pair) is in the key.
struct RoundingKey {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  static RoundingKey of(std::uint64_t seed, std::uint64_t first_element) {
    constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
    const std::uint64_t key = mix64(seed + ((first_element >> 33) + 1) * kStep);
    return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  }
  /// A 32-bit hash with two keys (multipliers of "lowbias32", found by C. Wellons' search).
  std::uint32_t bits(std::uint32_t pair) const {
    std::uint32_t x = pair ^ first;
    x = (x ^ (x >> 16)) * kMultiplier1;
    x = ((x ^ (x >> 15)) + second) * kMultiplier2;
    return x ^ (x >> 16);
  }
  std::uint32_t fraction(std::uint64_t element) const {
    const auto pair = static_cast<std::uint32_t>(element / 16 * 8 + element % 8);
    return element % 16 < 8 ? bits(pair) & 0x3FFFu : bits(pair) >> 18;
  }

  static constexpr std::uint32_t kMultiplier1 = 0x7FEB352Du;
  static constexpr std::uint32_t kMultiplier2 = 0x846CA68Bu;
};

}  // namespace tensorpress::kernels
