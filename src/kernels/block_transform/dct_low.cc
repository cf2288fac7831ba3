// The DCT at chop factors 1 to 4 for every SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_transform/dct_low.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/block_transform/block_transform-inl.h"
#include "kernels/block_transform/variants.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {

BlockTransform DctLow(Layout layout, int chop_factor) {
  switch (chop_factor) {
    case 1:
      return ForLayout<Dct8, 1>(layout);
    case 2:
      return ForLayout<Dct8, 2>(layout);
    case 3:
      return ForLayout<Dct8, 3>(layout);
    default:
      return ForLayout<Dct8, 4>(layout);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

BlockTransform dct_low(Layout layout, int chop_factor, Isa isa) {
  TENSORPRESS_DISPATCH(isa, DctLow(layout, chop_factor),
                       reference_block_transform(Transform::dct, layout, chop_factor))
}

}  // namespace tensorpress::kernels
#endif
