#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/interpolation/interpolation.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/interpolation/interpolation-inl.h"

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

template <>
const InterpolationKernels<float>& interpolation_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetInterpolationKernels<float>(),
                       interpolation_kernels_reference<float>())
}
template <>
const InterpolationKernels<double>& interpolation_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetInterpolationKernels<double>(),
                       interpolation_kernels_reference<double>())
}

}  // namespace tensorpress::kernels
#endif
