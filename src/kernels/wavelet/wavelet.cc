#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/wavelet/wavelet.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/wavelet/wavelet-inl.h"

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

template <>
const WaveletKernels<float>& wavelet_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetWaveletKernels<float>(), wavelet_kernels_reference<float>())
}
template <>
const WaveletKernels<double>& wavelet_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetWaveletKernels<double>(), wavelet_kernels_reference<double>())
}

}  // namespace tensorpress::kernels
#endif
