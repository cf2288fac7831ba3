// stencil.h once for every vector width. What bounds it are loads, above all those across two cache
// lines, and additions, one a point and vector. Four rows at a time share loads, and sums do not
// wait for each other.
#include "kernels/highway_targets.h"
#include "kernels/stencil/stencil.h"
// (keep the order)
#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#if defined(TENSORPRESS_STENCIL_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_STENCIL_INL_H
#    undef TENSORPRESS_STENCIL_INL_H
#  else
#    define TENSORPRESS_STENCIL_INL_H
#  endif

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> HistoryOfThree(D d, const T* at) {
  const auto middle = hn::LoadU(d, at);
  return hn::Add(hn::Add(hn::LoadU(d, at - 1), hn::LoadU(d, at + 1)), hn::Add(middle, middle));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void StoreScaleClasses(D /*d*/, V scale, std::int32_t first_class,
                                  std::uint8_t* classes) {
  [[maybe_unused]] const hn::Rebind<float, D> df;
  const hn::Rebind<std::int32_t, D> di;
  const hn::Rebind<std::uint8_t, D> d8;
  const auto narrow = [&]() HWY_ATTR {
    if constexpr (sizeof(hn::TFromD<D>) == 8) {
      return hn::DemoteTo(df, scale);
    } else {
      return scale;
    }
  }();
  auto half_octaves =
      hn::Sub(hn::ShiftRight<22>(hn::BitCast(di, narrow)), hn::Set(di, first_class));
  half_octaves = hn::Min(half_octaves, hn::Set(di, 31));
  hn::StoreU(hn::DemoteTo(d8, half_octaves), d8, classes);
}

// The sums of one group for kVectors vectors side by side.
template <std::size_t kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void SumGroup(D d, const T* at, const std::ptrdiff_t* points, std::uint32_t count,
                         hn::Vec<D> (&sum)[kVectors]) {
  const std::size_t N = hn::Lanes(d);
  const T *first = at + points[0], *second = at + points[1];
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    sum[v] = hn::Add(hn::LoadU(d, first + v * N), hn::LoadU(d, second + v * N));
  }
  for (std::uint32_t k = 2; k < count; k += 2) {
    first = at + points[k];
    second = at + points[k + 1];
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[v] = hn::Add(sum[v], hn::Add(hn::LoadU(d, first + v * N), hn::LoadU(d, second + v * N)));
    }
  }
}

// Sums of sizes as numbers.
template <class D>
HWY_INLINE hn::Vec<D> SumSizes(D d, const std::uint8_t* at, const std::ptrdiff_t* points,
                               std::size_t count) {
  const hn::Rebind<std::uint8_t, D> d8;
  const hn::Rebind<std::int32_t, D> di;
  auto sum = hn::PromoteTo(di, hn::LoadU(d8, at + points[0]));
  for (std::size_t k = 1; k < count; ++k) {
    sum = hn::Add(sum, hn::PromoteTo(di, hn::LoadU(d8, at + points[k])));
  }
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::PromoteTo(d, sum);
  } else {
    return hn::ConvertTo(d, sum);
  }
}

// Elements i + shift of a row whose element i is at the start of a cache line. A load across two
// lines takes almost as long as three from one; lines are loaded once for several shifts.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Shifted(D d, const T* at, std::ptrdiff_t shift) {
  return hn::LoadU(d, at + shift);
}
#    if HWY_TARGET <= HWY_AVX3
template <class D, std::ptrdiff_t kShift, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Shifted(D d, const T* at,
                              std::integral_constant<std::ptrdiff_t, kShift> /*shift*/) {
  if constexpr (kShift == 0) {
    return hn::LoadU(d, at);
  } else {
    constexpr auto kLanes = static_cast<std::ptrdiff_t>(hn::MaxLanes(D()));
    constexpr int kFirst = static_cast<int>((kShift + kLanes) % kLanes);
    const T* const line = kShift < 0 ? at - kLanes : at;
    const hn::RebindToUnsigned<D> du;
    const auto low = hn::BitCast(du, hn::LoadU(d, line)),
               high = hn::BitCast(du, hn::LoadU(d, line + kLanes));
    hn::Vec<decltype(du)> both;
    if constexpr (sizeof(T) == 4) {
      both.raw = _mm512_alignr_epi32(high.raw, low.raw, kFirst);
    } else {
      both.raw = _mm512_alignr_epi64(high.raw, low.raw, kFirst);
    }
    return hn::BitCast(d, both);
  }
}
#    endif

