// What the next bit will be: contexts, each with a probability that follows the bits it has seen,
// and weights that learn which context to believe (Mahoney, "Adaptive weighing of context models
// for lossless data compression", 2005). Integers alone, so that all machines agree.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/portable_math.h"
#include "codecs/dense/adaptive/arithmetic.h"

namespace tensorpress::dense {

inline constexpr std::uint32_t kLeastProbability = 16;
inline constexpr std::uint32_t kLeastOfContext = 32;

/// Made by the compiler, so that a bit waits for nothing but its loads.
struct MixTables {
  static constexpr std::size_t kSteps = 256;        // of a logarithm to base two
  static constexpr std::uint32_t kMostOdds = 4096;  // of which the probability is not the least
  static constexpr std::uint16_t kMostSeen = 100;   // bits of a context that count
  static constexpr int kInverseBits = 40;

  std::array<std::uint16_t, kSteps> logarithm{};    // 256 log2(1 + i / 256), rounded down
  std::array<std::uint16_t, kMostOdds + 1> rare{};  // the probability at log odds of -i
  // 1 / (2 i + 3), rounded up: exact quotients of 18 bits.
  std::array<std::uint64_t, kMostSeen + 1> inverse{};

  constexpr MixTables() {
    std::array<std::uint32_t, kSteps> power{};  // 65536 2^(i / 256), rounded down
    for (std::size_t i = 0; i < kSteps; ++i) {
      const double share = static_cast<double>(i) / kSteps;
      logarithm[i] = static_cast<std::uint16_t>(kSteps * portable_log2(1 + share));
      power[i] = static_cast<std::uint32_t>(65536 * portable_exp2(share));
    }
    // 1 / (1 + 2^x) = 2^-x / (1 + 2^-x).
    for (std::size_t i = 0; i <= kMostOdds; ++i) {
      const std::uint64_t of_two = std::uint64_t{power[i % kSteps]} << (i / kSteps);
      const auto less = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / (65536 + of_two));
      rare[i] = static_cast<std::uint16_t>(std::max(less, kLeastProbability));
    }
    for (std::size_t i = 0; i <= kMostSeen; ++i) {
      inverse[i] = (std::uint64_t{1} << kInverseBits) / (2 * i + 3) + 1;
    }
  }

  // 256 log2 of a number of at most 17 bits.
  constexpr std::int32_t logarithm_of(std::uint32_t number) const {
    const int whole = std::bit_width(number) - 1;
    const std::uint32_t share = (number << (17 - whole)) >> 9 & (kSteps - 1);
    return whole * static_cast<std::int32_t>(kSteps) + logarithm[share];
  }
};
inline constexpr MixTables kMixTables;

/// 256 log2(p / (65536 - p)), rounded down in both logarithms.
inline std::int32_t log_odds(std::uint32_t probability) {
  return kMixTables.logarithm_of(probability) -
         kMixTables.logarithm_of((1u << kProbabilityBits) - probability);
}
/// Its inverse, within kLeastProbability and 65536 - kLeastProbability.
inline std::uint32_t probability_of(std::int32_t log_odds) {
  const auto size = static_cast<std::uint32_t>(log_odds < 0 ? -log_odds : log_odds);
  const std::uint32_t rare = kMixTables.rare[std::min(size, MixTables::kMostOdds)];
  return log_odds < 0 ? rare : (1u << kProbabilityBits) - rare;
}

/// How likely a 1 is in one context.
struct SeenBits {
  std::uint16_t probability = 1u << (kProbabilityBits - 1);
  std::uint16_t seen = 0;

  /// 1 / (seen + 1.5) of what is missing, at least 1 / (kMostSeen + 1.5).
  void learn(bool bit) {
    const std::int32_t aim = static_cast<std::int32_t>(
        bit ? (1u << kProbabilityBits) - kLeastOfContext : kLeastOfContext);
    const std::int32_t missing = aim - probability;
    const auto twice = static_cast<std::uint64_t>(missing < 0 ? -2 * missing : 2 * missing);
    const auto step =
        static_cast<std::int32_t>(twice * kMixTables.inverse[seen] >> MixTables::kInverseBits);
    probability = static_cast<std::uint16_t>(probability + (missing < 0 ? -step : step));
    if (seen < MixTables::kMostSeen) ++seen;
  }
};

inline constexpr std::size_t kMostContexts = 4;

/// What contexts weigh, in 1/65536.
struct MixWeights {
  std::array<std::int32_t, kMostContexts> of{};
  MixWeights() { of.fill(18000); }
};

/// Codes a bit by up to four contexts, the most general one first: one that has seen nothing
/// believes what the one before it does.
template <class Coder>
bool code_mixed(Coder& coder, bool bit, std::span<SeenBits* const> contexts, MixWeights& weights) {
  std::array<std::int32_t, kMostContexts> odds;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    if (i > 0 && contexts[i]->seen == 0) contexts[i]->probability = contexts[i - 1]->probability;
    odds[i] = log_odds(contexts[i]->probability);
    sum += std::int64_t{weights.of[i]} * odds[i];
  }
  const auto total = static_cast<std::int32_t>(std::clamp<std::int64_t>(sum >> 16, -4095, 4095));
  const std::uint32_t probability = probability_of(total);
  bit = coder.code(bit, probability);
  const std::int32_t error = (bit ? 65536 : 0) - static_cast<std::int32_t>(probability);
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    const std::int32_t moved = weights.of[i] + odds[i] * (error >> 4) / 1024;
    weights.of[i] = std::clamp(moved, -(1 << 20), 1 << 20);
    contexts[i]->learn(bit);
  }
  return bit;
}

/// By one context.
template <class Coder>
bool code_seen(Coder& coder, bool bit, SeenBits& context) {
  bit = coder.code(bit, context.probability);
  context.learn(bit);
  return bit;
}

}  // namespace tensorpress::dense
