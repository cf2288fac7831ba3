// The DCT at chop factors 5 to 8 for every SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_transform/dct_high.cc"
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

BlockTransform DctHigh(Layout layout, int chop_factor) {
  switch (chop_factor) {
    case 5:
      return ForLayout<Dct8, 5>(layout);
    case 6:
      return ForLayout<Dct8, 6>(layout);
    case 7:
      return ForLayout<Dct8, 7>(layout);
    default:
      return ForLayout<Dct8, 8>(layout);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

BlockTransform dct_high(Layout layout, int chop_factor, Isa isa) {
  TENSORPRESS_DISPATCH(isa, DctHigh(layout, chop_factor),
                       reference_block_transform(Transform::dct, layout, chop_factor))
}

}  // namespace tensorpress::kernels
#endif
