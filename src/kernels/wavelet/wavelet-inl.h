// wavelet.h once for every vector width. A pair of values costs one multiplication a tap of both
// half filters and twice as many additions: 23 and 46 with 25/19, 13 and 26 with 13/11, 9 and 18
// with 9/7. Columns are copied to scratch memory in blocks that stay in the first cache.
#include "kernels/highway_targets.h"
#include "kernels/wavelet/wavelet.h"
// (keep the order)
#include <hwy/highway.h>

#include <cstring>

#if defined(TENSORPRESS_WAVELET_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_WAVELET_INL_H
#    undef TENSORPRESS_WAVELET_INL_H
#  else
#    define TENSORPRESS_WAVELET_INL_H
#  endif

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A line of vectors: element i of it is at + i * pitch.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> PairSum(D d, const T* at, std::ptrdiff_t offset) {
  return hn::Add(hn::LoadU(d, at - offset), hn::LoadU(d, at + offset));
}

template <WaveletFilter kFilter, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LowOfLine(D d, const T* at, std::ptrdiff_t pitch) {
  constexpr auto& taps = kWaveletTaps<kFilter>;
  auto sum = hn::Mul(hn::Set(d, static_cast<T>(taps.low[0])), hn::LoadU(d, at));
  TENSORPRESS_UNROLL
  for (std::size_t k = 1; k < taps.kLow; ++k) {
    sum = hn::Add(sum, hn::Mul(hn::Set(d, static_cast<T>(taps.low[k])),
                               PairSum(d, at, static_cast<std::ptrdiff_t>(k) * pitch)));
  }
  return sum;
}

template <WaveletFilter kFilter, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> HighOfLine(D d, const T* at, std::ptrdiff_t pitch) {
  constexpr auto& taps = kWaveletTaps<kFilter>;
  auto sum = hn::Mul(hn::Set(d, static_cast<T>(taps.high[0])), hn::LoadU(d, at));
  TENSORPRESS_UNROLL
  for (std::size_t k = 1; k < taps.kHigh; ++k) {
    const T tap = static_cast<T>(k % 2 == 1 ? -taps.high[k] : taps.high[k]);
    sum = hn::Add(sum,
                  hn::Mul(hn::Set(d, tap), PairSum(d, at, static_cast<std::ptrdiff_t>(k) * pitch)));
  }
  return sum;
}

// What stands at distance k from an even (odd) place of the interleaved halves.
template <WaveletFilter kFilter, bool kOdd>
constexpr double SynthesisTap(std::size_t k) {
  constexpr auto& taps = kWaveletTaps<kFilter>;
  const bool low = (k + (kOdd ? 1 : 0)) % 2 == 0;
  if (k >= (low ? taps.kHigh : taps.kLow)) return 0;
  const double magnitude = low ? taps.high[k] : taps.low[k];
  return !low && k % 2 == 1 ? -magnitude : magnitude;
}

template <WaveletFilter kFilter, bool kOdd, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> ValueOfLine(D d, const T* at, std::ptrdiff_t pitch) {
  auto sum = hn::Mul(hn::Set(d, static_cast<T>(SynthesisTap<kFilter, kOdd>(0))), hn::LoadU(d, at));
  TENSORPRESS_UNROLL
  for (std::size_t k = 1; k <= kWaveletTaps<kFilter>.kReach; ++k) {
    const double tap = SynthesisTap<kFilter, kOdd>(k);
    if (tap != 0) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, static_cast<T>(tap)),
                                 PairSum(d, at, static_cast<std::ptrdiff_t>(k) * pitch)));
    }
  }
  return sum;
}

// As extend of the reference, of a line whose elements are rows of `pitch`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void ExtendLine(D d, T* line, std::size_t count, std::size_t reach, std::size_t pitch,
                           WaveletEnds ends, bool halves) {
  const std::size_t N = hn::Lanes(d);
  T* const last = line + (count - 1) * pitch;
  for (std::size_t x = 0; x < pitch; x += N) {
    const auto first_twice = hn::Add(hn::LoadU(d, line + x), hn::LoadU(d, line + x));
    const auto last_twice = hn::Add(hn::LoadU(d, last + x), hn::LoadU(d, last + x));
    for (std::size_t k = 1; k <= reach; ++k) {
      auto left = hn::LoadU(d, line + k * pitch + x);
      auto right = hn::LoadU(d, last - k * pitch + x);
      if (ends == WaveletEnds::through_point) {
        const bool difference = halves && k % 2 == 1;
        left = difference ? hn::Neg(left) : hn::Sub(first_twice, left);
        right = difference ? hn::Neg(right) : hn::Sub(last_twice, right);
      }
      hn::StoreU(left, d, line - k * pitch + x);
      hn::StoreU(right, d, last + k * pitch + x);
    }
  }
}

