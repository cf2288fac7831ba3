// Distributions for the trainer: formulas, and counts turned into frequencies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codecs/dense/lorenzo/model.h"

namespace tensorpress::dense {

using Weights = std::array<double, kernels::kRansSymbols>;  // [symbol + 128], escapes at 0 … 3

/// Two-sided geometric with that mean magnitude and a heavy tail of 3 %; `half` is symmetric about
/// -1/2 instead of 0.
Weights formula_weights(double mean, bool half, double tail);

/// Makes `weights` symmetric, adds the formula's as a prior, and rounds to frequencies. Symbols too
/// rare for a frequency become escapes.
std::array<std::uint16_t, kernels::kRansSymbols> table_frequencies(const Weights& counts,
                                                                   const Weights& prior, bool half);

/// Frequencies that sum to 2^12, at least 1 where `keep`, with the least loss.
void normalize(std::span<const double> weights, std::span<const bool> keep,
               std::span<std::uint16_t> frequencies);

}  // namespace tensorpress::dense
