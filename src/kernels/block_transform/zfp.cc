// ZFP's transform at chop factors 1 to 4 for every SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_transform/zfp.cc"
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

BlockTransform Zfp(Layout layout, int chop_factor) {
  switch (chop_factor) {
    case 1:
      return ForLayout<Zfp4, 1>(layout);
    case 2:
      return ForLayout<Zfp4, 2>(layout);
    case 3:
      return ForLayout<Zfp4, 3>(layout);
    default:
      return ForLayout<Zfp4, 4>(layout);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

BlockTransform zfp(Layout layout, int chop_factor, Isa isa) {
  TENSORPRESS_DISPATCH(isa, Zfp(layout, chop_factor),
                       reference_block_transform(Transform::zfp, layout, chop_factor))
}

}  // namespace tensorpress::kernels
#endif