template <std::ptrdiff_t kShift>
using Shift = std::integral_constant<std::ptrdiff_t, kShift>;

// What the points of a mirrored group need: rows in the plane before the value (or the only plane)
// and in the one behind it, both shifted to the left and to the right.
template <std::size_t kAll, class D>
struct MirroredRows {
  hn::Vec<D> before_left[kAll], before_right[kAll], behind_left[kAll], behind_right[kAll];
};

// The sum of one value, whose lower and upper points are in these rows.
template <std::size_t kPoints, std::size_t kApart, std::size_t kAll, class D>
HWY_INLINE hn::Vec<D> SumMirrored(D /*d*/, const MirroredRows<kAll, D>& rows, std::size_t low) {
  const std::size_t high = low + kApart;
  if constexpr (kPoints == 2) {
    return hn::Add(rows.before_left[low],
                   kApart == 0 ? rows.behind_right[low] : rows.before_left[high]);
  } else {
    auto sum = hn::Add(rows.before_left[low], rows.behind_right[high]);
    if constexpr (kPoints == 8 || kApart == 0) {
      sum = hn::Add(sum, hn::Add(rows.before_right[low], rows.behind_left[high]));
    }
    if constexpr (kApart != 0) {
      sum = hn::Add(sum, hn::Add(rows.before_left[high], rows.behind_right[low]));
    }
    if constexpr (kPoints == 8) {
      sum = hn::Add(sum, hn::Add(rows.before_right[high], rows.behind_left[low]));
    }
    return sum;
  }
}

// The sums of one group for kRows rows, `pitch` apart. Where points are mirrored along y, kApart
// rows lie between a point and its image: rows share what is loaded. Left and right are the shifts
// of points before and behind the value along x. With kWider, also the sums of the group whose
// points are one row further below and above.
template <std::size_t kPoints, std::size_t kApart, bool kWider, std::size_t kRows, class Left,
          class Right, class D, class T = hn::TFromD<D>>
HWY_INLINE void SumRows(D d, const T* at, const std::ptrdiff_t* points, std::ptrdiff_t pitch,
                        Left left, Right right, hn::Vec<D> (&sum)[kRows], T* wider) {
  constexpr std::size_t kBelow = kWider ? 1 : 0, kMostApart = kApart + 2 * kBelow;
  constexpr std::size_t kAll = kRows + kMostApart;
  constexpr std::size_t kWiderPoints = kApart == 0 ? 2 * kPoints : kPoints;
  constexpr std::size_t kMostPoints = kWider ? kWiderPoints : kPoints;
  constexpr auto kBack = static_cast<std::ptrdiff_t>(kApart), kDown = std::ptrdiff_t{kBelow};
  const T* before = at + points[0] - left - kDown * pitch;
  const T* behind = at + points[1] - right - (kBack + kDown) * pitch;
  constexpr bool kAlongX = !std::is_same_v<Left, Right>;
  if constexpr (kAlongX && (kMostPoints == 2 || (kMostPoints == 4 && kMostApart != 0))) {
    behind = before;
  }
  MirroredRows<kAll, D> rows;
  TENSORPRESS_UNROLL
  for (std::size_t i = 0; i < kAll; ++i, before += pitch, behind += pitch) {
    rows.before_left[i] = Shifted(d, before, left);
    if constexpr (kMostPoints > 2 || kMostApart == 0) {
      rows.behind_right[i] = Shifted(d, behind, right);
    }
    if constexpr (kMostPoints == 8 || (kMostPoints == 4 && kMostApart == 0)) {
      rows.before_right[i] = Shifted(d, before, right);
      rows.behind_left[i] = Shifted(d, behind, left);
    }
    if (i >= kApart + kBelow && i - kApart - kBelow < kRows) {
      const std::size_t r = i - kApart - kBelow;
      sum[r] = SumMirrored<kPoints, kApart>(d, rows, r + kBelow);
    }
    if constexpr (kWider) {
      if (i < kMostApart) continue;
      const std::size_t r = i - kMostApart;
      hn::StoreU(SumMirrored<kWiderPoints, kMostApart>(d, rows, r), d, wider + r * hn::MaxLanes(d));
    }
  }
}

