// How far a value may differ from the original. A bound is a type, never a bare number:
//   Bound::absolute(1e-3)             every |x' - x| <= 1e-3
//   Bound::relative(1e-4)             ... <= 1e-4 of the value range, max - min of the finite
//                                     values that are not fill values
//   Bound::pointwise_relative(1e-3)   ... <= 1e-3 |x|
//   Bound::psnr(80)                   the measured peak signal-to-noise ratio is at least 80 dB
//   Bound::ratio(20)                  the whole stream is at least 20 times smaller; the bound that
//                                     reaches it holds everywhere
#pragma once

#include <string>
#include <string_view>

#include "tensorpress/api.h"
#include "tensorpress/result.h"

namespace tensorpress {

class TENSORPRESS_API Bound {
 public:
  enum class Kind { absolute, relative, pointwise_relative, psnr, ratio };

  static constexpr Bound absolute(double error) { return {Kind::absolute, error}; }
  static constexpr Bound relative(double share_of_range) {
    return {Kind::relative, share_of_range};
  }
  static constexpr Bound pointwise_relative(double share_of_value) {
    return {Kind::pointwise_relative, share_of_value};
  }
  static constexpr Bound psnr(double decibels) { return {Kind::psnr, decibels}; }
  static constexpr Bound ratio(double times_smaller) { return {Kind::ratio, times_smaller}; }

  /// For those who have read the kind from somewhere.
  constexpr Bound(Kind kind, double value) : kind_(kind), value_(value) {}

  /// What to_string gives: "rel 0.0001".
  static Result<Bound> parse(std::string_view text);
  std::string to_string() const;

  Kind kind() const { return kind_; }
  double value() const { return value_; }
  /// Negative, NaN and infinite bounds, ratios below 1: the error says what is allowed.
  Result<void> check() const;

  friend bool operator==(const Bound&, const Bound&) = default;

 private:
  Kind kind_;
  double value_;
};

/// The smallest and the largest value that count.
struct ValueRange {
  double low = 0;
  double high = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

}  // namespace tensorpress
