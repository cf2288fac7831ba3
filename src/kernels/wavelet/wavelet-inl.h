// wavelet.h once for every vector width. A pair of values costs one multiplication a tap of both
// half filters and twice as many additions: 23 and 46 with 25/19, 13 and 26 with 13/11, 9 and 18
// with 9/7. Columns are copied to scratch memory in blocks that stay in the first cache.
#include "kernels/highway_targets.h"
#include "kernels/wavelet/wavelet.h"
// (keep the order)
#include <hwy/cache_control.h>
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

// The same where all high values are zero. A sum begins with 0 where the reference adds such a
// product first.
template <WaveletFilter kFilter, bool kOdd, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LowValueOfLine(D d, const T* at, std::ptrdiff_t pitch) {
  auto sum = hn::Zero(d);
  if constexpr (!kOdd) {
    sum = hn::Mul(hn::Set(d, static_cast<T>(SynthesisTap<kFilter, false>(0))), hn::LoadU(d, at));
  }
  TENSORPRESS_UNROLL
  for (std::size_t k = kOdd ? 1 : 2; k < kWaveletTaps<kFilter>.kHigh; k += 2) {
    sum = hn::Add(sum, hn::Mul(hn::Set(d, static_cast<T>(SynthesisTap<kFilter, kOdd>(k))),
                               PairSum(d, at, static_cast<std::ptrdiff_t>(k) * pitch)));
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

// Lines are so far from each other that no hardware expects the next block of columns.
template <std::size_t kBlock, class T>
HWY_INLINE void PrefetchBlock(const T* from) {
  TENSORPRESS_UNROLL
  for (std::size_t at = 0; at < kBlock; at += 64 / sizeof(T)) hwy::Prefetch(from + at);
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
      const T* const from = values + i * stride + x;
      PrefetchBlock<kBlock>(from + kBlock);
      CopyBlock<kBlock>(d, from, line + i * kBlock);
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

// As CopyBlock; true if there is anything but zeros.
template <std::size_t kBlock, class D, class T = hn::TFromD<D>>
HWY_INLINE bool CopyAndTestBlock(D d, const T* HWY_RESTRICT from, T* HWY_RESTRICT to) {
  auto any = hn::Zero(d);
  PrefetchBlock<kBlock>(from + kBlock);
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kBlock; v += hn::MaxLanes(d)) {
    const auto value = hn::LoadU(d, from + v);
    any = hn::Or(any, value);
    hn::StoreU(value, d, to + v);
  }
  return !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
}

// Zero bands need not be multiplied: what surrounds a pair of values in the low and the high half.
// `before` counts lines that are not zero; a pair at m reads lines m - kFilterSpan to
// m + kFilterSpan of each half, and at the ends images of these.
template <WaveletFilter kFilter>
inline constexpr std::size_t kFilterSpan = kWaveletTaps<kFilter>.kReach / 2 + 1;

HWY_INLINE bool AnyAround(const std::uint32_t* before, std::size_t m, std::size_t span,
                          std::size_t lines) {
  const std::size_t from = m > span ? m - span : 0;
  const std::size_t end = m + span + 1 < lines ? m + span + 1 : lines;
  return before[end] != before[from];
}

template <WaveletFilter kFilter, class T>
void SynthesizeColumns(const WaveletStep& step, T* values, std::size_t stride, std::size_t width,
                       T* scratch) {
  const ColumnTag<T> d;
  const std::size_t N = hn::Lanes(d), count = step.count, half = (count + 1) / 2;
  constexpr std::size_t kReach = kWaveletTaps<kFilter>.kReach, kSpan = kFilterSpan<kFilter>;
  auto* const lows_before = reinterpret_cast<std::uint32_t*>(
      scratch + 2 * kWaveletBlock * (count + 2 * kMostWaveletReach + 2));
  std::uint32_t* const highs_before = lows_before + half + 1;
  ForBlocks(width, [&]<std::size_t kBlock>(std::size_t x) HWY_ATTR {
    T* const line = scratch + kReach * kBlock;
    lows_before[0] = highs_before[0] = 0;
    for (std::size_t m = 0; m < half; ++m) {
      const T* const from = values + m * stride + x;
      const bool any = CopyAndTestBlock<kBlock>(d, from, line + 2 * m * kBlock);
      lows_before[m + 1] = lows_before[m] + (any ? 1 : 0);
    }
    for (std::size_t m = 0; m < count - half; ++m) {
      const T* const from = values + (half + m) * stride + x;
      const bool any = CopyAndTestBlock<kBlock>(d, from, line + (2 * m + 1) * kBlock);
      highs_before[m + 1] = highs_before[m] + (any ? 1 : 0);
    }
    if (lows_before[half] == 0 && highs_before[count - half] == 0) return;
    ExtendLine(d, line, count, kReach, kBlock, step.ends, true);
    const auto pitch = static_cast<std::ptrdiff_t>(kBlock);
    for (std::size_t m = 0; m < half; ++m) {
      T* const even = values + 2 * m * stride + x;
      T* const odd = even + stride;
      const bool has_odd = 2 * m + 1 < count;
      const T* const at = line + 2 * m * kBlock;
      if (AnyAround(highs_before, m, kSpan, count - half)) {
        for (std::size_t v = 0; v < kBlock; v += N) {
          hn::StoreU(ValueOfLine<kFilter, false>(d, at + v, pitch), d, even + v);
          if (has_odd) {
            hn::StoreU(ValueOfLine<kFilter, true>(d, at + kBlock + v, pitch), d, odd + v);
          }
        }
      } else if (AnyAround(lows_before, m, kSpan, half)) {
        for (std::size_t v = 0; v < kBlock; v += N) {
          hn::StoreU(LowValueOfLine<kFilter, false>(d, at + v, pitch), d, even + v);
          if (has_odd) {
            hn::StoreU(LowValueOfLine<kFilter, true>(d, at + kBlock + v, pitch), d, odd + v);
          }
        }
      } else {
        for (std::size_t v = 0; v < kBlock; v += N) {
          hn::StoreU(hn::Zero(d), d, even + v);
          if (has_odd) hn::StoreU(hn::Zero(d), d, odd + v);
        }
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

// The same where all high values are zero.
template <WaveletFilter kFilter, bool kOdd, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LowValueOfSplit(D d, const SplitRow<T>& row, std::size_t i) {
  auto sum = hn::Zero(d);
  if constexpr (!kOdd) {
    sum = hn::Mul(hn::Set(d, static_cast<T>(SynthesisTap<kFilter, false>(0))),
                  hn::LoadU(d, row.even + i));
  }
  TENSORPRESS_UNROLL
  for (std::size_t k = kOdd ? 1 : 2; k < kWaveletTaps<kFilter>.kHigh; k += 2) {
    sum = hn::Add(sum, hn::Mul(hn::Set(d, static_cast<T>(SynthesisTap<kFilter, kOdd>(k))),
                               SplitSum<kOdd>(d, row, i, k)));
  }
  return sum;
}

// Counts pieces of so many elements of a row that are not zero.
inline constexpr std::size_t kRowPiece = 16;

// Reads nothing behind `count`. before[p] is the number of pieces before piece p with anything but
// zeros.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void CopyAndTestRow(D d, const T* HWY_RESTRICT from, std::size_t count,
                               T* HWY_RESTRICT to, std::uint32_t* HWY_RESTRICT before) {
  const hn::CappedTag<T, kRowPiece> piece;
  (void)d;
  *before = 0;
  std::size_t i = 0;
  for (; i + kRowPiece <= count; i += kRowPiece, ++before) {
    before[1] = before[0] + (CopyAndTestBlock<kRowPiece>(piece, from + i, to + i) ? 1 : 0);
  }
  if (i == count) return;
  bool any = false;
  for (; i < count; ++i) {
    any = any || from[i] != 0;
    to[i] = from[i];
  }
  before[1] = before[0] + (any ? 1 : 0);
}

template <WaveletFilter kFilter, class T>
void SynthesizeRow(const WaveletStep& step, T* values, T* scratch) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d), count = step.count, half = (count + 1) / 2;
  constexpr std::size_t kSpan = kFilterSpan<kFilter>;
  const std::size_t low_pieces = (half + kRowPiece - 1) / kRowPiece;
  const std::size_t high_pieces = (count - half + kRowPiece - 1) / kRowPiece;
  const SplitRow<T> row = SplitInto(scratch, count);
  auto* const lows_before =
      reinterpret_cast<std::uint32_t*>(scratch + 2 * (half + 2 * kSplitMargin + 32));
  std::uint32_t* const highs_before = lows_before + low_pieces + 1;
  CopyAndTestRow(d, values, half, row.even, lows_before);
  CopyAndTestRow(d, values + half, count - half, row.odd, highs_before);
  if (lows_before[low_pieces] == 0 && highs_before[high_pieces] == 0) return;
  ExtendSplit(row, count, kWaveletTaps<kFilter>.kReach, step.ends, true);
  const auto any_around = [&](const std::uint32_t* before, std::size_t i, std::size_t pieces) {
    const std::size_t from = i > kSpan ? (i - kSpan) / kRowPiece : 0;
    const std::size_t last = (i + N - 1 + kSpan) / kRowPiece;
    return before[last < pieces ? last + 1 : pieces] != before[from < pieces ? from : pieces];
  };
  const auto pairs = [&](std::size_t i, T* to) HWY_ATTR {
    if (any_around(highs_before, i, high_pieces)) {
      hn::StoreInterleaved2(ValueOfSplit<kFilter, false>(d, row, i),
                            ValueOfSplit<kFilter, true>(d, row, i), d, to);
    } else if (any_around(lows_before, i, low_pieces)) {
      hn::StoreInterleaved2(LowValueOfSplit<kFilter, false>(d, row, i),
                            LowValueOfSplit<kFilter, true>(d, row, i), d, to);
    } else {
      hn::StoreInterleaved2(hn::Zero(d), hn::Zero(d), d, to);
    }
  };
  std::size_t i = 0;
  for (; 2 * (i + N) <= count; i += N) pairs(i, values + 2 * i);
  if (2 * i < count) {
    HWY_ALIGN T both[2 * hn::MaxLanes(d)];
    for (; 2 * i < count; i += N) {
      pairs(i, both);
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
