// stencil.h once for every vector width: a load and an addition a point and vector, which is what
// bounds it; four vectors at a time, so that sums do not wait for each other.
#include "kernels/highway_targets.h"
#include "kernels/stencil/stencil.h"
// (keep the order)
#include <hwy/highway.h>

#include <cstring>

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

template <bool kZeros, std::size_t kVectors, class T>
HWY_INLINE void PredictBlock(const StencilRow<T>& stencil, const InterpolationRow<T>& row,
                             const InterpolationModel<T>& model, std::size_t i,
                             T* HWY_RESTRICT predictions, std::uint8_t* HWY_RESTRICT classes) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t N = hn::Lanes(d);
  V p[kVectors], near[kVectors], sum[kVectors];
  const std::ptrdiff_t* points = stencil.points;
  const StencilGroup<T>* group = stencil.groups;
  const StencilGroup<T>* const end = group + stencil.group_count;
  const StencilGroup<T>* const end_of_near = group + stencil.axes;
  SumGroup<kVectors>(d, stencil.at + i, points, group->points, sum);
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    p[v] = hn::Mul(hn::Set(d, group->weight), sum[v]);
    near[v] = sum[v];
  }
  points += group->points;
  for (++group; group != end; ++group) {
    SumGroup<kVectors>(d, stencil.at + i, points, group->points, sum);
    const auto weight = hn::Set(d, group->weight);
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) p[v] = hn::Add(p[v], hn::Mul(weight, sum[v]));
    if (group < end_of_near) {
      TENSORPRESS_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) near[v] = hn::Add(near[v], sum[v]);
    }
    points += group->points;
  }
  const auto share = hn::Set(d, stencil.near_share);
  const auto step = hn::Set(d, model.step);
  const auto rounder = hn::Set(d, InterpolationNumbers<T>::kRounder);
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t at = i + v * N;
    auto scale = hn::Add(
        hn::Mul(hn::Abs(hn::Sub(p[v], hn::Mul(near[v], share))), hn::Set(d, model.curvature)),
        hn::Set(d, model.floor));
    scale = hn::Add(scale, hn::Mul(HistoryOfThree(d, row.above + at), hn::Set(d, model.above)));
    if (row.behind != nullptr) {
      scale = hn::Add(scale, hn::Mul(HistoryOfThree(d, row.behind + at), hn::Set(d, model.behind)));
    }
    if (stencil.beside_count > 0) {
      scale = hn::Add(scale,
                      hn::Mul(SumSizes(d, stencil.sizes + at, stencil.beside, stencil.beside_count),
                              hn::Set(d, stencil.beside_weight)));
    }
    auto prediction = p[v];
    if constexpr (kZeros) {
      const auto near_zero = hn::Lt(hn::Abs(prediction), hn::Add(step, step));
      const auto steps = hn::Mul(prediction, hn::Set(d, model.inverse_step));
      const auto snapped = hn::Mul(hn::Sub(hn::Add(steps, rounder), rounder), step);
      prediction = hn::IfThenElse(near_zero, snapped, prediction);
    }
    hn::StoreU(prediction, d, predictions + at);
    StoreScaleClasses(d, scale, model.first_class, classes + at);
  }
}

template <class T>
void PredictStencil(const StencilRow<T>& stencil, const InterpolationRow<T>& row,
                    const InterpolationModel<T>& model, T* predictions, std::uint8_t* classes) {
  const std::size_t N = hn::Lanes(hn::ScalableTag<T>());
  const auto run = [&]<bool kZeros>() HWY_ATTR {
    std::size_t i = 0;
    for (; i + 4 * N <= row.count; i += 4 * N) {
      PredictBlock<kZeros, 4>(stencil, row, model, i, predictions, classes);
    }
    for (; i < row.count; i += N) {
      PredictBlock<kZeros, 1>(stencil, row, model, i, predictions, classes);
    }
  };
  model.keep_zeros ? run.template operator()<true>() : run.template operator()<false>();
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

template <class T>
const StencilKernels<T>& GetStencilKernels() {
  static constexpr StencilKernels<T> kKernels = {PredictStencil<T>, StencilSums<T>, KeepSizes,
                                                 Interleave<T>, AddProducts};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
