// The kernels of lorenzo.h for vectors of four or eight lanes.
#include <hwy/highway.h>

#include "kernels/lorenzo/lorenzo_row.h"

#if defined(TENSORPRESS_KERNELS_LORENZO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_KERNELS_LORENZO_INL_H_
#    undef TENSORPRESS_KERNELS_LORENZO_INL_H_
#  else
#    define TENSORPRESS_KERNELS_LORENZO_INL_H_
#  endif

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, 8>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using VI = hn::Vec<DI>;

inline constexpr std::size_t kLanes = hn::MaxLanes(DI());

// As many doubles as there are lanes in half a vector of floats: both kinds have 2 N values a step.
template <class T>
using DT = hn::CappedTag<T, 32 / sizeof(T)>;
template <class T>
inline constexpr std::size_t kLanesOf = hn::MaxLanes(DT<T>());

template <class T>
T MaxMagnitude(const T* x, std::size_t count) {
  const DT<T> d;
  constexpr std::size_t N = kLanesOf<T>;
  auto a = hn::Zero(d), b = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * N <= count; i += 2 * N) {
    a = hn::Max(a, hn::Abs(hn::LoadU(d, x + i)));
    b = hn::Max(b, hn::Abs(hn::LoadU(d, x + i + N)));
  }
  T largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  for (; i < count; ++i) largest = std::max(largest, std::fabs(x[i]));
  return largest;
}

template <class V>
HWY_INLINE void StoreQuanta(hn::CappedTag<float, 8>, V shifted, std::int32_t* q) {
  const DI di;
  const auto bias = hn::Set(di, static_cast<std::int32_t>(lorenzo::kRounderBits<float>));
  hn::StoreU(hn::Sub(hn::BitCast(di, shifted), bias), di, q);
}
template <class V>
HWY_INLINE void StoreQuanta(hn::CappedTag<double, 4> d, V shifted, std::int32_t* q) {
  const hn::RebindToUnsigned<decltype(d)> d64;
  const hn::Rebind<std::uint32_t, decltype(d)> d32;
  const hn::RebindToSigned<decltype(d32)> di32;
  hn::StoreU(hn::BitCast(di32, hn::TruncateTo(d32, hn::BitCast(d64, shifted))), di32, q);
}

template <class T>
std::size_t Quantize(const T* x, std::size_t count, const LorenzoQuantizer<T>& quantizer,
                     std::int32_t* q, std::uint32_t first, std::uint32_t* outliers,
                     std::size_t capacity) {
  const DT<T> d;
  constexpr std::size_t N = kLanesOf<T>;
  const auto inverse = hn::Set(d, quantizer.inverse);
  const auto step = hn::Set(d, quantizer.step);
  const auto limit = hn::Set(d, quantizer.limit);
  const auto rounder = hn::Set(d, lorenzo::kRounder<T>);
  std::size_t found = 0;
  const auto requantize_scalar = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (lorenzo::quantize_value(x[i], quantizer, q[i])) continue;
      q[i] = *(q + i - 1);
      if (found < capacity) outliers[found] = first + static_cast<std::uint32_t>(i);
      ++found;
    }
  };
  std::size_t i = 0;
  for (; i + 2 * N <= count; i += 2 * N) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + N);
    const auto shifted_a = hn::Add(hn::Mul(a, inverse), rounder);
    const auto shifted_b = hn::Add(hn::Mul(b, inverse), rounder);
    const auto error_a = hn::Abs(hn::Sub(a, hn::Mul(hn::Sub(shifted_a, rounder), step)));
    const auto error_b = hn::Abs(hn::Sub(b, hn::Mul(hn::Sub(shifted_b, rounder), step)));
    StoreQuanta(d, shifted_a, q + i);
    StoreQuanta(d, shifted_b, q + i + N);
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(hn::Max(error_a, error_b), limit)))) {
      requantize_scalar(i, i + 2 * N);
    }
  }
  requantize_scalar(i, count);
  return found;
}

template <bool kAbove, bool kBehind>
HWY_INLINE VI Residual(const std::int32_t* q, std::size_t i, const LorenzoRow<std::int32_t>& row) {
  const DI di;
  VI value = hn::LoadU(di, q + i);
  if constexpr (kAbove) value = hn::Sub(value, hn::LoadU(di, row.above + i));
  if constexpr (kBehind) value = hn::Sub(value, hn::LoadU(di, row.behind + i));
  if constexpr (kAbove && kBehind) value = hn::Add(value, hn::LoadU(di, row.corner + i));
  return value;
}

template <bool kAbove, bool kBehind>
void DifferenceRow(const std::int32_t* q, std::int32_t* d, std::size_t count,
                   const LorenzoRow<std::int32_t>& row) {
  const DI di;
  const auto order = static_cast<std::size_t>(row.order);
  lorenzo::difference_row(q, d, 0, std::min(order, count), row);
  if (count < order + kLanes) return lorenzo::difference_row(q, d, order, count, row);
  // The last vector overlaps the one before it.
  for (std::size_t i = order;; i = std::min(i + kLanes, count - kLanes)) {
    VI value = Residual<kAbove, kBehind>(q, i, row);
    if (order >= 1) {
      const VI before = Residual<kAbove, kBehind>(q, i - 1, row);
      value = hn::Sub(value, before);
      if (order == 2) {
        value = hn::Sub(value, hn::Sub(before, Residual<kAbove, kBehind>(q, i - 2, row)));
      }
    }
    hn::StoreU(value, di, d + i);
    if (i + kLanes == count) break;
  }
}

