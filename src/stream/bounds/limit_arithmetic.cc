#include "stream/bounds/limit_arithmetic.h"

#include <cmath>
#include <limits>

#include "base/portable_math.h"
#include "stream/container/history.h"

namespace tensorpress::stream {
namespace {

// Half a unit in the last place, relative: what rounding to the type may add.
double rounding_share(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

}  // namespace

double pointwise_limit(double share, DType dtype) {
  const double left = share - 1.01 * rounding_share(dtype) * (1 + share);
  return left > 0 ? portable_log2(1 + left) : 0;
}

// fma knows the true product; among subnormals it is told from larger numbers.
double share_of(double width, double share) {
  constexpr double kUp = 0x1p200, kTiny = 0x1p-900;
  if (width == 0 || share == 0) return 0;
  if (width * share < kTiny && width <= 1) {
    const double larger = share_of(width * kUp, share);
    const double product = larger / kUp;
    return product * kUp > larger ? std::nextafter(product, 0.0) : product;
  }
  const double product = width * share;
  return std::fma(width, share, -product) < 0 ? std::nextafter(product, 0.0) : product;
}

// The difference's rounding error is itself a double (Knuth's two-sum).
double width_of(const ValueRange& range) {
  const double width = range.high - range.low;
  if (!std::isfinite(width)) return std::numeric_limits<double>::max();
  const double low_part = range.high - width;
  const double error = (range.high - (width + low_part)) + (low_part - range.low);
  return error < 0 ? std::nextafter(width, 0.0) : width;
}

double left_after(double earlier, double total) {
  if (earlier == 0) return total;
  double left = total - earlier;
  while (left > 0 && sum_rounded_up(left, earlier) > total) left = std::nextafter(left, 0.0);
  return left;
}

double share_left_after(double earlier, double total) {
  return earlier == 0 ? total : (total - earlier) / (1 + earlier) * (1 - 0x1p-40);
}

}  // namespace tensorpress::stream
