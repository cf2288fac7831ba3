#include "codecs/dense/adaptive/mixing.h"

#include <bit>

#include "base/portable_math.h"

namespace tensorpress::dense {
namespace {

constexpr std::size_t kSteps = 256;  // of a logarithm to base two

struct Tables {
  std::array<std::uint16_t, kSteps> logarithm;  // 256 log2(1 + i / 256), rounded down
  std::array<std::uint32_t, kSteps> power;      // 65536 2^(i / 256), rounded down

  Tables() {
    for (std::size_t i = 0; i < kSteps; ++i) {
      const double share = static_cast<double>(i) / kSteps;
      logarithm[i] = static_cast<std::uint16_t>(kSteps * portable_log2(1 + share));
      power[i] = static_cast<std::uint32_t>(65536 * portable_exp2(share));
    }
  }
};

const Tables& tables() {
  // Never destroyed: HDF5 may still compress chunks while the process ends.
  static const Tables& made = *new const Tables;
  return made;
}

// 256 log2 of a number of at most 17 bits.
std::int32_t logarithm_of(std::uint32_t number) {
  const int whole = std::bit_width(number) - 1;
  const std::uint32_t share = (number << (17 - whole)) >> 9 & (kSteps - 1);
  return whole * static_cast<std::int32_t>(kSteps) + tables().logarithm[share];
}

}  // namespace

std::int32_t log_odds(std::uint32_t probability) {
  return logarithm_of(probability) - logarithm_of((1u << kProbabilityBits) - probability);
}

std::uint32_t probability_of(std::int32_t log_odds) {
  // 1 / (1 + 2^-x) = 2^-|x| / (1 + 2^-|x|) from the other side.
  const auto size = static_cast<std::uint32_t>(log_odds < 0 ? -log_odds : log_odds);
  const std::uint64_t power = std::uint64_t{tables().power[size % kSteps]} << (size / kSteps);
  const auto less = static_cast<std::uint32_t>((std::uint64_t{1} << 32) / (65536 + power));
  const std::uint32_t rare = std::max(less, kLeastProbability);
  return log_odds < 0 ? rare : (1u << kProbabilityBits) - rare;
}

}  // namespace tensorpress::dense
