// interpolation.h once for every vector width. About 45 instructions a vector to predict and 25 to
// quantize or reconstruct.
#include "kernels/highway_targets.h"
#include "kernels/interpolation/interpolation.h"
// (keep the order)
#include <hwy/highway.h>

#include <cstring>

#if defined(TENSORPRESS_INTERPOLATION_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_INTERPOLATION_INL_H
#    undef TENSORPRESS_INTERPOLATION_INL_H
#  else
#    define TENSORPRESS_INTERPOLATION_INL_H
#  endif

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadStrided(D d, const T* from, std::size_t stride) {
  if (stride == 1) return hn::LoadU(d, from);
  hn::Vec<D> first, second;
  hn::LoadInterleaved2(d, from, first, second);
  return first;
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoundToEven(D d, V value) {
  const V rounder = hn::Set(d, InterpolationNumbers<hn::TFromD<D>>::kRounder);
  return hn::Sub(hn::Add(value, rounder), rounder);
}

// Elements i-1, i, i+1 with weights 1 2 1.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> MeanOfThree(D d, const T* at) {
  const auto middle = hn::LoadU(d, at);
  return hn::Add(hn::Add(hn::LoadU(d, at - 1), hn::LoadU(d, at + 1)), hn::Add(middle, middle));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void StoreClasses(D /*d*/, V scale, std::int32_t first_class, std::uint8_t* classes) {
  [[maybe_unused]] const hn::Rebind<float, D> df;
  const hn::Rebind<std::int32_t, D> di;
  const hn::Rebind<std::uint8_t, D> d8;
  const auto narrow = [&] {
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

template <std::size_t kDirections, bool kContiguous, bool kZeros, class T>
void PredictVectors(const InterpolationRow<T>& row, const InterpolationModel<T>& model,
                    T* HWY_RESTRICT predictions, std::uint8_t* HWY_RESTRICT classes) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d);
  T half_of = static_cast<T>(0.5), cubic_of = model.cubic;
  T gradient_of = model.gradient, curvature_of = model.curvature;
  if constexpr (kDirections > 1) {
    constexpr T share = kDirections == 2 ? static_cast<T>(0.5) : static_cast<T>(1.0f / 3.0f);
    half_of *= share;
    cubic_of *= share;
    gradient_of *= share;
    curvature_of *= share;
  }
  const auto half = hn::Set(d, half_of);
  const auto cubic = hn::Set(d, cubic_of);
  const auto gradient = hn::Set(d, gradient_of);
  const auto curvature = hn::Set(d, curvature_of);
  const auto above = hn::Set(d, model.above);
  const auto behind = hn::Set(d, model.behind);
  const auto floor = hn::Set(d, model.floor);
  const auto feedback = hn::Set(d, model.feedback);
  const auto step = hn::Set(d, model.step);
  const auto inverse_step = hn::Set(d, model.inverse_step);
  const T* const behind_row = row.behind;
  T* const error_row = row.error;
  for (std::size_t i = 0; i < row.count; i += N) {
    hn::Vec<decltype(d)> sum, bend, slope;
    TENSORPRESS_UNROLL
    for (std::size_t k = 0; k < kDirections; ++k) {
      const auto& from = row.direction[k];
      const std::size_t stride = kContiguous ? 1 : from.stride;
      const std::size_t at = i * stride;
      const auto left = LoadStrided(d, from.left + at, stride);
      const auto right = LoadStrided(d, from.right + at, stride);
      const auto s = hn::Add(left, right);
      const auto b = hn::Sub(s, hn::Add(LoadStrided(d, from.far_left + at, stride),
                                        LoadStrided(d, from.far_right + at, stride)));
      const auto g = hn::Abs(hn::Sub(left, right));
      sum = k == 0 ? s : hn::Add(sum, s);
      bend = k == 0 ? b : hn::Add(bend, b);
      slope = k == 0 ? g : hn::Add(slope, g);
    }
    const auto p = hn::Add(hn::Mul(half, sum), hn::Mul(cubic, bend));
    auto scale = hn::Add(hn::Mul(slope, gradient), floor);
    scale = hn::Add(scale, hn::Mul(hn::Abs(bend), curvature));
    scale = hn::Add(scale, hn::Mul(MeanOfThree(d, row.above + i), above));
    if (behind_row != nullptr) {
      scale = hn::Add(scale, hn::Mul(MeanOfThree(d, behind_row + i), behind));
    }
    auto prediction = p;
    if (error_row != nullptr) {
      prediction = hn::Add(p, hn::Mul(feedback, hn::LoadU(d, error_row + i)));
      hn::StoreU(p, d, error_row + i);
    }
    if constexpr (kZeros) {
      const auto near = hn::Lt(hn::Abs(prediction), hn::Add(step, step));
      const auto snapped = hn::Mul(RoundToEven(d, hn::Mul(prediction, inverse_step)), step);
      prediction = hn::IfThenElse(near, snapped, prediction);
    }
    hn::StoreU(prediction, d, predictions + i);
    StoreClasses(d, scale, model.first_class, classes + i);
  }
}

template <class T>
void Predict(const InterpolationRow<T>& row, const InterpolationModel<T>& model, T* predictions,
             std::uint8_t* classes) {
  const bool contiguous = row.direction[0].stride == 1 &&
                          (row.directions < 2 || row.direction[1].stride == 1) &&
                          (row.directions < 3 || row.direction[2].stride == 1);
  const auto predict = [&]<std::size_t kDirections, bool kContiguous>() {
    if (model.keep_zeros) {
      PredictVectors<kDirections, kContiguous, true>(row, model, predictions, classes);
    } else {
      PredictVectors<kDirections, kContiguous, false>(row, model, predictions, classes);
    }
  };
  if (row.directions == 1) {
    contiguous ? predict.template operator()<1, true>() : predict.template operator()<1, false>();
  } else if (row.directions == 2) {
    predict.template operator()<2, false>();
  } else {
    predict.template operator()<3, false>();
  }
}

template <bool kZeros, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE V Reconstruct(D d, V prediction, V residual, V step, V zero_radius) {
  V value = hn::Add(prediction, hn::Mul(residual, step));
  if constexpr (kZeros) {
    value = hn::IfThenZeroElse(hn::Le(hn::Abs(value), zero_radius), value);
  }
  const V largest = hn::Set(d, InterpolationNumbers<T>::kLargest);
  return hn::IfThenElseZero(hn::Le(hn::Abs(value), largest), value);
}

template <RowStore kStore, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void Keep(D d, const InterpolationRow<T>& row, std::size_t i, V residual, V value,
                     const RowOutput<T>& output) {
  const V half = hn::Set(d, static_cast<T>(0.5));
  const V size = hn::Max(hn::Min(hn::Abs(residual), hn::Set(d, static_cast<T>(kMostHistory))),
                         hn::Set(d, static_cast<T>(kLeastHistory)));
  hn::StoreU(hn::Mul(hn::Add(hn::LoadU(d, row.above + i), size), half), d, row.above + i);
  if (row.behind != nullptr) {
    hn::StoreU(hn::Mul(hn::Add(hn::LoadU(d, row.behind + i), size), half), d, row.behind + i);
  }
  if (row.error != nullptr) {
    hn::StoreU(hn::Sub(value, hn::LoadU(d, row.error + i)), d, row.error + i);
  }
  if constexpr (kStore == RowStore::contiguous) hn::StoreU(value, d, output.values + i);
  if constexpr (kStore == RowStore::interleaved) {
    const V between = hn::LoadU(d, output.between + i);
    if (HWY_LIKELY(i + hn::Lanes(d) <= row.count)) {
      hn::StoreInterleaved2(between, value, d, output.values + 2 * i);
    } else {
      HWY_ALIGN T both[2 * hn::MaxLanes(d)];
      hn::StoreInterleaved2(between, value, d, both);
      std::memcpy(output.values + 2 * i, both, 2 * (row.count - i) * sizeof(T));
    }
  }
}

// The neighbours of a row's last element see zero behind it.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void CloseHistories(D d, const InterpolationRow<T>& row) {
  hn::StoreU(hn::Zero(d), d, row.above + row.count);
  if (row.behind != nullptr) hn::StoreU(hn::Zero(d), d, row.behind + row.count);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void StoreResiduals(D d, V residual, std::int32_t* to) {
  const hn::Rebind<std::int32_t, D> di;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    hn::StoreU(hn::DemoteTo(di, residual), di, to);
  } else {
    const V rounder = hn::Set(d, InterpolationNumbers<float>::kRounder);
    hn::StoreU(hn::Sub(hn::BitCast(di, hn::Add(residual, rounder)),
                       hn::Set(di, InterpolationNumbers<float>::kRounderBits)),
               di, to);
  }
}

