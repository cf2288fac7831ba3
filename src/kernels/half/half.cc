#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/half/half.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

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

// Rounds the low 13 or 16 bits away: to nearest, ties to even.
template <int kBits, class V>
HWY_INLINE V RoundShift(DU d, V bits) {
  const V odd = hn::And(hn::ShiftRight<kBits>(bits), hn::Set(d, 1u));
  return hn::ShiftRight<kBits>(hn::Add(hn::Add(bits, hn::Set(d, (1u << (kBits - 1)) - 1)), odd));
}

HWY_INLINE hn::Vec<DU> F16Bits(hn::Vec<DF> value) {
  const DF df;
  const DU du;
  const auto bits = hn::BitCast(du, value);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  const auto normal = hn::Sub(RoundShift<13>(du, magnitude), hn::Set(du, 112u << 10));
  // Below 2^-14 the unit is 2^-24, which is the unit of floats in [0.5, 1): let the addition round.
  const auto shifted = hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f)));
  const auto subnormal = hn::Sub(shifted, hn::Set(du, 0x3F000000u));
  auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000u)), subnormal, normal);
  half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x477FF000u)), half, hn::Set(du, 0x7C00u));
  half = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7F800000u)), hn::Set(du, 0x7E00u), half);
  return hn::Or(half, hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u)));
}

HWY_INLINE hn::Vec<DF> F16Value(hn::Vec<DU> half) {
  const DF df;
  const DU du;
  const DI di;
  const auto magnitude = hn::And(half, hn::Set(du, 0x7FFFu));
  const auto rebias = hn::Set(du, 112u << 23);
  auto bits = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
  bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x7C00u)), bits, hn::Add(bits, rebias));
  const auto tiny = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, magnitude)), hn::Set(df, 0x1p-24f));
  bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x0400u)), hn::BitCast(du, tiny), bits);
  return hn::BitCast(df, hn::Or(bits, hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)))));
}

HWY_INLINE hn::Vec<DU> Bf16Bits(hn::Vec<DF> value) {
  const DU du;
  const auto bits = hn::BitCast(du, value);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40u));
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7F800000u)), quiet,
                        RoundShift<16>(du, bits));
}

HWY_INLINE hn::Vec<DF> Bf16Value(hn::Vec<DU> half) {
  return hn::BitCast(DF(), hn::ShiftLeft<16>(half));
}

template <hn::Vec<DU> (*kConvert)(hn::Vec<DF>), HalfConversion::Narrow kReference>
void NarrowAll(const float* from, std::uint16_t* to, std::size_t count) {
  const DF df;
  const DI di;
  const DH dh;
  const std::size_t N = hn::Lanes(df);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    hn::StoreU(hn::DemoteTo(dh, hn::BitCast(di, kConvert(hn::LoadU(df, from + i)))), dh, to + i);
  }
  kReference(from + i, to + i, count - i);
}

template <hn::Vec<DF> (*kConvert)(hn::Vec<DU>), HalfConversion::Widen kReference>
void WidenAll(const std::uint16_t* from, float* to, std::size_t count) {
  const DF df;
  const DU du;
  const DH dh;
  const std::size_t N = hn::Lanes(df);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    hn::StoreU(kConvert(hn::PromoteTo(du, hn::LoadU(dh, from + i))), df, to + i);
  }
  kReference(from + i, to + i, count - i);
}

HalfConversion F16() {
  return {NarrowAll<F16Bits, f16_narrow_reference>, WidenAll<F16Value, f16_widen_reference>};
}
HalfConversion Bf16() {
  return {NarrowAll<Bf16Bits, bf16_narrow_reference>, WidenAll<Bf16Value, bf16_widen_reference>};
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
