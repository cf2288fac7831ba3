#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize/quantize.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/quantize/quantize-inl.h"

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

GroupQuantizer group_quantizer(DType dtype, int bits, bool stochastic, Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetGroupQuantizer(dtype, bits, stochastic),
                       group_quantizer_reference(dtype, bits, stochastic))
}

}  // namespace tensorpress::kernels
#endif
