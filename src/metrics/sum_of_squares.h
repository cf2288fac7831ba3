// A sum of squares whose root is right for every double: squares of what lies beyond 2^-400 and
// 2^400 would vanish or overflow, so such values are squared after a multiplication by 2^700 or
// 2^-700, and the sum remembers it (Blue, A Portable Fortran Program to Find the Euclidean Norm of
// a Vector, 1978).
#pragma once

#include <algorithm>
#include <cmath>

namespace tensorpress::metrics {

struct SumOfSquares {
  double sum = 0;  // the squares are this times 4^exponent
  int exponent = 0;

  friend bool operator==(const SumOfSquares&, const SumOfSquares&) = default;

  /// The exponent for squares of values that are at most this far from 0.
  static int exponent_for(double largest) {
    constexpr double kTiny = 0x1p-400, kHuge = 0x1p400;
    constexpr int kShift = 700;
    if (largest > 0 && largest < kTiny) return -kShift;
    return largest > kHuge ? kShift : 0;
  }

  void add(const SumOfSquares& other) {
    if (other.sum == 0) return;
    const int common = sum == 0 ? other.exponent : std::max(exponent, other.exponent);
    sum = std::ldexp(sum, 2 * (exponent - common)) +
          std::ldexp(other.sum, 2 * (other.exponent - common));
    exponent = common;
  }

  /// The root of the sum's count-th part.
  double root_of_mean(double count) const { return std::ldexp(std::sqrt(sum / count), exponent); }
};

}  // namespace tensorpress::metrics
