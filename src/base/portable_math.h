// Logarithm and power to base two from additions, multiplications and divisions alone, each rounded
// as IEEE 754 says and in a fixed order: the same bits on every machine, which no libm promises.
// Both are within 4e-16 relative of the truth (a test compares them with libm).
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace tensorpress {

/// Of a finite value above 0, denormals included.
constexpr double portable_log2(double value) {
  std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  std::int64_t exponent = 0;
  if (bits < (std::uint64_t{1} << 52)) {  // denormal
    bits = std::bit_cast<std::uint64_t>(value * 0x1p54);
    exponent = -54;
  }
  exponent += static_cast<std::int64_t>(bits >> 52) - 1023;
  double mantissa =
      std::bit_cast<double>((bits & 0xfffffffffffffull) | (std::uint64_t{1023} << 52));
  if (mantissa > 1.4142135623730951) {
    mantissa *= 0.5;
    ++exponent;
  }
  // ln m = 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1), |s| < 0.1716.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 1.0 / 21;
  for (const double term :
       {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3}) {
    series = series * square + term;
  }
  const double log2_of_mantissa = (s + s * (square * series)) * (2 * 1.4426950408889634);
  return static_cast<double>(exponent) + log2_of_mantissa;
}

/// Of a value in -1100..1100; beyond what a double holds it gives 0 or infinity.
constexpr double portable_exp2(double value) {
  if (!(value > -1100)) return 0;
  if (value > 1100) value = 1100;
  const double shifted = value + 0x1.8p52;  // rounds to the nearest integer
  const double whole = shifted - 0x1.8p52;
  const double x = (value - whole) * 0.6931471805599453;  // |x| < 0.35
  double series = 1.0 / 87178291200.0;                    // 1 / 14!
  for (const double term :
       {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
        1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0}) {
    series = series * x + term;
  }
  const double power = 1 + x * series;
  // 2^whole in two steps, so that neither over- nor underflows before the product does.
  const auto exponent = static_cast<std::int64_t>(whole);
  const std::int64_t half = exponent / 2;
  const auto scale = [](std::int64_t n) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
  };
  return power * scale(half) * scale(exponent - half);
}

/// About 1 / sqrt(value) of a normal number, within 0.2 %: for weights of fits, in loops that
/// compilers make vectors of. A first guess from the exponent, and one step of Newton's.
inline float rough_inverse_root(float value) {
  const float guess =
      std::bit_cast<float>(0x5f3759dfu - (std::bit_cast<std::uint32_t>(value) >> 1));
  return guess * (1.5f - 0.5f * value * guess * guess);
}

}  // namespace tensorpress
