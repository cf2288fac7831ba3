#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/magnitude/magnitude.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/magnitude/magnitude.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace magnitude_inl {
namespace hn = hwy::HWY_NAMESPACE;

std::uint32_t Largest(const float* values, std::size_t count) {
  const hn::ScalableTag<std::int32_t> d;  // magnitudes are positive, and AVX2 compares signed
  const std::size_t N = hn::Lanes(d);
  const auto* const bits = reinterpret_cast<const std::int32_t*>(values);
  const auto mask = hn::Set(d, 0x7FFFFFFF);
  auto a = hn::Zero(d), b = a;
  std::size_t i = 0;
  for (; i + 2 * N <= count; i += 2 * N) {
    __builtin_prefetch(reinterpret_cast<const char*>(bits + i) + 4096, 0, 3);
    a = hn::Max(a, hn::And(hn::LoadU(d, bits + i), mask));
    b = hn::Max(b, hn::And(hn::LoadU(d, bits + i + N), mask));
  }
  const auto largest = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b))));
  return std::max(largest, largest_magnitude_reference(values + i, count - i));
}

}  // namespace magnitude_inl

LargestMagnitude GetLargest() {
  return magnitude_inl::Largest;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

LargestMagnitude largest_magnitude(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetLargest(), largest_magnitude_reference)
}

}  // namespace tensorpress::kernels
#endif
