// Vectors of floats to f16 or bf16 in the low half of 32-bit lanes and back, for any width.
#include <hwy/highway.h>

#include <cstdint>

#if defined(TENSORPRESS_KERNELS_ELEMENTS_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_KERNELS_ELEMENTS_HALF_INL_H_
#    undef TENSORPRESS_KERNELS_ELEMENTS_HALF_INL_H_
#  else
#    define TENSORPRESS_KERNELS_ELEMENTS_HALF_INL_H_
#  endif

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace half_inl {
namespace hn = hwy::HWY_NAMESPACE;

template <class DF>
using Bits = hn::Vec<hn::RebindToUnsigned<DF>>;

// Rounds the low 13 or 16 bits away: to nearest, ties to even.
template <int kBits, class DU, class V>
HWY_INLINE V RoundShift(DU d, V bits) {
  const V odd = hn::And(hn::ShiftRight<kBits>(bits), hn::Set(d, 1u));
  return hn::ShiftRight<kBits>(hn::Add(hn::Add(bits, hn::Set(d, (1u << (kBits - 1)) - 1)), odd));
}

// A NaN whose fraction was cut to these bits; a quiet one if none of them is left.
template <std::uint32_t kFraction, class DU, class V>
HWY_INLINE V Nan(DU d, V cut) {
  const auto infinite = hn::Eq(hn::And(cut, hn::Set(d, kFraction)), hn::Zero(d));
  return hn::Or(cut, hn::IfThenElseZero(infinite, hn::Set(d, (kFraction + 1) / 2)));
}

template <class DF>
HWY_INLINE Bits<DF> F16Bits(DF df, hn::Vec<DF> value) {
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::BitCast(du, value);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  const auto normal = hn::Sub(RoundShift<13>(du, magnitude), hn::Set(du, 112u << 10));
  // Below 2^-14 the unit is 2^-24, which is the unit of floats in [0.5, 1): let the addition round.
  const auto shifted = hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), hn::Set(df, 0.5f)));
  const auto subnormal = hn::Sub(shifted, hn::Set(du, 0x3F000000u));
  auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000u)), subnormal, normal);
  half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x477FF000u)), half, hn::Set(du, 0x7C00u));
  half = hn::IfThenElse(
      hn::Gt(magnitude, hn::Set(du, 0x7F800000u)),
      Nan<0x3FFu>(du, hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x7FFFu))), half);
  return hn::Or(half, hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u)));
}

template <class DF>
HWY_INLINE hn::Vec<DF> F16Value(DF df, Bits<DF> half) {
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const auto magnitude = hn::And(half, hn::Set(du, 0x7FFFu));
  const auto rebias = hn::Set(du, 112u << 23);
  auto bits = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
  bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x7C00u)), bits, hn::Add(bits, rebias));
  const auto tiny = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, magnitude)), hn::Set(df, 0x1p-24f));
  bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x0400u)), hn::BitCast(du, tiny), bits);
  return hn::BitCast(df, hn::Or(bits, hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000u)))));
}

template <class DF>
HWY_INLINE Bits<DF> Bf16Bits(DF /*df*/, hn::Vec<DF> value) {
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::BitCast(du, value);
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFu));
  const auto high = hn::ShiftRight<16>(bits);
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7F800000u)), Nan<0x7Fu>(du, high),
                        RoundShift<16>(du, bits));
}

template <class DF>
HWY_INLINE hn::Vec<DF> Bf16Value(DF df, Bits<DF> half) {
  return hn::BitCast(df, hn::ShiftLeft<16>(half));
}

}  // namespace half_inl
}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
