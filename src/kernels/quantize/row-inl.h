// Eight consecutive values of f32, f16 or bf16 as floats and back, one or two vectors of them.
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "base/tensor/elements.h"
#include "kernels/elements/half-inl.h"

#if defined(TENSORPRESS_KERNELS_QUANTIZE_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_KERNELS_QUANTIZE_ROW_INL_H_
#    undef TENSORPRESS_KERNELS_QUANTIZE_ROW_INL_H_
#  else
#    define TENSORPRESS_KERNELS_QUANTIZE_ROW_INL_H_
#  endif

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace rows {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 8>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using DH = hn::Rebind<std::uint16_t, DF>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;

inline constexpr std::size_t kLanes = hn::MaxLanes(DF());

// AVX2 and AVX-512 have instructions for f16; Highway emulates them elsewhere without infinities
// and without our rounding.
#    define TENSORPRESS_NATIVE_F16 (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)

HWY_INLINE VF LoadValues(const float* from) {
  return hn::LoadU(DF(), from);
}
HWY_INLINE VF LoadValues(const F16Bits* from) {
#    if TENSORPRESS_NATIVE_F16
  const hn::Rebind<hwy::float16_t, DF> dh;
  return hn::PromoteTo(DF(), hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from)));
#    else
  const auto halves = hn::LoadU(DH(), reinterpret_cast<const std::uint16_t*>(from));
  return half_inl::F16Value(DF(), hn::PromoteTo(DU(), halves));
#    endif
}
HWY_INLINE VF LoadValues(const Bf16Bits* from) {
  const auto halves = hn::LoadU(DH(), reinterpret_cast<const std::uint16_t*>(from));
  return half_inl::Bf16Value(DF(), hn::PromoteTo(DU(), halves));
}

template <bool kStream>
HWY_INLINE void StoreHalves(VU bits, std::uint16_t* to) {
  const auto halves = hn::DemoteTo(DH(), hn::BitCast(DI(), bits));
  if constexpr (kStream && kLanes == 8) {
    hn::Stream(halves, DH(), to);
  } else {
    hn::StoreU(halves, DH(), to);
  }
}

/// Finite values stay finite: they are limited to the type's largest number. Streams need
/// addresses that are multiples of a row's size.
template <bool kStream>
HWY_INLINE void StoreValues(VF values, float* to) {
  if constexpr (kStream) {
    hn::Stream(values, DF(), to);
  } else {
    hn::StoreU(values, DF(), to);
  }
}
template <bool kStream>
HWY_INLINE void StoreValues(VF values, F16Bits* to) {
  const DF d;
  values = hn::Min(hn::Max(values, hn::Set(d, -65504.0f)), hn::Set(d, 65504.0f));
#    if TENSORPRESS_NATIVE_F16
  const hn::Rebind<hwy::float16_t, DF> dh;
  const auto halves = hn::BitCast(DH(), hn::DemoteTo(dh, values));
  if constexpr (kStream) {
    hn::Stream(halves, DH(), reinterpret_cast<std::uint16_t*>(to));
  } else {
    hn::StoreU(halves, DH(), reinterpret_cast<std::uint16_t*>(to));
  }
#    else
  StoreHalves<kStream>(half_inl::F16Bits(d, values), reinterpret_cast<std::uint16_t*>(to));
#    endif
}
template <bool kStream>
HWY_INLINE void StoreValues(VF values, Bf16Bits* to) {
  const DF d;
  const DU du;
  constexpr float kLargest = 0x1.FEp127f;
  values = hn::Min(hn::Max(values, hn::Set(d, -kLargest)), hn::Set(d, kLargest));
  StoreHalves<kStream>(half_inl::RoundShift<16>(du, hn::BitCast(du, values)),
                       reinterpret_cast<std::uint16_t*>(to));
}

/// `count` values, a multiple of 8, as floats in `to`, and back.
template <class T>
HWY_INLINE void WidenRows(const T* from, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; i += kLanes) hn::StoreU(LoadValues(from + i), DF(), to + i);
}
template <bool kStream, class T>
HWY_INLINE void NarrowRows(const float* from, std::size_t count, T* to) {
  for (std::size_t i = 0; i < count; i += kLanes) {
    StoreValues<kStream>(hn::LoadU(DF(), from + i), to + i);
  }
}

}  // namespace rows
}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
