#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/half/half.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/half/half-inl.h"
#include "kernels/half/half_ref.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using DH = hn::Rebind<uint16_t, DF>;

template <hn::Vec<DU> (*kConvert)(DF, hn::Vec<DF>), HalfConversion::Narrow kReference>
void NarrowAll(const float* from, std::uint16_t* to, std::size_t count) {
  const DF df;
  const DI di;
  const DH dh;
  const std::size_t N = hn::Lanes(df);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, kConvert(df, hn::LoadU(df, from + i)))), dh,
               to + i);
  }
  kReference(from + i, to + i, count - i);
}

template <hn::Vec<DF> (*kConvert)(DF, hn::Vec<DU>), HalfConversion::Widen kReference>
void WidenAll(const std::uint16_t* from, float* to, std::size_t count) {
  const DF df;
  const DU du;
  const DH dh;
  const std::size_t N = hn::Lanes(df);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    hn::StoreU(kConvert(df, hn::PromoteTo(du, hn::LoadU(dh, from + i))), df, to + i);
  }
  kReference(from + i, to + i, count - i);
}

HalfConversion F16() {
  return {NarrowAll<half_inl::F16Bits<DF>, f16_narrow_reference>,
          WidenAll<half_inl::F16Value<DF>, f16_widen_reference>};
}
HalfConversion Bf16() {
  return {NarrowAll<half_inl::Bf16Bits<DF>, bf16_narrow_reference>,
          WidenAll<half_inl::Bf16Value<DF>, bf16_widen_reference>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

HalfConversion f16_conversion(Isa isa){TENSORPRESS_DISPATCH(
    isa, F16(), (HalfConversion{f16_narrow_reference, f16_widen_reference}))} HalfConversion
    bf16_conversion(Isa isa) {
  TENSORPRESS_DISPATCH(isa, Bf16(), (HalfConversion{bf16_narrow_reference, bf16_widen_reference}))
}

}  // namespace tensorpress::kernels
#endif
