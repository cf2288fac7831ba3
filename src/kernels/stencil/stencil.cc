#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stencil/stencil.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/stencil/stencil-inl.h"

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

template <>
const StencilKernels<float>& stencil_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetStencilKernels<float>(), stencil_kernels_reference<float>())
}
template <>
const StencilKernels<double>& stencil_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetStencilKernels<double>(), stencil_kernels_reference<double>())
}

}  // namespace tensorpress::kernels
#endif
