// Whole calls of the block transform: pieces that fit in the first-level cache, one after the
// other. Per target.
#if defined(TENSORPRESS_BLOCK_TRANSFORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_BLOCK_TRANSFORM_INL_H
#    undef TENSORPRESS_BLOCK_TRANSFORM_INL_H
#  else
#    define TENSORPRESS_BLOCK_TRANSFORM_INL_H
#  endif

#  include <hwy/highway.h>

#  include <cstdint>

#  include "kernels/block_transform/passes-inl.h"

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE bool CanStream(bool wanted, const float* output, size_t width) {
  return wanted && reinterpret_cast<uintptr_t>(output) % 64 == 0 && width % 16 == 0;
}

template <class T, int K>
Energy ForwardSquare(const float* input, size_t block_rows, size_t width, float* output,
                     NextInput next) {
  constexpr size_t P = T::kPoints;
  const size_t N = hn::Lanes(hn::ScalableTag<float>());
  const Tiling tiling = tiling_for(width, P, K, true);
  HWY_ALIGN float t[Tiling::kFloats];
  EnergyLanes lanes;
  ReadAhead ahead(next, block_rows * width / N + block_rows * K * (width / P) / N);
  for (size_t b = 0; b < block_rows; b += tiling.block_rows) {
    const size_t rows = std::min(tiling.block_rows, block_rows - b);
    const float* const from = input + b * P * width;
    float* const to = output + b * K * K * (width / P);
    if (tiling.columns == width) {
      for (size_t k = 0; k < rows; ++k) {
        ColumnsForward<T, K>(from + k * P * width, width, width, t + k * K * width, width, lanes,
                             ahead);
      }
      RowsForward<T, K>(t, rows * K * (width / P), to, lanes, ahead);
      continue;
    }
    for (size_t c = 0; c < width; c += tiling.columns) {
      const size_t columns = std::min(tiling.columns, width - c);
      ColumnsForward<T, K>(from + c, width, columns, t, columns, lanes, ahead);
      for (size_t u = 0; u < K; ++u) {
        RowsForward<T, K>(t + u * columns, columns / P, to + (u * (width / P) + c / P) * K, lanes,
                          ahead);
      }
    }
  }
  return lanes.Total();
}

template <class T, int K>
void InverseSquare(const std::byte* input, size_t block_rows, size_t width, float* output,
                   bool stream, NextInput next) {
  constexpr size_t P = T::kPoints;
  const size_t N = hn::Lanes(hn::ScalableTag<float>());
  const Tiling tiling = tiling_for(width, P, K, true);
  const bool streaming = CanStream(stream, output, width);
  HWY_ALIGN float t[Tiling::kFloats];
  ReadAhead ahead(next, block_rows * width / 16 + block_rows * K * (width / P) / N);
  for (size_t b = 0; b < block_rows; b += tiling.block_rows) {
    const size_t rows = std::min(tiling.block_rows, block_rows - b);
    const size_t row_values = K * K * (width / P);
    const std::byte* const from = input + b * row_values * sizeof(float);
    float* const to = output + b * P * width;
    if (tiling.columns == width) {
      RowsInverse<T, K>(from, rows * K * (width / P), t, ahead);
      for (size_t k = 0; k < rows; ++k) {
        ColumnsInverse<T, K>(t + k * K * width, width, width, to + k * P * width, width, streaming,
                             ahead);
      }
      continue;
    }
    for (size_t c = 0; c < width; c += tiling.columns) {
      const size_t columns = std::min(tiling.columns, width - c);
      for (size_t u = 0; u < K; ++u) {
        RowsInverse<T, K>(from + (u * (width / P) + c / P) * K * sizeof(float), columns / P,
                          t + u * columns, ahead);
      }
      ColumnsInverse<T, K>(t, columns, columns, to + c, width, streaming, ahead);
    }
  }
  if (streaming) hwy::FlushStream();
}

// ---- Triangle: row u of a block keeps K - u values. T is [u][block][P], its rows padded against
// cache aliasing.

inline constexpr size_t kTrianglePadding = 16;