template <class T>
using ColumnTag = hn::CappedTag<T, kWaveletBlock>;

// Columns in two blocks at a time, so that cache lines come in pairs, then one.
template <class Work>
HWY_INLINE void ForBlocks(std::size_t width, const Work& work) {
  std::size_t x = 0;
  for (; x + 2 * kWaveletBlock <= width; x += 2 * kWaveletBlock) {
    work.template operator()<2 * kWaveletBlock>(x);
  }
  if (x < width) work.template operator()<kWaveletBlock>(x);
}

// A block of columns is short: a call would cost more than the copy.
template <std::size_t kBlock, class D, class T = hn::TFromD<D>>
HWY_INLINE void CopyBlock(D d, const T* HWY_RESTRICT from, T* HWY_RESTRICT to) {
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kBlock; v += hn::MaxLanes(d)) {
    hn::StoreU(hn::LoadU(d, from + v), d, to + v);
  }
}

template <WaveletFilter kFilter, class T>
void AnalyzeColumns(const WaveletStep& step, T* values, std::size_t stride, std::size_t width,
                    T* scratch) {
  const ColumnTag<T> d;
  const std::size_t N = hn::Lanes(d), count = step.count, half = (count + 1) / 2;
  constexpr std::size_t kReach = kWaveletTaps<kFilter>.kReach;
  ForBlocks(width, [&]<std::size_t kBlock>(std::size_t x) HWY_ATTR {
    T* const line = scratch + kReach * kBlock;
    for (std::size_t i = 0; i < count; ++i) {
      CopyBlock<kBlock>(d, values + i * stride + x, line + i * kBlock);
    }
    ExtendLine(d, line, count, kReach, kBlock, step.ends, false);
    const auto pitch = static_cast<std::ptrdiff_t>(kBlock);
    for (std::size_t i = 0; i < count; ++i) {
      T* const to = values + (i % 2 == 0 ? i / 2 : half + i / 2) * stride + x;
      for (std::size_t v = 0; v < kBlock; v += N) {
        const T* const at = line + i * kBlock + v;
        const auto value =
            i % 2 == 0 ? LowOfLine<kFilter>(d, at, pitch) : HighOfLine<kFilter>(d, at, pitch);
        hn::StoreU(value, d, to + v);
      }
    }
  });
}

template <WaveletFilter kFilter, class T>
void SynthesizeColumns(const WaveletStep& step, T* values, std::size_t stride, std::size_t width,
                       T* scratch) {
  const ColumnTag<T> d;
  const std::size_t N = hn::Lanes(d), count = step.count, half = (count + 1) / 2;
  constexpr std::size_t kReach = kWaveletTaps<kFilter>.kReach;
  ForBlocks(width, [&]<std::size_t kBlock>(std::size_t x) HWY_ATTR {
    T* const line = scratch + kReach * kBlock;
    for (std::size_t i = 0; i < count; ++i) {
      const T* const from = values + (i % 2 == 0 ? i / 2 : half + i / 2) * stride + x;
      CopyBlock<kBlock>(d, from, line + i * kBlock);
    }
    ExtendLine(d, line, count, kReach, kBlock, step.ends, true);
    const auto pitch = static_cast<std::ptrdiff_t>(kBlock);
    for (std::size_t i = 0; i < count; ++i) {
      T* const to = values + i * stride + x;
      for (std::size_t v = 0; v < kBlock; v += N) {
        const T* const at = line + i * kBlock + v;
        const auto value = i % 2 == 0 ? ValueOfLine<kFilter, false>(d, at, pitch)
                                      : ValueOfLine<kFilter, true>(d, at, pitch);
        hn::StoreU(value, d, to + v);
      }
    }
  });
}

// A row is worked on as two: its even and its odd elements, each with its surroundings. What stands
// at distance k of an even element 2 m is even[m +- k / 2] or odd[m - (k + 1) / 2] and
// odd[m + (k - 1) / 2]; of an odd element 2 m + 1 it is odd[m +- k / 2] or even[m - (k - 1) / 2]
// and even[m + (k + 1) / 2].
template <class T>
struct SplitRow {
  T* even;
  T* odd;
};