// Points anywhere.
template <std::size_t kRows, class D, class T = hn::TFromD<D>>
HWY_INLINE void SumAnyRows(D d, const T* at, const std::ptrdiff_t* points, std::uint32_t count,
                           std::ptrdiff_t pitch, hn::Vec<D> (&sum)[kRows]) {
  for (std::uint32_t k = 0; k < count; k += 2) {
    const T *first = at + points[k], *second = at + points[k + 1];
    TENSORPRESS_UNROLL
    for (std::size_t r = 0; r < kRows; ++r, first += pitch, second += pitch) {
      const auto pair = hn::Add(hn::LoadU(d, first), hn::LoadU(d, second));
      sum[r] = k == 0 ? pair : hn::Add(sum[r], pair);
    }
  }
}

template <bool kWider, std::size_t kRows, class Left, class Right, class D, class T = hn::TFromD<D>>
TENSORPRESS_INLINE_STAGE void SumRowsOf(D d, const T* at, const StencilGroup<T>& group,
                                        const std::ptrdiff_t* points, std::ptrdiff_t pitch,
                                        Left left, Right right, hn::Vec<D> (&sum)[kRows],
                                        T* wider) {
  switch (group.points * 4 + group.rows_apart) {
    case 2 * 4:
      return SumRows<2, 0, kWider>(d, at, points, pitch, left, right, sum, wider);
    case 2 * 4 + 1:
      return SumRows<2, 1, kWider>(d, at, points, pitch, left, right, sum, wider);
    case 4 * 4:
      return SumRows<4, 0, kWider>(d, at, points, pitch, left, right, sum, wider);
    case 4 * 4 + 1:
      return SumRows<4, 1, kWider>(d, at, points, pitch, left, right, sum, wider);
    case 8 * 4 + 1:
      return SumRows<8, 1, kWider>(d, at, points, pitch, left, right, sum, wider);
    default:
      break;
  }
  if constexpr (!kWider) {
    switch (group.points * 4 + group.rows_apart) {
      case 2 * 4 + 2:
        return SumRows<2, 2, false>(d, at, points, pitch, left, right, sum, wider);
      case 2 * 4 + 3:
        return SumRows<2, 3, false>(d, at, points, pitch, left, right, sum, wider);
      case 4 * 4 + 2:
        return SumRows<4, 2, false>(d, at, points, pitch, left, right, sum, wider);
      case 4 * 4 + 3:
        return SumRows<4, 3, false>(d, at, points, pitch, left, right, sum, wider);
      case 8 * 4 + 2:
        return SumRows<8, 2, false>(d, at, points, pitch, left, right, sum, wider);
      default:
        return SumRows<8, 3, false>(d, at, points, pitch, left, right, sum, wider);
    }
  }
}

#    if HWY_TARGET <= HWY_AVX3
inline constexpr bool kManyVectors = true;  // enough to sum up two groups at once