template <class T, int K, int U, int kBase, class D>
HWY_INLINE void TriangleRowsForward(D d, const float* HWY_RESTRICT t, size_t t_stride,
                                    hn::Vec<D>* HWY_RESTRICT values, hn::Vec<D>& dropped,
                                    hn::Vec<D>& kept) {
  if constexpr (U < K) {
    hn::Vec<D> x[T::kPoints], row_dropped;
    LoadGroups<T::kPoints>(d, t + U * t_stride, x);
    T::template Forward<K - U>(d, x, values + kBase, row_dropped);
    if constexpr (T::kOrthonormal) {
      if constexpr (K - U < T::kPoints) dropped = hn::Add(dropped, row_dropped);
      kept = hn::Add(kept, SumOfSquares<K - U>(d, values + kBase));
    }
    TriangleRowsForward<T, K, U + 1, kBase + K - U>(d, t, t_stride, values, dropped, kept);
  }
}

template <class T, int K, int U, int kBase, class D>
HWY_INLINE void TriangleRowsInverse(D d, const hn::Vec<D>* HWY_RESTRICT values,
                                    float* HWY_RESTRICT t, size_t t_stride) {
  if constexpr (U < K) {
    hn::Vec<D> x[T::kPoints];
    T::template Inverse<K - U>(d, values + kBase, x);
    StoreGroups<T::kPoints>(d, x, t + U * t_stride);
    TriangleRowsInverse<T, K, U + 1, kBase + K - U>(d, values, t, t_stride);
  }
}

template <class T, int K>
HWY_INLINE void TriangleForwardPiece(const float* HWY_RESTRICT t, size_t t_stride, size_t blocks,
                                     float* HWY_RESTRICT output, EnergyLanes& lanes,
                                     ReadAhead& ahead) {
  constexpr size_t P = T::kPoints;
  constexpr int kValues = K * (K + 1) / 2;
  const hn::ScalableTag<float> d;
  const size_t N = hn::Lanes(d);
  for (size_t g = 0; g < blocks; g += N) {
    for (int i = 0; i < K; ++i) ahead.Step();
    hn::Vec<decltype(d)> values[kValues + T::kPoints], dropped = hn::Zero(d), kept = hn::Zero(d);
    TriangleRowsForward<T, K, 0, 0>(d, t + g * P, t_stride, values, dropped, kept);
    if (g + N <= blocks) {
      StoreGroups<kValues>(d, values, output + g * kValues);
      if constexpr (T::kOrthonormal) {
        AddToLanes(d, dropped, lanes.row_dropped + g % Tiling::kLanes);
        AddToLanes(d, kept, lanes.row_kept + g % Tiling::kLanes);
      }
    } else {  // T is padded; only the blocks that exist count
      HWY_ALIGN float result[kValues * 16];
      HWY_ALIGN float sums[2][16] = {};
      StoreGroups<kValues>(d, values, result);
      std::memcpy(output + g * kValues, result, (blocks - g) * kValues * sizeof(float));
      hn::Store(dropped, d, sums[0]);
      hn::Store(kept, d, sums[1]);
      for (size_t i = 0; i < blocks - g; ++i) {
        lanes.row_dropped[(g + i) % Tiling::kLanes] += sums[0][i];
        lanes.row_kept[(g + i) % Tiling::kLanes] += sums[1][i];
      }
    }
  }
}

template <class T, int K>
HWY_INLINE void TriangleInversePiece(const std::byte* HWY_RESTRICT input, size_t blocks,
                                     float* HWY_RESTRICT t, size_t t_stride, ReadAhead& ahead) {
  constexpr size_t P = T::kPoints;
  constexpr int kValues = K * (K + 1) / 2;
  const hn::ScalableTag<float> d;
  const size_t N = hn::Lanes(d);
  for (size_t g = 0; g < blocks; g += N) {
    for (int i = 0; i < K; ++i) ahead.Step();
    hn::Vec<decltype(d)> values[kValues];
    const std::byte* const from = input + g * kValues * sizeof(float);
    if (g + N <= blocks) {
      LoadGroups<kValues>(d, reinterpret_cast<const float*>(from), values);
    } else {
      HWY_ALIGN float padded[kValues * 16] = {};
      std::memcpy(padded, from, (blocks - g) * kValues * sizeof(float));
      LoadGroups<kValues>(d, padded, values);
    }
    TriangleRowsInverse<T, K, 0, 0>(d, values, t + g * P, t_stride);
  }
}

