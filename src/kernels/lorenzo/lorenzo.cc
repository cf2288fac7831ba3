#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lorenzo/lorenzo.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/lorenzo/lorenzo-inl.h"

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

LorenzoKernels lorenzo_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetLorenzoKernels(), lorenzo_reference())
}

}  // namespace tensorpress::kernels
#endif
