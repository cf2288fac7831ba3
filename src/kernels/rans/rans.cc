#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rans/rans.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/rans/rans-inl.h"

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

RansKernels rans_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetRansKernels(), rans_reference())
}

}  // namespace tensorpress::kernels
#endif
