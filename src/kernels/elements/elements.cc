#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elements/elements.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "kernels/elements/elements.h"
#include "kernels/elements/half-inl.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;

// What lies in memory, as bits or integers, and the way to floats and back.
template <class Int>
struct Integers {
  using Stored = Int;
  static hn::Vec<DF> Value(DF df, hn::Vec<hn::Rebind<Int, DF>> stored) {
    return hn::ConvertTo(df, hn::PromoteTo(DI(), stored));
  }
  // Whole part and remainder are exact, and so is the choice between them.
  static hn::Vec<hn::Rebind<Int, DF>> Bits(DF df, hn::Vec<DF> value) {
    const auto least = hn::Set(df, static_cast<float>(std::numeric_limits<Int>::min()));
    const auto most = hn::Set(df, static_cast<float>(std::numeric_limits<Int>::max()));
    const auto clamped = hn::IfThenElse(hn::Gt(value, least), hn::Min(value, most), least);
    const auto whole = hn::Floor(clamped);
    const auto up = hn::Ge(hn::Sub(clamped, whole), hn::Set(df, 0.5f));
    const auto rounded = hn::Add(whole, hn::IfThenElseZero(up, hn::Set(df, 1.0f)));
    return hn::DemoteTo(hn::Rebind<Int, DF>(), hn::ConvertTo(DI(), rounded));
  }
};

template <hn::Vec<DF> (*kValue)(DF, hn::Vec<DU>), hn::Vec<DU> (*kBits)(DF, hn::Vec<DF>)>
struct Halves {
  using Stored = std::uint16_t;
  static hn::Vec<DF> Value(DF df, hn::Vec<hn::Rebind<std::uint16_t, DF>> stored) {
    return kValue(df, hn::PromoteTo(DU(), stored));
  }
  static hn::Vec<hn::Rebind<std::uint16_t, DF>> Bits(DF df, hn::Vec<DF> value) {
    return hn::DemoteTo(hn::Rebind<std::uint16_t, DF>(), hn::BitCast(DI(), kBits(df, value)));
  }
};
using F16 = Halves<half_inl::F16Value<DF>, half_inl::F16Bits<DF>>;
using Bf16 = Halves<half_inl::Bf16Value<DF>, half_inl::Bf16Bits<DF>>;

template <class Kind, DType kType>
void Load(const std::byte* from, std::size_t count, float* to) {
  const DF df;
  const hn::Rebind<typename Kind::Stored, DF> stored;
  const hn::Repartition<std::uint8_t, decltype(stored)> bytes;
  const std::size_t N = hn::Lanes(df), size = sizeof(typename Kind::Stored);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(from) + i * size;
    hn::StoreU(Kind::Value(df, hn::BitCast(stored, hn::LoadU(bytes, at))), df, to + i);
  }
  element_conversion_reference(kType).load(from + i * size, count - i, to + i);
}

template <class Kind, DType kType>
void Store(const float* from, std::size_t count, std::byte* to) {
  const DF df;
  const hn::Rebind<typename Kind::Stored, DF> stored;
  const hn::Repartition<std::uint8_t, decltype(stored)> bytes;
  const std::size_t N = hn::Lanes(df), size = sizeof(typename Kind::Stored);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    auto* const at = reinterpret_cast<std::uint8_t*>(to) + i * size;
    hn::StoreU(hn::BitCast(bytes, Kind::Bits(df, hn::LoadU(df, from + i))), bytes, at);
  }
  element_conversion_reference(kType).store(from + i, count - i, to + i * size);
}

template <class Kind, DType kType>
ElementConversion ConversionOf() {
  return {Load<Kind, kType>, Store<Kind, kType>};
}

ElementConversion GetConversion(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return ConversionOf<F16, DType::f16>();
    case DType::bf16:
      return ConversionOf<Bf16, DType::bf16>();
    case DType::u8:
      return ConversionOf<Integers<std::uint8_t>, DType::u8>();
    case DType::i16:
      return ConversionOf<Integers<std::int16_t>, DType::i16>();
    case DType::f32:
    case DType::f64:
      break;
  }
  return element_conversion_reference(dtype);
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

ElementConversion element_conversion(DType dtype, Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetConversion(dtype), element_conversion_reference(dtype))
}

}  // namespace tensorpress::kernels
#endif
