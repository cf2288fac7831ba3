#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/value_scan/value_scan.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/value_scan/value_scan.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block without special values: range and zeros of whole vectors. False when there is one.
template <class T>
bool ScanOrdinary(const T* values, std::size_t count, ValueScan<T>& scan) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t N = hn::MaxLanes(d);
  constexpr std::size_t kVectors = 4;
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto zero = hn::Zero(d);
  hn::Vec<decltype(d)> low[kVectors], high[kVectors], magnitude[kVectors], smallest[kVectors];
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    low[v] = infinity;
    high[v] = hn::Neg(infinity);
    magnitude[v] = zero;
    smallest[v] = infinity;
  }
  for (std::size_t i = 0; i < count; i += kVectors * N) {
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto x = hn::LoadU(d, values + i + v * N);
      low[v] = hn::Min(x, low[v]);
      high[v] = hn::Max(x, high[v]);
      // x - x is 0 for finite values and NaN otherwise, and NaN stays in a sum.
      magnitude[v] = hn::Add(magnitude[v], hn::Sub(x, x));
      smallest[v] = hn::Min(hn::Abs(x), smallest[v]);
    }
  }
  TENSORPRESS_UNROLL
  for (std::size_t v = 1; v < kVectors; ++v) {
    low[0] = hn::Min(low[0], low[v]);
    high[0] = hn::Max(high[0], high[v]);
    magnitude[0] = hn::Add(magnitude[0], magnitude[v]);
    smallest[0] = hn::Min(smallest[0], smallest[v]);
  }
  if (!hn::AllTrue(d, hn::Eq(magnitude[0], zero))) return false;
  ValueScan<T> block;
  block.min = hn::GetLane(hn::MinOfLanes(d, low[0])) + T{0};
  block.max = hn::GetLane(hn::MaxOfLanes(d, high[0])) + T{0};
  block.zeros = hn::GetLane(hn::MinOfLanes(d, smallest[0])) == T{0};
  scan.merge(block);
  return true;
}

// The same for a block with special values in it, which take no part.
template <class T>
ValueScan<T> ScanMixed(const T* values, std::size_t count, std::span<const T> fills) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t N = hn::MaxLanes(d);
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto zero = hn::Zero(d);
  auto low = infinity;
  auto high = hn::Neg(infinity);
  auto smallest = infinity;
  ValueScan<T> scan;
  for (std::size_t i = 0; i < count; i += N) {
    const auto x = hn::LoadU(d, values + i);
    auto special = hn::Not(hn::Eq(hn::Sub(x, x), zero));
    for (const T fill : fills) special = hn::Or(special, hn::Eq(x, hn::Set(d, fill)));
    const auto upper = hn::IfThenElse(special, infinity, x);
    low = hn::Min(upper, low);
    high = hn::Max(hn::IfThenElse(special, hn::Neg(infinity), x), high);
    smallest = hn::Min(hn::Abs(upper), smallest);
    scan.specials += hn::CountTrue(d, special);
  }
  scan.min = hn::GetLane(hn::MinOfLanes(d, low)) + T{0};
  scan.max = hn::GetLane(hn::MaxOfLanes(d, high)) + T{0};
  scan.zeros = hn::GetLane(hn::MinOfLanes(d, smallest)) == T{0};
  return scan;
}

template <class T>
ValueScan<T> Scan(std::span<const T> values, std::span<const T> fills) {
  constexpr std::size_t kBlock = 1024;
  ValueScan<T> scan;
  std::size_t i = 0;
  for (; i + kBlock <= values.size(); i += kBlock) {
    if (fills.empty() && ScanOrdinary(values.data() + i, kBlock, scan)) continue;
    scan.merge(ScanMixed(values.data() + i, kBlock, fills));
  }
  scan.merge(value_scan_reference(values.subspan(i), fills));
  return scan;
}

ScanValues<float> GetScanFloat() {
  return Scan<float>;
}
ScanValues<double> GetScanDouble() {
  return Scan<double>;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

template <>
ScanValues<float> value_scan<float>(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetScanFloat(), value_scan_reference<float>)
}
template <>
ScanValues<double> value_scan<double>(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetScanDouble(), value_scan_reference<double>)
}

}  // namespace tensorpress::kernels
#endif
