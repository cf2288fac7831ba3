#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/squared_error/squared_error.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/squared_error/squared_error.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

double SumSquaredDifferences(const float* a, const float* b, std::size_t count) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> half;
  constexpr std::size_t N = hn::MaxLanes(d);
  constexpr std::size_t kVectors = 8 / N;
  HWY_ALIGN double sums[8];
  hn::Vec<decltype(d)> lanes[kVectors];
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) lanes[v] = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto difference = hn::Sub(hn::PromoteTo(d, hn::LoadU(half, a + i + v * N)),
                                      hn::PromoteTo(d, hn::LoadU(half, b + i + v * N)));
      lanes[v] = hn::Add(lanes[v], hn::Mul(difference, difference));
    }
  }
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) hn::Store(lanes[v], d, sums + v * N);
  for (std::size_t lane = 0; i < count; ++i, ++lane) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sums[lane] += difference * difference;
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

SquaredError GetSquaredError() {
  return SumSquaredDifferences;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

SquaredError squared_error(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetSquaredError(), squared_error_reference)
}

}  // namespace tensorpress::kernels
#endif