template <bool kZeros, RowStore kStore, class T>
std::size_t QuantizeVectors(const T* HWY_RESTRICT originals, std::size_t stride,
                            const InterpolationRow<T>& row, const InterpolationModel<T>& model,
                            const T* HWY_RESTRICT predictions, std::int32_t* HWY_RESTRICT residuals,
                            const RowOutput<T>& output, std::uint32_t* HWY_RESTRICT outliers) {
  const hn::ScalableTag<T> d;
  const std::size_t N = hn::Lanes(d);
  const auto step = hn::Set(d, model.step);
  const auto inverse_step = hn::Set(d, model.inverse_step);
  const auto bound = hn::Set(d, model.bound);
  const auto limit = hn::Set(d, InterpolationNumbers<T>::kResidualLimit);
  const auto zero_radius = hn::Set(d, model.step * static_cast<T>(kZeroRadius));
  std::size_t found = 0;
  for (std::size_t i = 0; i < row.count; i += N) {
    const auto original = LoadStrided(d, originals + i * stride, stride);
    const auto prediction = hn::LoadU(d, predictions + i);
    const auto steps = hn::Mul(hn::Sub(original, prediction), inverse_step);
    auto residual = hn::IfThenElseZero(hn::Lt(hn::Abs(steps), limit), RoundToEven(d, steps));
    auto value = Reconstruct<kZeros>(d, prediction, residual, step, zero_radius);
    auto wrong =
        hn::Or(hn::Gt(hn::Abs(hn::Sub(original, value)), bound), hn::Ge(hn::Abs(steps), limit));
    if constexpr (kZeros) {
      const auto zero = hn::Zero(d);
      wrong = hn::Or(wrong, hn::And(hn::Eq(original, zero), hn::Ne(value, zero)));
    }
    // What lies behind the row is never wrong.
    if (HWY_UNLIKELY(i + N > row.count)) {
      wrong = hn::And(wrong, hn::FirstN(d, row.count - i));
    }
    if (HWY_UNLIKELY(!hn::AllFalse(d, wrong))) {
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(d, wrong, bits);
      for (std::size_t lane = 0; lane < N; ++lane) {
        if ((bits[lane / 8] >> (lane % 8)) & 1) {
          outliers[found++] = static_cast<std::uint32_t>(i + lane);
        }
      }
      residual = hn::IfThenZeroElse(wrong, residual);
      value = Reconstruct<kZeros>(d, prediction, residual, step, zero_radius);
    }
    StoreResiduals(d, residual, residuals + i);
    Keep<kStore>(d, row, i, residual, value, output);
  }
  CloseHistories(d, row);
  return found;
}