template <bool kWider, std::size_t kRows, class D, class T = hn::TFromD<D>>
TENSORPRESS_INLINE_STAGE void SumShiftedRows(D d, const T* at, const StencilGroup<T>& group,
                                             const std::ptrdiff_t* points, std::ptrdiff_t pitch,
                                             hn::Vec<D> (&sum)[kRows], T* wider) {
  switch (group.left * 8 + group.right) {
    case 0:
      return SumRowsOf<kWider>(d, at, group, points, pitch, Shift<0>(), Shift<0>(), sum, wider);
    case 0 * 8 + 1:
      return SumRowsOf<kWider>(d, at, group, points, pitch, Shift<0>(), Shift<1>(), sum, wider);
    case -1 * 8 + 0:
      return SumRowsOf<kWider>(d, at, group, points, pitch, Shift<-1>(), Shift<0>(), sum, wider);
    case -1 * 8 + 1:
      return SumRowsOf<kWider>(d, at, group, points, pitch, Shift<-1>(), Shift<1>(), sum, wider);
    case -1 * 8 + 2:
      return SumRowsOf<kWider>(d, at, group, points, pitch, Shift<-1>(), Shift<2>(), sum, wider);
    default:
      return SumRowsOf<kWider>(d, at, group, points, pitch, Shift<-2>(), Shift<1>(), sum, wider);
  }
}
#    else
inline constexpr bool kManyVectors = false;

template <bool kWider, std::size_t kRows, class D, class T = hn::TFromD<D>>
TENSORPRESS_INLINE_STAGE void SumShiftedRows(D d, const T* at, const StencilGroup<T>& group,
                                             const std::ptrdiff_t* points, std::ptrdiff_t pitch,
                                             hn::Vec<D> (&sum)[kRows], T* wider) {
  SumRowsOf<kWider>(d, at, group, points, pitch, std::ptrdiff_t{group.left},
                    std::ptrdiff_t{group.right}, sum, wider);
}
#    endif

// `kept` has sums of groups that are yet to come.
template <std::size_t kRows, class D, class T = hn::TFromD<D>>
TENSORPRESS_INLINE_STAGE void SumGroupOfRows(D d, const T* at, const StencilGroup<T>& group,
                                             const std::ptrdiff_t* points, std::ptrdiff_t pitch,
                                             hn::Vec<D> (&sum)[kRows], T* kept) {
  if (kRows == 1 || !group.mirrored) {
    return SumAnyRows(d, at, points, group.points, pitch, sum);
  }
  if constexpr (kManyVectors) {
    constexpr std::size_t kSlot = kRows * hn::MaxLanes(D());
    if (group.wider != 0) {
      return SumShiftedRows<true>(d, at, group, points, pitch, sum,
                                  kept + (group.wider - 1) * kSlot);
    }
    if (group.narrower != 0) {
      TENSORPRESS_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        sum[r] = hn::Load(d, kept + (group.narrower - 1) * kSlot + r * hn::MaxLanes(d));
      }
      return;
    }
  }
  SumShiftedRows<false>(d, at, group, points, pitch, sum, kept);
}