void Difference(const std::int32_t* q, std::int32_t* d, std::size_t count,
                const LorenzoRow<std::int32_t>& row) {
  if (row.above != nullptr && row.behind != nullptr)
    return DifferenceRow<true, true>(q, d, count, row);
  if (row.above != nullptr) return DifferenceRow<true, false>(q, d, count, row);
  if (row.behind != nullptr) return DifferenceRow<false, true>(q, d, count, row);
  DifferenceRow<false, false>(q, d, count, row);
}

// Sums within blocks of four lanes, then the lower block's last into the upper.
template <class V>
HWY_INLINE V PrefixSum(V v) {
  const DI di;
  v = hn::Add(v, hn::ShiftLeftLanes<1>(di, v));
  v = hn::Add(v, hn::ShiftLeftLanes<2>(di, v));
  if constexpr (sizeof(V) > 16) {
    const auto last = hn::Broadcast<3>(hn::LowerHalf(v));
    v = hn::Add(v, hn::Combine(di, last, hn::Zero(hn::Half<DI>())));
  }
  return v;
}

template <bool kAbove, bool kBehind>
void IntegrateRow(std::int32_t* d, std::size_t count, const LorenzoRow<std::int32_t>& row) {
  const DI di;
  const VI last = hn::Set(di, static_cast<std::int32_t>(kLanes - 1));
  const auto broadcast = hn::IndicesFromVec(di, last);
  VI carry = hn::Set(di, row.order >= 1 ? row.left : 0);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    VI value = hn::LoadU(di, d + i);
    if (row.order >= 1) {
      value = PrefixSum(value);
      const VI total = hn::TableLookupLanes(value, broadcast);
      value = hn::Add(value, carry);
      carry = hn::Add(carry, total);
    }
    if constexpr (kAbove) value = hn::Add(value, hn::LoadU(di, row.above + i));
    if constexpr (kBehind) value = hn::Add(value, hn::LoadU(di, row.behind + i));
    if constexpr (kAbove && kBehind) value = hn::Sub(value, hn::LoadU(di, row.corner + i));
    hn::StoreU(value, di, d + i);
  }
  lorenzo::integrate_row(d, i, count, row);
}

void Integrate(std::int32_t* d, std::size_t count, const LorenzoRow<std::int32_t>& row) {
  if (row.order == 2) return lorenzo::integrate_row(d, 0, count, row);
  if (row.above != nullptr && row.behind != nullptr) return IntegrateRow<true, true>(d, count, row);
  if (row.above != nullptr) return IntegrateRow<true, false>(d, count, row);
  if (row.behind != nullptr) return IntegrateRow<false, true>(d, count, row);
  IntegrateRow<false, false>(d, count, row);
}

HWY_INLINE auto LoadReals(hn::CappedTag<float, 8> d, const std::int32_t* q) {
  return hn::ConvertTo(d, hn::LoadU(DI(), q));
}
HWY_INLINE auto LoadReals(hn::CappedTag<double, 4> d, const std::int32_t* q) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::int32_t, decltype(d)>(), q));
}

template <class T>
void Scale(const std::int32_t* q, T* x, std::size_t count, T step) {
  const DT<T> d;
  constexpr std::size_t N = kLanesOf<T>;
  const auto factor = hn::Set(d, step);
  std::size_t i = 0;
  for (; i + N <= count; i += N) hn::StoreU(hn::Mul(LoadReals(d, q + i), factor), d, x + i);
  for (; i < count; ++i) x[i] = static_cast<T>(q[i]) * step;
}

template <class V>
HWY_INLINE auto FourLanes(V v) {
  if constexpr (sizeof(V) > 16) {
    const hn::FixedTag<std::int32_t, 4> d4;
    return hn::Add(hn::LowerHalf(d4, v), hn::UpperHalf(d4, v));
  } else {
    return v;
  }
}

void Cells(const std::int32_t* d, std::size_t blocks, int log2_block, std::uint16_t* result) {
  const DI di;
  const DF df;
  const std::size_t size = std::size_t{1} << log2_block;
  const VI cap = hn::Set(di, 1 << 24);
  const VI bias = hn::Set(di, 126);
  for (std::size_t block = 0; block < blocks; ++block) {
    VI sum = hn::Zero(di), lengths = hn::Zero(di);
    for (std::size_t i = 0; i < size; i += kLanes) {
      // |-2^31| wraps to itself; as unsigned it is above the cap.
      const VI magnitude =
          hn::BitCast(di, hn::Min(hn::BitCast(DU(), hn::Abs(hn::LoadU(di, d + block * size + i))),
                                  hn::BitCast(DU(), cap)));
      sum = hn::Add(sum, magnitude);
      const VI exponent = hn::ShiftRight<23>(hn::BitCast(di, hn::ConvertTo(df, magnitude)));
      lengths = hn::Add(lengths, hn::Sub(hn::Max(exponent, bias), bias));
    }
    // Pairs (sum, lengths) in every 64 bits, then add them all up.
    VI both = hn::Add(hn::InterleaveLower(di, sum, lengths), hn::InterleaveUpper(di, sum, lengths));
    const auto four = FourLanes(both);
    const hn::FixedTag<std::uint64_t, 2> d2;
    const auto total = hn::BitCast(d2, hn::Add(four, hn::Shuffle1032(four)));
    const std::uint64_t pair = hn::GetLane(total);
    const lorenzo::BlockFeatures features{static_cast<std::uint32_t>(pair),
                                          static_cast<std::uint32_t>(pair >> 32)};
    result[block] = lorenzo::block_cell(features, log2_block);
  }
}

LorenzoKernels GetLorenzoKernels() {
  return {{MaxMagnitude<float>, Quantize<float>, Scale<float>},
          {MaxMagnitude<double>, Quantize<double>, Scale<double>},
          Difference,
          Integrate,
          Cells};
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