template <class T>
std::size_t Quantize(const T* originals, std::size_t stride, const InterpolationRow<T>& row,
                     const InterpolationModel<T>& model, const T* predictions,
                     std::int32_t* residuals, const RowOutput<T>& output, std::uint32_t* outliers) {
  const auto quantize = [&]<bool kZeros, RowStore kStore>() {
    return QuantizeVectors<kZeros, kStore>(originals, stride, row, model, predictions, residuals,
                                           output, outliers);
  };
  const auto choose = [&]<bool kZeros>() {
    switch (output.store) {
      case RowStore::none:
        return quantize.template operator()<kZeros, RowStore::none>();
      case RowStore::contiguous:
        return quantize.template operator()<kZeros, RowStore::contiguous>();
      default:
        return quantize.template operator()<kZeros, RowStore::interleaved>();
    }
  };
  return model.keep_zeros ? choose.template operator()<true>()
                          : choose.template operator()<false>();
}

template <bool kZeros, RowStore kStore, class T>
void ReconstructVectors(const std::int32_t* HWY_RESTRICT residuals, const InterpolationRow<T>& row,
                        const InterpolationModel<T>& model, const T* HWY_RESTRICT predictions,
                        const RowOutput<T>& output) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const std::size_t N = hn::Lanes(d);
  const auto step = hn::Set(d, model.step);
  const auto zero_radius = hn::Set(d, model.step * static_cast<T>(kZeroRadius));
  for (std::size_t i = 0; i < row.count; i += N) {
    const auto whole = hn::LoadU(di, residuals + i);
    const auto residual = [&] {
      if constexpr (sizeof(T) == 8) {
        return hn::PromoteTo(d, whole);
      } else {
        return hn::ConvertTo(d, whole);
      }
    }();
    const auto value =
        Reconstruct<kZeros>(d, hn::LoadU(d, predictions + i), residual, step, zero_radius);
    Keep<kStore>(d, row, i, residual, value, output);
  }
  CloseHistories(d, row);
}

template <class T>
void ReconstructRow(const std::int32_t* residuals, const InterpolationRow<T>& row,
                    const InterpolationModel<T>& model, const T* predictions,
                    const RowOutput<T>& output) {
  const auto reconstruct = [&]<bool kZeros>() {
    if (output.store == RowStore::interleaved) {
      ReconstructVectors<kZeros, RowStore::interleaved>(residuals, row, model, predictions, output);
    } else {
      ReconstructVectors<kZeros, RowStore::contiguous>(residuals, row, model, predictions, output);
    }
  };
  model.keep_zeros ? reconstruct.template operator()<true>()
                   : reconstruct.template operator()<false>();
}

inline void Translate(const std::uint8_t* HWY_RESTRICT map, std::uint8_t* HWY_RESTRICT classes,
                      std::size_t count) {
  // Rows are padded to 16 values, and many have no more.
  const hn::CappedTag<std::uint8_t, 16> d;
  const std::size_t N = hn::Lanes(d);
  const auto low = hn::LoadDup128(d, map);
  const auto high = hn::LoadDup128(d, map + 16);
  const auto sixteen = hn::Set(d, std::uint8_t{16});
  const auto fifteen = hn::Set(d, std::uint8_t{15});
  std::size_t i = 0;
  for (; i + N <= count; i += N) {
    const auto at = hn::LoadU(d, classes + i);
    const auto place = hn::And(at, fifteen);
    const auto is_high = hn::Eq(hn::And(at, sixteen), sixteen);
    hn::StoreU(hn::IfThenElse(is_high, hn::TableLookupBytes(high, place),
                              hn::TableLookupBytes(low, place)),
               d, classes + i);
  }
  for (; i < count; ++i) classes[i] = map[classes[i] & 31];
}

template <class T>
const InterpolationKernels<T>& GetInterpolationKernels() {
  static constexpr InterpolationKernels<T> kKernels = {Predict<T>, Quantize<T>, ReconstructRow<T>,
                                                       Translate};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