template <bool kOdd, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> SplitSum(D d, const SplitRow<T>& row, std::size_t m, std::size_t k) {
  const auto at = static_cast<std::ptrdiff_t>(m), distance = static_cast<std::ptrdiff_t>(k);
  if (k % 2 == 0) {
    const T* const same = kOdd ? row.odd : row.even;
    return hn::Add(hn::LoadU(d, same + at - distance / 2), hn::LoadU(d, same + at + distance / 2));
  }
  if constexpr (kOdd) {
    return hn::Add(hn::LoadU(d, row.even + at - (distance - 1) / 2),
                   hn::LoadU(d, row.even + at + (distance + 1) / 2));
  } else {
    return hn::Add(hn::LoadU(d, row.odd + at - (distance + 1) / 2),
                   hn::LoadU(d, row.odd + at + (distance - 1) / 2));
  }
}

// Room around each half of a row in scratch memory.
inline constexpr std::size_t kSplitMargin = 16;

template <class T>
HWY_INLINE SplitRow<T> SplitInto(T* scratch, std::size_t count) {
  const std::size_t room = (count + 1) / 2 + 2 * kSplitMargin + 32;
  return {scratch + kSplitMargin, scratch + room + kSplitMargin};
}

// As extend of the reference.
template <class T>
HWY_INLINE void ExtendSplit(const SplitRow<T>& row, std::size_t count, std::size_t reach,
                            WaveletEnds ends, bool halves) {
  const auto half = static_cast<std::ptrdiff_t>(count / 2);  // the last even element
  const auto most = static_cast<std::ptrdiff_t>(reach);
  const bool point = ends == WaveletEnds::through_point;
  const T first_twice = row.even[0] + row.even[0], last_twice = row.even[half] + row.even[half];
  for (std::ptrdiff_t k = 2; k <= most; k += 2) {
    const T left = row.even[k / 2], right = row.even[half - k / 2];
    row.even[-k / 2] = point ? first_twice - left : left;
    row.even[half + k / 2] = point ? last_twice - right : right;
  }
  // Element 2 m + 1 is at distance k = 2 m + 1 of the first one; its mirror image is odd[-m - 1].
  for (std::ptrdiff_t m = 0; 2 * m + 1 <= most; ++m) {
    const T left = row.odd[m], right = row.odd[half - 1 - m];
    if (!point) {
      row.odd[-m - 1] = left;
      row.odd[half + m] = right;
    } else if (halves) {
      row.odd[-m - 1] = -left;
      row.odd[half + m] = -right;
    } else {
      row.odd[-m - 1] = first_twice - left;
      row.odd[half + m] = last_twice - right;
    }
  }
}

template <WaveletFilter kFilter, class T>
void AnalyzeRow(const WaveletStep& step, T* values, T* scratch) {
  const hn::ScalableTag<T> d;
  constexpr auto& taps = kWaveletTaps<kFilter>;
  const std::size_t N = hn::Lanes(d), count = step.count, half = (count + 1) / 2;
  const SplitRow<T> row = SplitInto(scratch, count);
  std::size_t m = 0;
  for (; 2 * (m + N) <= count; m += N) {
    hn::Vec<decltype(d)> even, odd;
    hn::LoadInterleaved2(d, values + 2 * m, even, odd);
    hn::StoreU(even, d, row.even + m);
    hn::StoreU(odd, d, row.odd + m);
  }
  for (; m < half; ++m) {
    row.even[m] = values[2 * m];
    if (2 * m + 1 < count) row.odd[m] = values[2 * m + 1];
  }
  ExtendSplit(row, count, taps.kReach, step.ends, false);
  T* const results = scratch + 2 * (half + 2 * kSplitMargin + 32);
  for (std::size_t i = 0; i < half; i += N) {
    auto low = hn::Mul(hn::Set(d, static_cast<T>(taps.low[0])), hn::LoadU(d, row.even + i));
    TENSORPRESS_UNROLL
    for (std::size_t k = 1; k < taps.kLow; ++k) {
      low = hn::Add(
          low, hn::Mul(hn::Set(d, static_cast<T>(taps.low[k])), SplitSum<false>(d, row, i, k)));
    }
    hn::StoreU(low, d, results + i);
  }
  std::memcpy(values, results, half * sizeof(T));
  for (std::size_t i = 0; i < count - half; i += N) {
    auto high = hn::Mul(hn::Set(d, static_cast<T>(taps.high[0])), hn::LoadU(d, row.odd + i));
    TENSORPRESS_UNROLL
    for (std::size_t k = 1; k < taps.kHigh; ++k) {
      const T tap = static_cast<T>(k % 2 == 1 ? -taps.high[k] : taps.high[k]);
      high = hn::Add(high, hn::Mul(hn::Set(d, tap), SplitSum<true>(d, row, i, k)));
    }
    hn::StoreU(high, d, results + i);
  }
  std::memcpy(values + half, results, (count - half) * sizeof(T));
}

