// One row in scalar code, for any integer: the truth of the 32-bit kernels, and what 64-bit quanta
// use. The prefix sum costs one addition a value, which is faster than memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "kernels/lorenzo/lorenzo.h"

namespace tensorpress::kernels::lorenzo {

// What remains of value i after the neighbours outside its row, modulo 2^bits.
template <class Q>
std::make_unsigned_t<Q> residual(const Q* q, std::size_t i, const LorenzoRow<Q>& row) {
  using U = std::make_unsigned_t<Q>;
  U value = static_cast<U>(q[i]);
  if (row.above != nullptr) value -= static_cast<U>(row.above[i]);
  if (row.behind != nullptr) value -= static_cast<U>(row.behind[i]);
  if (row.corner != nullptr) value += static_cast<U>(row.corner[i]);
  return value;
}

/// Values [from, count) of a row's differences.
template <class Q>
void difference_row(const Q* q, Q* d, std::size_t from, std::size_t count,
                    const LorenzoRow<Q>& row) {
  using U = std::make_unsigned_t<Q>;
  for (std::size_t i = from; i < count; ++i) {
    const U value = residual(q, i, row);
    const U before = i == 0 ? static_cast<U>(row.left) : residual(q, i - 1, row);
    U prediction = row.order == 0 ? 0 : before;
    if (row.order == 2 && i >= 2) prediction += before - residual(q, i - 2, row);
    d[i] = static_cast<Q>(value - prediction);
  }
}

/// In place; values [from, count), those before them are done.
template <class Q>
void integrate_row(Q* d, std::size_t from, std::size_t count, const LorenzoRow<Q>& row) {
  using U = std::make_unsigned_t<Q>;
  U before = from == 0 ? static_cast<U>(row.left) : residual(d, from - 1, row);
  U second = from >= 2 ? residual(d, from - 2, row) : 0;
  for (std::size_t i = from; i < count; ++i) {
    U value = static_cast<U>(d[i]);
    if (row.order >= 1) value += before;
    if (row.order == 2 && i >= 2) value += before - second;
    second = before;
    before = value;
    if (row.above != nullptr) value += static_cast<U>(row.above[i]);
    if (row.behind != nullptr) value += static_cast<U>(row.behind[i]);
    if (row.corner != nullptr) value -= static_cast<U>(row.corner[i]);
    d[i] = static_cast<Q>(value);
  }
}

/// Adding and subtracting it rounds to integers.
template <class T>
inline constexpr T kRounder = sizeof(T) == 4 ? T{0x1.8p23} : T{0x1.8p52};
/// The lower 32 bits of its representation.
template <class T>
inline constexpr std::uint32_t kRounderBits = sizeof(T) == 4 ? 0x4B400000u : 0u;

/// One value; false if its quantum does not keep the bound.
template <class T>
bool quantize_value(T x, const LorenzoQuantizer<T>& quantizer, std::int32_t& q) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const T shifted = x * quantizer.inverse + kRounder<T>;
  const auto low = static_cast<std::uint32_t>(std::bit_cast<Bits>(shifted));
  q = static_cast<std::int32_t>(low - kRounderBits<T>);
  return std::fabs(x - (shifted - kRounder<T>)*quantizer.step) <= quantizer.limit;
}

struct BlockFeatures {
  std::uint32_t sum = 0;      // of |d|, each at most 2^24
  std::uint32_t lengths = 0;  // of bit lengths of |d|
};

inline BlockFeatures block_features(const std::int32_t* d, std::size_t count) {
  BlockFeatures features;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(d[i]);
    const std::uint32_t magnitude = std::min(d[i] < 0 ? 0u - bits : bits, 1u << 24);
    features.sum += magnitude;
    features.lengths += static_cast<std::uint32_t>(std::bit_width(magnitude));
  }
  return features;
}

/// The cell of kernels/lorenzo/lorenzo.h.
inline std::uint16_t block_cell(BlockFeatures features, int log2_block) {
  if (features.sum == 0) return 0;
  const auto octaves = [](std::uint32_t value) {
    return static_cast<int>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 21);
  };
  const int sum = (octaves(features.sum) >> 1) - 253 + 2 * (5 - log2_block);
  const int lengths = octaves(features.lengths) - 508 + 4 * (5 - log2_block);
  const int last_sum = static_cast<int>(kBlockSums) - 1;
  const int last_length = static_cast<int>(kBlockLengths) - 1;
  return static_cast<std::uint16_t>(std::clamp(sum, 1, last_sum) * static_cast<int>(kBlockLengths) +
                                    std::clamp(lengths, 0, last_length));
}

}  // namespace tensorpress::kernels::lorenzo
