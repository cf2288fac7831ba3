#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fp8/fp8.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/elements/half-inl.h"
#include "kernels/fp8/fp8_ref.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace fp8_inl {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using DB = hn::Rebind<std::uint8_t, DF>;

// Magnitudes as signed integers: they have no sign, and AVX2 compares only signed ones.
template <int kFractionBits>
HWY_INLINE hn::Vec<DI> Code(hn::Vec<DF> value) {
  using Layout = Fp8Layout<kFractionBits>;
  const DF df;
  const DU du;
  const DI di;
  const auto set = [&](std::uint32_t bits)
                       HWY_ATTR { return hn::Set(di, static_cast<std::int32_t>(bits)); };
  const auto bits = hn::BitCast(du, value);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  const auto size = hn::BitCast(di, magnitude);
  const auto rounded = hn::BitCast(di, half_inl::RoundShift<Layout::kShift>(du, magnitude));
  const auto normal = hn::Min(hn::Sub(rounded, set(Layout::kRebias)), set(Layout::kLargest));
  const auto rounder = hn::Set(df, Layout::kRounder);
  const auto subnormal = hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(df, magnitude), rounder)),
                                 hn::BitCast(di, rounder));
  auto code = hn::IfThenElse(hn::Lt(size, set(Layout::kSmallestNormal)), subnormal, normal);
  code = hn::IfThenElse(hn::Eq(size, set(0x7F800000u)), set(Layout::kInfinity), code);
  code = hn::IfThenElse(hn::Gt(size, set(0x7F800000u)), set(0x7Fu), code);
  const auto sign = hn::And(hn::ShiftRight<24>(bits), hn::Set(du, 0x80u));
  return hn::Or(code, hn::BitCast(di, sign));
}

HWY_INLINE hn::Vec<DF> E4m3Value(hn::Vec<DU> code) {
  const DF df;
  const DU du;
  const DI di;
  const auto magnitude = hn::And(code, hn::Set(du, 0x7Fu));
  const auto size = hn::BitCast(di, magnitude);
  auto bits = hn::Add(hn::ShiftLeft<20>(magnitude), hn::Set(du, 120u << 23));
  const auto tiny = hn::Mul(hn::ConvertTo(df, size), hn::Set(df, 0x1p-9f));
  bits =
      hn::IfThenElse(hn::RebindMask(du, hn::Lt(size, hn::Set(di, 8))), hn::BitCast(du, tiny), bits);
  bits = hn::IfThenElse(hn::Eq(magnitude, hn::Set(du, 0x7Fu)), hn::Set(du, 0x7FC00000u), bits);
  return hn::BitCast(df, hn::Or(bits, hn::ShiftLeft<24>(hn::And(code, hn::Set(du, 0x80u)))));
}

HWY_INLINE hn::Vec<DF> E5m2Value(hn::Vec<DU> code) {
  return half_inl::F16Value(DF(), hn::ShiftLeft<8>(code));
}

template <int kFractionBits>
void NarrowAll(const float* from, std::uint8_t* to, std::size_t count) {
  const DF df;
  const DB db;
  const std::size_t N = hn::Lanes(df);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    hn::StoreU(hn::DemoteTo(db, Code<kFractionBits>(hn::LoadU(df, from + i))), db, to + i);
  }
  fp8_narrow_reference<kFractionBits>(from + i, to + i, count - i);
}

template <hn::Vec<DF> (*kValue)(hn::Vec<DU>), Fp8Conversion::Widen kReference>
void WidenAll(const std::uint8_t* from, float* to, std::size_t count) {
  const DF df;
  const DU du;
  const DB db;
  const std::size_t N = hn::Lanes(df);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    hn::StoreU(kValue(hn::PromoteTo(du, hn::LoadU(db, from + i))), df, to + i);
  }
  kReference(from + i, to + i, count - i);
}

}  // namespace fp8_inl

Fp8Conversion E4m3() {
  return {fp8_inl::NarrowAll<3>, fp8_inl::WidenAll<fp8_inl::E4m3Value, e4m3_widen_reference>};
}
Fp8Conversion E5m2() {
  return {fp8_inl::NarrowAll<2>, fp8_inl::WidenAll<fp8_inl::E5m2Value, e5m2_widen_reference>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

Fp8Conversion e4m3_conversion(Isa isa){TENSORPRESS_DISPATCH(
    isa, E4m3(), (Fp8Conversion{fp8_narrow_reference<3>, e4m3_widen_reference}))} Fp8Conversion
    e5m2_conversion(Isa isa) {
  TENSORPRESS_DISPATCH(isa, E5m2(), (Fp8Conversion{fp8_narrow_reference<2>, e5m2_widen_reference}))
}

}  // namespace tensorpress::kernels
#endif