template <WaveletFilter kFilter, bool kOdd, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> ValueOfSplit(D d, const SplitRow<T>& row, std::size_t i) {
  auto sum = hn::Mul(hn::Set(d, static_cast<T>(SynthesisTap<kFilter, kOdd>(0))),
                     hn::LoadU(d, (kOdd ? row.odd : row.even) + i));
  TENSORPRESS_UNROLL
  for (std::size_t k = 1; k <= kWaveletTaps<kFilter>.kReach; ++k) {
    const double tap = SynthesisTap<kFilter, kOdd>(k);
    if (tap != 0) {
      sum = hn::Add(sum, hn::Mul(hn::Set(d, static_cast<T>(tap)), SplitSum<kOdd>(d, row, i, k)));
    }
  }
  return sum;
}

// Reads nothing behind `count`.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void CopyRow(D d, const T* HWY_RESTRICT from, std::size_t count, T* HWY_RESTRICT to) {
  const std::size_t N = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + N <= count; i += N) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  for (; i < count; ++i) to[i] = from[i];
}

template <WaveletFilter kFilter, class T>
void SynthesizeRow(const WaveletStep& step, T* values, T* scratch) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d), count = step.count, half = (count + 1) / 2;
  const SplitRow<T> row = SplitInto(scratch, count);
  CopyRow(d, values, half, row.even);
  CopyRow(d, values + half, count - half, row.odd);
  ExtendSplit(row, count, kWaveletTaps<kFilter>.kReach, step.ends, true);
  std::size_t i = 0;
  for (; 2 * (i + N) <= count; i += N) {
    hn::StoreInterleaved2(ValueOfSplit<kFilter, false>(d, row, i),
                          ValueOfSplit<kFilter, true>(d, row, i), d, values + 2 * i);
  }
  if (2 * i < count) {
    HWY_ALIGN T both[2 * hn::MaxLanes(d)];
    for (; 2 * i < count; i += N) {
      hn::StoreInterleaved2(ValueOfSplit<kFilter, false>(d, row, i),
                            ValueOfSplit<kFilter, true>(d, row, i), d, both);
      const std::size_t left = count - 2 * i;
      std::memcpy(values + 2 * i, both, (left < 2 * N ? left : 2 * N) * sizeof(T));
    }
  }
}

// Calls work.operator()<filter>().
template <class Work>
void ByFilter(WaveletFilter filter, const Work& work) {
  switch (filter) {
    case WaveletFilter::taps_9_7:
      return work.template operator()<WaveletFilter::taps_9_7>();
    case WaveletFilter::taps_13_11:
      return work.template operator()<WaveletFilter::taps_13_11>();
    case WaveletFilter::taps_17_11:
      return work.template operator()<WaveletFilter::taps_17_11>();
    case WaveletFilter::taps_25_19:
      return work.template operator()<WaveletFilter::taps_25_19>();
  }
}

template <class T>
void AnalyzeAnyColumns(const WaveletStep& step, T* values, std::size_t stride, std::size_t width,
                       T* scratch) {
  ByFilter(step.filter, [&]<WaveletFilter kFilter>() {
    AnalyzeColumns<kFilter>(step, values, stride, width, scratch);
  });
}
template <class T>
void SynthesizeAnyColumns(const WaveletStep& step, T* values, std::size_t stride, std::size_t width,
                          T* scratch) {
  ByFilter(step.filter, [&]<WaveletFilter kFilter>() {
    SynthesizeColumns<kFilter>(step, values, stride, width, scratch);
  });
}
template <class T>
void AnalyzeAnyRow(const WaveletStep& step, T* values, T* scratch) {
  ByFilter(step.filter,
           [&]<WaveletFilter kFilter>() { AnalyzeRow<kFilter>(step, values, scratch); });
}
template <class T>
void SynthesizeAnyRow(const WaveletStep& step, T* values, T* scratch) {
  ByFilter(step.filter,
           [&]<WaveletFilter kFilter>() { SynthesizeRow<kFilter>(step, values, scratch); });
}

template <class T>
const WaveletKernels<T>& GetWaveletKernels() {
  static constexpr WaveletKernels<T> kKernels = {AnalyzeAnyColumns<T>, SynthesizeAnyColumns<T>,
                                                 AnalyzeAnyRow<T>, SynthesizeAnyRow<T>};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
