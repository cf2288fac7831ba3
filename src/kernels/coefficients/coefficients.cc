// coefficients.h once for every vector width.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/coefficients/coefficients.cc"
#include "kernels/coefficients/coefficients.h"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Quanta have 32 bits: as many of them as there are values of T in a vector.
template <class T>
using TagOf = hn::CappedTag<T, 16>;
template <class T>
using QuantumTag = hn::Rebind<std::int32_t, TagOf<T>>;

template <class T, class V>
HWY_INLINE auto ToQuanta(V size) {
  const QuantumTag<T> di;
  if constexpr (sizeof(T) == 4) {
    return hn::ConvertTo(di, size);
  } else {
    return hn::DemoteTo(di, size);
  }
}

template <class T, class VI>
HWY_INLINE auto FromQuanta(VI quanta) {
  const TagOf<T> d;
  if constexpr (sizeof(T) == 4) {
    return hn::ConvertTo(d, quanta);
  } else {
    return hn::PromoteTo(d, quanta);
  }
}

template <class T, class VI>
HWY_INLINE void StoreMagnitudes(VI sizes, int shift, std::uint16_t* to) {
  const QuantumTag<T> di;
  const hn::Rebind<std::uint16_t, QuantumTag<T>> du16;
  const auto shifted = hn::ShiftRightSame(sizes, shift);
  hn::StoreU(hn::DemoteTo(du16, hn::Min(shifted, hn::Set(di, kMostMagnitude))), du16, to);
}

template <class T>
RowSize<T> Measure(const T* values, std::size_t count) {
  const TagOf<T> d;
  const std::size_t N = hn::Lanes(d), parts = 16 / N;
  T largest[16] = {}, sums[16] = {};
  const std::size_t whole = count / 16 * 16;
  for (std::size_t part = 0; part < parts; ++part) {
    auto most = hn::Zero(d), sum = hn::Zero(d);
    for (std::size_t i = part * N; i < whole; i += 16) {
      const auto size = hn::Abs(hn::LoadU(d, values + i));
      most = hn::IfThenElse(hn::Gt(size, most), size, most);
      sum = hn::Add(sum, size);
    }
    hn::StoreU(most, d, largest + part * N);
    hn::StoreU(sum, d, sums + part * N);
  }
  for (std::size_t i = whole; i < count; ++i) {
    const T size = values[i] < 0 ? -values[i] : values[i];
    if (size > largest[i % 16]) largest[i % 16] = size;
    sums[i % 16] += size;
  }
  RowSize<T> row;
  for (std::size_t lane = 0; lane < 16; ++lane) {
    if (largest[lane] > row.largest) row.largest = largest[lane];
    row.sum += sums[lane];
  }
  return row;
}

template <class T>
void Magnitudes(const T* values, std::size_t count, T inverse, int shift, std::uint16_t* to) {
  const TagOf<T> d;
  const std::size_t N = hn::Lanes(d);
  const auto factor = hn::Set(d, inverse), most = hn::Set(d, static_cast<T>(kMostQuantum));
  const auto half = hn::Set(d, static_cast<T>(0.5));
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    const auto size = hn::Abs(hn::Mul(hn::LoadU(d, values + i), factor));
    const auto usable = hn::IfThenElseZero(hn::Lt(size, most), size);
    StoreMagnitudes<T>(ToQuanta<T>(hn::Add(usable, half)), shift, to + i);
  }
  for (; i < count; ++i) to[i] = magnitude_of(nearest_quantum(values[i], inverse), shift);
}

