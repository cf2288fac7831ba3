// What the next bit will be: contexts, each with a probability that follows the bits it has seen,
// and weights that learn which context to believe (Mahoney, "Adaptive weighing of context models
// for lossless data compression", 2005). Integers alone, so that all machines agree.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codecs/dense/adaptive/arithmetic.h"

namespace tensorpress::dense {

/// 256 log2(p / (65536 - p)), rounded down in both logarithms.
std::int32_t log_odds(std::uint32_t probability);
/// Its inverse, within kLeastProbability and 65536 - kLeastProbability.
std::uint32_t probability_of(std::int32_t log_odds);

inline constexpr std::uint32_t kLeastProbability = 16;
inline constexpr std::uint32_t kLeastOfContext = 32;

/// How likely a 1 is in one context.
struct SeenBits {
  std::uint16_t probability = 1u << (kProbabilityBits - 1);
  std::uint16_t seen = 0;

  /// 1 / (seen + 1.5) of what is missing, at least 1 / (kMostSeen + 1.5).
  void learn(bool bit) {
    static constexpr std::uint16_t kMostSeen = 100;
    const std::int32_t aim = static_cast<std::int32_t>(
        bit ? (1u << kProbabilityBits) - kLeastOfContext : kLeastOfContext);
    const std::int32_t missing = aim - probability;
    probability = static_cast<std::uint16_t>(probability + 2 * missing / (2 * seen + 3));
    if (seen < kMostSeen) ++seen;
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
