#include "training/train_tables.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tensorpress::dense {

using kernels::kRansEscapes;
using kernels::kRansFirstSymbol;
using kernels::kRansSymbols;
using kernels::kRansTotal;

Weights formula_weights(double mean, bool half, double tail) {
  Weights core{};
  Weights heavy{};
  double core_sum = 0;
  double heavy_sum = 0;
  const double ratio = half ? std::exp(-1 / mean) : (std::sqrt(1 + mean * mean) - 1) / mean;
  for (std::size_t i = kRansEscapes; i < kRansSymbols; ++i) {
    const double value = static_cast<double>(i) + kRansFirstSymbol;
    const double magnitude = half ? std::fabs(value + 0.5) : std::fabs(value);
    core_sum += core[i] = std::pow(ratio, magnitude);
    heavy_sum += heavy[i] = std::pow(1 + magnitude / std::max(mean, 0.3), -2.5);
  }
  Weights weights{};
  for (std::size_t i = kRansEscapes; i < kRansSymbols; ++i) {
    weights[i] = (1 - tail) * core[i] / core_sum + tail * heavy[i] / heavy_sum;
  }
  weights[0] = weights[1] = weights[2] = 1e-4 * tail / 0.03;
  weights[3] = 1e-6;
  return weights;
}

void normalize(std::span<const double> weights, std::span<const bool> keep,
               std::span<std::uint16_t> frequencies) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  int total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double share = weights[i] / sum * kRansTotal;
    frequencies[i] = keep[i] ? static_cast<std::uint16_t>(std::max(1.0, std::round(share))) : 0;
    total += frequencies[i];
  }
  for (; total != static_cast<int>(kRansTotal);) {
    const int change = total < static_cast<int>(kRansTotal) ? 1 : -1;
    std::size_t best = 0;
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (frequencies[i] == 0 || frequencies[i] + change < 1) continue;
      const double loss = weights[i] * (std::log2(static_cast<double>(frequencies[i])) -
                                        std::log2(static_cast<double>(frequencies[i] + change)));
      if (loss < least) {
        least = loss;
        best = i;
      }
    }
    frequencies[best] = static_cast<std::uint16_t>(frequencies[best] + change);
    total += change;
  }
}

std::array<std::uint16_t, kRansSymbols> table_frequencies(const Weights& counts,
                                                          const Weights& prior, bool half) {
  Weights weights{};
  double total = 0;
  for (const double count : counts) total += count;
  double prior_sum = 0;
  for (const double weight : prior) prior_sum += weight;
  const double prior_share = (300 + 0.003 * total) / prior_sum;
  for (std::size_t i = 0; i < kRansSymbols; ++i) {
    const std::size_t mirror = (half ? 255 : 256) - i;
    const bool paired = i >= kRansEscapes && mirror >= kRansEscapes && mirror < kRansSymbols;
    weights[i] = (paired ? 0.5 * (counts[i] + counts[mirror]) : counts[i]) + prior_share * prior[i];
  }
  double sum = 0;
  for (const double weight : weights) sum += weight;
  std::array<bool, kRansSymbols> keep{};
  for (std::size_t i = kRansEscapes; i < kRansSymbols; ++i) {
    keep[i] = weights[i] / sum * kRansTotal >= 0.35;
    if (keep[i]) continue;
    const int value = static_cast<int>(i) + kRansFirstSymbol;
    weights[static_cast<std::size_t>(kernels::rans_escape_of(value))] += weights[i];
    weights[i] = 0;
  }
  // An escape too rare for a frequency is left to the next longer one.
  for (std::size_t i = 0; i + 1 < kRansEscapes; ++i) {
    keep[i] = weights[i] / sum * kRansTotal >= 0.25;
    if (keep[i]) continue;
    weights[i + 1] += weights[i];
    weights[i] = 0;
  }
  keep[kRansEscapes - 1] = true;
  std::array<std::uint16_t, kRansSymbols> frequencies{};
  normalize(weights, keep, frequencies);
  return frequencies;
}

}  // namespace tensorpress::dense