template <class T>
void Quantize(const CoefficientQuantizer<T>& quantizer, const std::uint8_t* classes,
              std::size_t count, T* values, std::int32_t* quanta, std::uint16_t* magnitudes) {
  const TagOf<T> d;
  const QuantumTag<T> di;
  const hn::RebindToSigned<TagOf<T>> index;
  const hn::Rebind<std::uint8_t, TagOf<T>> du8;
  const std::size_t N = hn::Lanes(d);
  const auto factor = hn::Set(d, quantizer.inverse), step = hn::Set(d, quantizer.step);
  const auto most = hn::Set(d, static_cast<T>(kMostQuantum));
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    const auto value = hn::LoadU(d, values + i);
    const auto numbers = hn::PromoteTo(di, hn::LoadU(du8, classes + i));
    const auto places = [&]() HWY_ATTR {
      if constexpr (sizeof(T) == 4) {
        return numbers;
      } else {
        return hn::PromoteTo(index, numbers);
      }
    }();
    const auto size = hn::Mul(hn::Abs(value), factor);
    const auto from_zero = hn::GatherIndex(d, quantizer.from_zero.data(), places);
    const auto rise = hn::GatherIndex(d, quantizer.rise.data(), places);
    const auto cut = hn::IfThenElse(hn::Lt(size, most), size, most);
    const auto is_some = hn::Ge(size, from_zero);
    const auto some = hn::IfThenElseZero(is_some, hn::Add(cut, rise));
    const auto negative = hn::Lt(value, hn::Zero(d));
    const auto quantum = ToQuanta<T>(hn::IfThenElse(negative, hn::Neg(some), some));
    hn::StoreU(quantum, di, quanta + i);
    StoreMagnitudes<T>(hn::Abs(quantum), quantizer.shift, magnitudes + i);
    hn::StoreU(hn::Mul(FromQuanta<T>(quantum), step), d, values + i);
  }
  for (; i < count; ++i) {
    quanta[i] = quantum_of(quantizer, classes[i], values[i]);
    magnitudes[i] = magnitude_of(quanta[i], quantizer.shift);
    values[i] = static_cast<T>(quanta[i]) * quantizer.step;
  }
}

template <class T>
void Restore(const std::int32_t* quanta, std::size_t count, T step, int shift, T* values,
             std::uint16_t* magnitudes) {
  const TagOf<T> d;
  const QuantumTag<T> di;
  const hn::RebindToUnsigned<QuantumTag<T>> du;
  const std::size_t N = hn::Lanes(d);
  const auto factor = hn::Set(d, step);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    const auto quantum = hn::LoadU(di, quanta + i);
    hn::StoreU(hn::Mul(FromQuanta<T>(quantum), factor), d, values + i);
    // Unsigned, because hostile bytes may hold the number that has no absolute value.
    const auto size = hn::ShiftRightSame(hn::BitCast(du, hn::Abs(quantum)), shift);
    const auto cut = hn::BitCast(di, hn::Min(size, hn::Set(du, kMostMagnitude)));
    const hn::Rebind<std::uint16_t, QuantumTag<T>> du16;
    hn::StoreU(hn::DemoteTo(du16, cut), du16, magnitudes + i);
  }
  for (; i < count; ++i) {
    magnitudes[i] = magnitude_of(quanta[i], shift);
    values[i] = static_cast<T>(quanta[i]) * step;
  }
}

template <class T>
void FindMisses(const T* values, T offset, const T* originals, T limit, std::size_t count,
                std::uint8_t* flags) {
  const TagOf<T> d;
  const std::size_t N = hn::Lanes(d);
  const auto add = hn::Set(d, offset), most = hn::Set(d, limit);
  const std::size_t whole = count / kMissBlock * kMissBlock;
  for (std::size_t start = 0; start < whole; start += kMissBlock) {
    bool all = true;
    for (std::size_t i = start; i < start + kMissBlock; i += N) {
      const auto value = hn::Add(hn::LoadU(d, values + i), add);
      const auto error = hn::Abs(hn::Sub(hn::LoadU(d, originals + i), value));
      all = all && hn::AllTrue(d, hn::Le(error, most));
    }
    flags[start / kMissBlock] = all ? 0 : 1;
  }
  if (whole == count) return;
  bool all = true;
  for (std::size_t i = whole; i < count; ++i) {
    const T value = values[i] + offset, error = originals[i] - value;
    all = all && (error < 0 ? -error : error) <= limit;
  }
  flags[whole / kMissBlock] = all ? 0 : 1;
}

template <class T>
const CoefficientKernels<T>& GetCoefficientKernels() {
  static constexpr CoefficientKernels<T> kKernels = {Measure<T>, Magnitudes<T>, Quantize<T>,
                                                     Restore<T>, FindMisses<T>};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

template <>
const CoefficientKernels<float>& coefficient_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetCoefficientKernels<float>(), coefficient_kernels_reference<float>())
}
template <>
const CoefficientKernels<double>& coefficient_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetCoefficientKernels<double>(),
                       coefficient_kernels_reference<double>())
}

}  // namespace tensorpress::kernels
#endif