// kRows rows, a vector wide.
template <std::size_t kRows, class T>
HWY_INLINE void PredictTile(const StencilRow<T>& stencil, const StencilRows<T>& rows,
                            std::size_t row, std::size_t column) {
  const hn::ScalableTag<T> d;
  const StencilGroup<T>* const end_of_near = stencil.groups + stencil.axes;
  const StencilGroup<T>* const end = stencil.groups + stencil.group_count;
  const T* const at = stencil.at + static_cast<std::ptrdiff_t>(row) * rows.pitch + column;
  T* const sums = rows.sums + row * rows.result_pitch + column;
  T* const bends = rows.bends + row * rows.result_pitch + column;
  HWY_ALIGN T kept[kManyVectors ? kMostWiderGroups * kRows * hn::MaxLanes(d) : 1];
  hn::Vec<decltype(d)> p[kRows], near[kRows], sum[kRows];
  const std::ptrdiff_t* points = stencil.points;
  const StencilGroup<T>* group = stencil.groups;
  SumGroupOfRows(d, at, *group, points, rows.pitch, near, kept);
  TENSORPRESS_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) p[r] = hn::Mul(hn::Set(d, group->weight), near[r]);
  points += group->points;
  for (++group; group != end_of_near; ++group) {
    SumGroupOfRows(d, at, *group, points, rows.pitch, sum, kept);
    TENSORPRESS_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      p[r] = hn::Add(p[r], hn::Mul(hn::Set(d, group->weight), sum[r]));
      near[r] = hn::Add(near[r], sum[r]);
    }
    points += group->points;
  }
  // Vectors are few; these wait in memory.
  TENSORPRESS_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    hn::StoreU(hn::Mul(near[r], hn::Set(d, stencil.near_share)), d, bends + r * rows.result_pitch);
  }
  for (; group != end; ++group) {
    SumGroupOfRows(d, at, *group, points, rows.pitch, sum, kept);
    TENSORPRESS_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      p[r] = hn::Add(p[r], hn::Mul(hn::Set(d, group->weight), sum[r]));
    }
    points += group->points;
  }
  TENSORPRESS_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    hn::StoreU(p[r], d, sums + r * rows.result_pitch);
    T* const bend = bends + r * rows.result_pitch;
    hn::StoreU(hn::Abs(hn::Sub(p[r], hn::LoadU(d, bend))), d, bend);
  }
}

template <class T>
void PredictStencil(const StencilRow<T>& stencil, const StencilRows<T>& rows) {
  const std::size_t N = hn::Lanes(hn::ScalableTag<T>());
  constexpr std::size_t kHeight = 4;
  // Tiles below each other share most of their rows.
  for (std::size_t column = 0; column < rows.count; column += N) {
    if (rows.rows < kHeight) {
      for (std::size_t row = 0; row < rows.rows; ++row) {
        PredictTile<1>(stencil, rows, row, column);
      }
      continue;
    }
    // The last tile may lie over the one before.
    for (std::size_t row = 0;; row += kHeight) {
      const bool last = row + kHeight >= rows.rows;
      PredictTile<kHeight>(stencil, rows, last ? rows.rows - kHeight : row, column);
      if (last) break;
    }
  }
}

template <bool kZeros, class T>
HWY_INLINE void ClassifyVectors(const StencilRow<T>& stencil, const InterpolationRow<T>& row,
                                const InterpolationModel<T>& model, const T* HWY_RESTRICT sums,
                                const T* HWY_RESTRICT bends, T* HWY_RESTRICT predictions,
                                std::uint8_t* HWY_RESTRICT classes) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d);
  const auto step = hn::Set(d, model.step);
  const auto rounder = hn::Set(d, InterpolationNumbers<T>::kRounder);
  for (std::size_t i = 0; i < row.count; i += N) {
    auto scale = hn::Add(hn::Mul(hn::LoadU(d, bends + i), hn::Set(d, model.curvature)),
                         hn::Set(d, model.floor));
    scale = hn::Add(scale, hn::Mul(HistoryOfThree(d, row.above + i), hn::Set(d, model.above)));
    if (row.behind != nullptr) {
      scale = hn::Add(scale, hn::Mul(HistoryOfThree(d, row.behind + i), hn::Set(d, model.behind)));
    }
    if (stencil.beside_count > 0) {
      scale = hn::Add(scale,
                      hn::Mul(SumSizes(d, stencil.sizes + i, stencil.beside, stencil.beside_count),
                              hn::Set(d, stencil.beside_weight)));
    }
    auto prediction = hn::LoadU(d, sums + i);
    if constexpr (kZeros) {
      const auto near_zero = hn::Lt(hn::Abs(prediction), hn::Add(step, step));
      const auto steps = hn::Mul(prediction, hn::Set(d, model.inverse_step));
      const auto snapped = hn::Mul(hn::Sub(hn::Add(steps, rounder), rounder), step);
      prediction = hn::IfThenElse(near_zero, snapped, prediction);
    }
    hn::StoreU(prediction, d, predictions + i);
    StoreScaleClasses(d, scale, model.first_class, classes + i);
  }
}

