// The plain versions of quantize.h's kernels by pieces: the truth for tests, and the end of a group
// that fills no block.
#pragma once

#include <array>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/tensor/elements.h"
#include "kernels/quantize/group_scale.h"
#include "kernels/quantize/quantize.h"

namespace tensorpress::kernels::quantize_detail {

inline float widened(float value) {
  return value;
}
inline float widened(F16Bits value) {
  return f16_to_float(value.bits);
}
inline float widened(Bf16Bits value) {
  return bf16_to_float(value.bits);
}

/// Narrow types saturate: what was finite stays finite.
inline void store_value(float value, float& to) {
  to = value;
}
inline void store_value(float value, F16Bits& to) {
  to.bits = float_to_f16(std::clamp(value, -65504.0f, 65504.0f));
}
inline void store_value(float value, Bf16Bits& to) {
  constexpr float kLargest = 0x1.FEp127f;
  to.bits = float_to_bf16(std::clamp(value, -kLargest, kLargest));
}

struct Extremes {
  float least;
  float most;
  bool finite;
};

template <class T>
Extremes extremes_reference(const T* values, std::size_t count) {
  Extremes found{widened(values[0]), widened(values[0]), true};
  for (std::size_t i = 0; i < count; ++i) {
    const float value = widened(values[i]);
    found.least = value < found.least ? value : found.least;
    found.most = value > found.most ? value : found.most;
    found.finite = found.finite && is_finite(value);
  }
  return found;
}

/// The code of one value on the grid of a group; `fraction` is random, for stochastic rounding.
template <int kBits, bool kStochastic>
std::uint32_t code_reference(float value, const GroupScale& group, std::uint32_t fraction) {
  constexpr auto kLevels = (1u << kBits) - 1;
  if constexpr (kStochastic) {
    const float steps = std::min((value - group.minimum) * (group.inverse * kFractions),
                                 static_cast<float>(kLevels) * kFractions);
    const auto whole = std::bit_cast<std::uint32_t>(steps + kRounder) - kRounderBits;
    return (whole + fraction) >> kFractionBits;
  } else {
    const float steps = (value - group.minimum) * group.inverse;
    return std::bit_cast<std::uint32_t>(steps + kRounder) - kRounderBits;
  }
}

/// Up to one block of codes, from the value with the given number on.
template <int kBits, bool kStochastic, class T>
void pack_block_reference(const T* values, std::size_t count, const GroupScale& group,
                          const RoundingKey& key, std::uint64_t first_element, std::byte* block) {
  std::array<std::uint32_t, 8 * quantized_block_words(kBits)> words{};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t fraction = kStochastic ? key.fraction(first_element + i) : 0;
    const std::uint32_t code =
        code_reference<kBits, kStochastic>(widened(values[i]), group, fraction);
    const std::size_t bit = kBits * (i / 8);
    const std::size_t word = bit / 32 * 8 + i % 8;
    words[word] |= code << (bit % 32);
    if constexpr (32 % kBits != 0) {
      if (bit % 32 + kBits > 32) words[word + 8] |= code >> (32 - bit % 32);
    }
  }
  const std::size_t used = 8 * quantized_words(count, kBits);
  for (std::size_t w = 0; w < used; ++w) store_le(block + 4 * w, words[w]);
}

template <int kBits, class T>
void unpack_block_reference(const std::byte* block, std::size_t count, const GroupScale& group,
                            T* values) {
  constexpr auto kLevels = (1u << kBits) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bit = kBits * (i / 8);
    const std::byte* const word = block + bit / 32 * kQuantizedWordsBytes + 4 * (i % 8);
    std::uint32_t code = load_le<std::uint32_t>(word) >> (bit % 32);
    if constexpr (32 % kBits != 0) {
      if (bit % 32 + kBits > 32) {
        code |= load_le<std::uint32_t>(word + kQuantizedWordsBytes) << (32 - bit % 32);
      }
    }
    store_value(static_cast<float>(code & kLevels) * group.scale + group.minimum, values[i]);
  }
}

/// The lanes' sums from value `begin` on, which is where vectors stop.
template <class T>
bool add_to_lanes_reference(const T* values, std::size_t begin, std::size_t count, float* lanes) {
  bool finite = true;
  for (std::size_t i = begin; i < count; ++i) {
    lanes[i % kSumLanes] += widened(values[i]);
    finite = finite && is_finite(widened(values[i]));
  }
  return finite;
}

/// How far values lie below and above a threshold, and how many above.
struct Sides {
  std::array<float, kSumLanes> below{};
  std::array<float, kSumLanes> above{};  // not positive
  std::size_t count_above = 0;
};

template <class T>
void split_block_reference(const T* values, std::size_t begin, std::size_t end, float threshold,
                           Sides& sides, std::byte* block) {
  std::array<std::uint32_t, 8> words{};
  for (std::size_t i = begin; i < end; ++i) {
    const float distance = threshold - widened(values[i]);
    sides.below[i % kSumLanes] += distance > 0 ? distance : 0.0f;
    sides.above[i % kSumLanes] += distance < 0 ? distance : 0.0f;
    const bool above = distance < 0;
    sides.count_above += above ? 1 : 0;
    words[i % 8] |= static_cast<std::uint32_t>(above) << ((i - begin) / 8);
  }
  for (std::size_t w = 0; w < 8; ++w) store_le(block + 4 * w, words[w]);
}

/// The group's two means from the sums on both sides of the threshold.
inline std::optional<GroupScale> scale_of_sides(const Sides& sides, std::size_t count,
                                                float threshold) {
  const auto above = static_cast<float>(sides.count_above);
  const auto below = static_cast<float>(count - sides.count_above);
  // The smallest value is never above the mean, unless rounding moved the mean below it.
  const float low = below > 0 ? threshold - sum_of_lanes(sides.below.data()) / below : threshold;
  const float high = above > 0 ? threshold - sum_of_lanes(sides.above.data()) / above : low;
  if (!is_finite(low) || !is_finite(high)) return std::nullopt;
  return scale_of_means(low, high);
}

}  // namespace tensorpress::kernels::quantize_detail
