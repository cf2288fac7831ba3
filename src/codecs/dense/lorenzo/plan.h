// What is decided before a chunk is coded: step, integer width, axes and block size.
#pragma once

#include <bit>
#include <cmath>
#include <optional>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/lorenzo/model.h"
#include "codecs/dense/lorenzo/rows.h"

namespace tensorpress::dense {

/// How much smaller than 2 bound the step is, so that rounding seldom breaks the bound: 0 … 1/32
/// in steps of 1/4096, then 1/32 … 143/512 in steps of 1/512.
constexpr double shrink_of(std::uint8_t code) {
  return code < 128 ? code / 4096.0 : (code - 112) / 512.0;
}

/// A float for narrow chunks of floats, so that float(q) * step is what both sides compute.
template <class T>
double step_of(double bound, std::uint8_t shrink, bool wide) {
  const double step = 2 * bound * (1 - shrink_of(shrink));
  return wide ? step : static_cast<double>(static_cast<T>(step));
}

struct LorenzoPlan {
  bool wide = false;  // 64-bit quanta, computed with in double
  std::uint8_t shrink = 0;
  double step = 0;
  LorenzoAxes axes;
  int log2_block = 4;
  double bits = 0;  // expected, a value
};

/// Nothing when quanta would not fit even 64-bit integers.
template <class T>
std::optional<LorenzoPlan> plan_lorenzo(const bounded::Field<T>& field, double bound,
                                        const LorenzoModel& model, Isa isa);

/// Narrow chunks compute in their own type, wide ones in double.
template <class T>
kernels::LorenzoQuantizer<T> quantizer_of(double bound, double step);
using WideQuantizer = kernels::LorenzoQuantizer<double>;

inline constexpr double kWideRounder = 0x1.8p52;

/// One value; false if its quantum does not keep the bound.
template <class T>
bool quantize_wide(T x, const WideQuantizer& quantizer, std::int64_t& q) {
  const double shifted = static_cast<double>(x) * quantizer.inverse + kWideRounder;
  q = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(shifted) -
                                std::bit_cast<std::uint64_t>(kWideRounder));
  const auto back = static_cast<T>((shifted - kWideRounder) * quantizer.step);
  return std::fabs(static_cast<double>(x) - static_cast<double>(back)) <= quantizer.limit;
}

/// The value of a quantum: the same double as in quantize_wide for |q| < 2^51, anything else else.
inline double wide_value(std::int64_t q, double step) {
  const auto shifted = std::bit_cast<double>(static_cast<std::uint64_t>(q) +
                                             std::bit_cast<std::uint64_t>(kWideRounder));
  return (shifted - kWideRounder) * step;
}

}  // namespace tensorpress::dense