template <class T>
void ClassifyStencil(const StencilRow<T>& stencil, const InterpolationRow<T>& row,
                     const InterpolationModel<T>& model, const T* sums, const T* bends,
                     T* predictions, std::uint8_t* classes) {
  if (model.keep_zeros) {
    ClassifyVectors<true>(stencil, row, model, sums, bends, predictions, classes);
  } else {
    ClassifyVectors<false>(stencil, row, model, sums, bends, predictions, classes);
  }
}

template <class T>
void StencilSums(const StencilRow<T>& stencil, std::size_t count, std::size_t pitch, T* sums) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d);
  const std::ptrdiff_t* points = stencil.points;
  for (std::size_t g = 0; g < stencil.group_count; ++g) {
    const std::uint32_t of_group = stencil.groups[g].points;
    for (std::size_t i = 0; i < count; i += N) {
      hn::Vec<decltype(d)> sum[1];
      SumGroup<1>(d, stencil.at + i, points, of_group, sum);
      hn::StoreU(sum[0], d, sums + g * pitch + i);
    }
    points += of_group;
  }
}

inline void KeepSizes(const std::int32_t* HWY_RESTRICT residuals, std::size_t count,
                      std::uint8_t* HWY_RESTRICT sizes) {
  const hn::ScalableTag<std::int32_t> di;
  const hn::Rebind<std::uint8_t, decltype(di)> d8;
  const std::size_t N = hn::Lanes(di);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    // The size of the most negative number stays negative, which an unsigned minimum takes for
    // large.
    const hn::RebindToUnsigned<decltype(di)> du;
    const auto size = hn::BitCast(du, hn::Abs(hn::LoadU(di, residuals + i)));
    const auto cut = hn::BitCast(di, hn::Min(size, hn::Set(du, 255u)));
    hn::StoreU(hn::DemoteTo(d8, cut), d8, sizes + i);
  }
  for (; i < count; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(residuals[i]);
    const std::uint32_t size = residuals[i] < 0 ? 0 - bits : bits;
    sizes[i] = static_cast<std::uint8_t>(size > 255 ? 255 : size);
  }
}

template <class T>
void Interleave(const T* HWY_RESTRICT even, const T* HWY_RESTRICT odd, std::size_t count,
                T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    hn::StoreInterleaved2(hn::LoadU(d, even + i), hn::LoadU(d, odd + i), d, to + 2 * i);
  }
  for (; i < count; ++i) {
    to[2 * i] = even[i];
    to[2 * i + 1] = odd[i];
  }
}

// The products of one feature with kFeatures others, pitch values apart. Lanes are sixteen whatever
// a vector has: one, two or four vectors.
template <std::size_t kFeatures>
HWY_INLINE void AddProductsWith(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                                std::size_t pitch, std::size_t count,
                                double* HWY_RESTRICT products) {
  const hn::CappedTag<float, kProductLanes> d;
  constexpr std::size_t N = hn::MaxLanes(d), kVectors = kProductLanes / N;
  hn::Vec<decltype(d)> sum[kFeatures][kVectors];
  TENSORPRESS_UNROLL
  for (std::size_t f = 0; f < kFeatures; ++f) {
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sum[f][v] = hn::Zero(d);
  }
  for (std::size_t at = 0; at < count; at += kProductLanes) {
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto one = hn::LoadU(d, a + at + v * N);
      TENSORPRESS_UNROLL
      for (std::size_t f = 0; f < kFeatures; ++f) {
        const auto other = hn::LoadU(d, b + f * pitch + at + v * N);
        sum[f][v] = hn::Add(sum[f][v], hn::Mul(one, other));
      }
    }
  }
  for (std::size_t f = 0; f < kFeatures; ++f) {
    HWY_ALIGN float lanes[kProductLanes];
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[f][v], d, lanes + v * N);
    double total = 0;
    for (const float lane : lanes) total += static_cast<double>(lane);
    products[f] += total;
  }
}