// T of a triangle piece: K rows of a whole number of vectors of blocks, and padding.
constexpr size_t TriangleStride(size_t columns) {
  return (columns + 16 * 8 - 1) / (16 * 8) * (16 * 8) + kTrianglePadding;
}
inline constexpr size_t kTriangleFloats = Tiling::kFloats + 8 * (16 * 8 + kTrianglePadding);

template <class T, int K>
Energy ForwardTriangle(const float* input, size_t block_rows, size_t width, float* output,
                       NextInput next) {
  constexpr size_t P = T::kPoints;
  constexpr size_t kValues = K * (K + 1) / 2;
  const size_t N = hn::Lanes(hn::ScalableTag<float>());
  const Tiling tiling = tiling_for(width, P, K, false);
  const size_t t_stride = TriangleStride(tiling.block_rows * tiling.columns);
  HWY_ALIGN float t[kTriangleFloats] = {};
  EnergyLanes lanes;
  ReadAhead ahead(next, block_rows * width / N + K * (block_rows * (width / P) / N));
  for (size_t b = 0; b < block_rows; b += tiling.block_rows) {
    const size_t rows = std::min(tiling.block_rows, block_rows - b);
    const float* const from = input + b * P * width;
    for (size_t c = 0; c < width; c += tiling.columns) {
      const size_t columns = std::min(tiling.columns, width - c);
      for (size_t k = 0; k < rows; ++k) {
        ColumnsForward<T, K>(from + k * P * width + c, width, columns, t + k * columns, t_stride,
                             lanes, ahead);
      }
      TriangleForwardPiece<T, K>(t, t_stride, rows * (columns / P),
                                 output + (b * (width / P) + c / P) * kValues, lanes, ahead);
    }
  }
  return lanes.Total();
}

template <class T, int K>
void InverseTriangle(const std::byte* input, size_t block_rows, size_t width, float* output,
                     bool stream, NextInput next) {
  constexpr size_t P = T::kPoints;
  constexpr size_t kValues = K * (K + 1) / 2;
  const size_t N = hn::Lanes(hn::ScalableTag<float>());
  const Tiling tiling = tiling_for(width, P, K, false);
  const size_t t_stride = TriangleStride(tiling.block_rows * tiling.columns);
  const bool streaming = CanStream(stream, output, width);
  HWY_ALIGN float t[kTriangleFloats];
  ReadAhead ahead(next, block_rows * width / 16 + K * (block_rows * (width / P) / N));
  for (size_t b = 0; b < block_rows; b += tiling.block_rows) {
    const size_t rows = std::min(tiling.block_rows, block_rows - b);
    const size_t row_values = kValues * (width / P);
    const std::byte* const from = input + b * row_values * sizeof(float);
    for (size_t c = 0; c < width; c += tiling.columns) {
      const size_t columns = std::min(tiling.columns, width - c);
      TriangleInversePiece<T, K>(from + c / P * kValues * sizeof(float), rows * (columns / P), t,
                                 t_stride, ahead);
      for (size_t k = 0; k < rows; ++k) {
        ColumnsInverse<T, K>(t + k * columns, t_stride, columns, output + (b + k) * P * width + c,
                             width, streaming, ahead);
      }
    }
  }
  if (streaming) hwy::FlushStream();
}

// ---- Linear: the row pass alone.

template <class T, int K>
Energy ForwardLinear(const float* input, size_t /*block_rows*/, size_t width, float* output,
                     NextInput next) {
  EnergyLanes lanes;
  ReadAhead ahead(next, width / T::kPoints / hn::Lanes(hn::ScalableTag<float>()));
  RowsForward<T, K>(input, width / T::kPoints, output, lanes, ahead);
  return lanes.Total();
}

template <class T, int K>
void InverseLinear(const std::byte* input, size_t /*block_rows*/, size_t width, float* output,
                   bool /*stream*/, NextInput next) {
  ReadAhead ahead(next, width / T::kPoints / hn::Lanes(hn::ScalableTag<float>()));
  RowsInverse<T, K>(input, width / T::kPoints, output, ahead);
}

template <class T, int K>
BlockTransform ForLayout(Layout layout) {
  switch (layout) {
    case Layout::square:
      return {ForwardSquare<T, K>, InverseSquare<T, K>};
    case Layout::triangle:
      return {ForwardTriangle<T, K>, InverseTriangle<T, K>};
    case Layout::linear:
      break;
  }
  return {ForwardLinear<T, K>, InverseLinear<T, K>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif

#endif
