// The squared error that a chunk of dct-chop states.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/block_transform/block_transform.h"

namespace tensorpress::dct_chop {

// What rounding adds to the L2 error is at most this share of the norm of the values. A pass is a
// chain of orthogonal steps; counting each rounding and each constant as off by a full 2^-24 of its
// operand's norm, the longest way (y1, y7) collects 8.9 of them, and there are four passes.
// Measured: 2.5 units for noise, 2 for constants.
inline constexpr double kRoundingShare = 36 * 0x1p-24;
// Where squares of floats are too small to be trusted (mean square below 1e-30), the error is
// measured instead.
inline constexpr double kSmallestMeanSquare = 1e-30;

// A sum of squares in another order may come out a little larger; a later check must not fail on
// that.
inline constexpr double kSummationShare = 1e-9;

/// From the dropped coefficients (Parseval) plus what rounding can add. Absent when the sums say
/// that something is unusual: a value that is not finite, overflow, or very small numbers.
inline std::optional<double> stated_by_parseval(const kernels::Energy& energy,
                                                std::uint64_t elements) {
  const double total = energy.kept + energy.dropped;
  if (!std::isfinite(total) || total < kSmallestMeanSquare * static_cast<double>(elements)) {
    return std::nullopt;
  }
  const double l2 = std::sqrt(energy.dropped) + kRoundingShare * std::sqrt(total);
  return l2 * l2;
}

}  // namespace tensorpress::dct_chop