inline void AddProducts(const float* HWY_RESTRICT values, std::size_t features, std::size_t pitch,
                        std::size_t count, double* HWY_RESTRICT products) {
  for (std::size_t i = 0; i < features; ++i) {
    const float* const a = values + i * pitch;
    double* const to = products + i * features;
    std::size_t j = 0;
    for (; j + 4 <= i + 1; j += 4) AddProductsWith<4>(a, values + j * pitch, pitch, count, to + j);
    for (; j <= i; ++j) AddProductsWith<1>(a, values + j * pitch, pitch, count, to + j);
  }
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> AsFloats(D /*d*/, hn::Vec<D> values) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return hn::DemoteTo(hn::Rebind<float, D>(), values);
  } else {
    return values;
  }
}

template <class T>
void Samples(const StencilSamples<T>& from, std::size_t pitch, float* HWY_RESTRICT features) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t N = hn::Lanes(d);
  HWY_ALIGN T originals[kSamplePiece] = {};
  for (std::size_t i = 0; i < from.count; ++i) originals[i] = from.originals[i * from.step];
  // Of 2, 4 or 8 points.
  const auto share_of = [](std::uint32_t points) HWY_ATTR {
    return static_cast<T>(points == 2 ? 0.5 : points == 4 ? 0.25 : 0.125);
  };
  const auto inverse = hn::Set(d, from.inverse_step);
  const auto most = hn::Set(df, kMostFeature);
  for (std::size_t i = 0; i < kSamplePiece; i += N) {
    const auto first = hn::Mul(hn::LoadU(d, from.sums + i), hn::Set(d, static_cast<T>(0.5)));
    auto activity = hn::Zero(df);
    for (std::size_t g = 1; g < from.group_count; ++g) {
      const auto mean = hn::Mul(hn::LoadU(d, from.sums + g * from.pitch + i),
                                hn::Set(d, share_of(from.groups[g].points)));
      const auto feature = AsFloats(d, hn::Mul(hn::Sub(mean, first), inverse));
      activity = hn::Add(activity, hn::Abs(feature));
      hn::StoreU(feature, df, features + (g - 1) * pitch + i);
    }
    const auto target = AsFloats(d, hn::Mul(hn::Sub(hn::LoadU(d, originals + i), first), inverse));
    hn::StoreU(target, df, features + (from.group_count - 1) * pitch + i);
    const auto mean = hn::Div(activity, hn::Set(df, static_cast<float>(from.group_count)));
    const auto trust =
        hn::Div(hn::Set(df, 1.0f), hn::Sqrt(hn::Add(hn::Mul(mean, mean), hn::Set(df, 1.0f))));
    const auto real = hn::FirstN(df, from.count > i ? from.count - i : 0);
    const auto usable = hn::And(real, hn::And(hn::Lt(mean, most), hn::Lt(hn::Abs(target), most)));
    for (std::size_t g = 0; g < from.group_count; ++g) {
      float* const at = features + g * pitch + i;
      hn::StoreU(hn::IfThenElseZero(usable, hn::Mul(hn::LoadU(df, at), trust)), df, at);
    }
  }
}

template <class T>
const StencilKernels<T>& GetStencilKernels() {
  static constexpr StencilKernels<T> kKernels = {
      PredictStencil<T>, ClassifyStencil<T>, StencilSums<T>, KeepSizes,
      Interleave<T>,     Samples<T>,         AddProducts};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
