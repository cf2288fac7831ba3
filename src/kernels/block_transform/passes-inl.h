// The row and column passes of a block transform on one piece (see Tiling), with the input of the
// next piece fetched meanwhile. Per target; a pass is a function of its own, shared by both layouts
// and by all widths; tested against block_transform_ref.cc bit by bit.
#if defined(TENSORPRESS_PASSES_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_PASSES_INL_H
#    undef TENSORPRESS_PASSES_INL_H
#  else
#    define TENSORPRESS_PASSES_INL_H
#  endif

#  include <hwy/cache_control.h>
#  include <hwy/highway.h>

#  include <algorithm>
#  include <cstring>

#  include "kernels/block_transform/block_transform.h"
#  include "kernels/block_transform/butterflies-inl.h"
#  include "kernels/block_transform/groups-inl.h"

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Fetches the next call's input a few cache lines at a time, spread evenly over `steps` steps:
// memory must not idle while we compute.
class ReadAhead {
 public:
  ReadAhead(NextInput next, size_t steps)
      : at_(static_cast<const char*>(next.begin)), end_(at_ + next.bytes) {
    const size_t lines = next.bytes / 64 + 1;
    quota_ = (lines + steps - 1) / std::max<size_t>(steps, 1);
  }
  HWY_INLINE void Step() {
    for (size_t i = 0; i < quota_ && at_ < end_; ++i, at_ += 64) __builtin_prefetch(at_, 0, 2);
  }

 private:
  const char* at_;
  const char* end_;
  size_t quota_;
};

// Sums of squares in 16 lanes whatever the vector width; lane = column or group number modulo 16.
struct EnergyLanes {
  HWY_ALIGN float column_dropped[Tiling::kLanes] = {};
  HWY_ALIGN float row_dropped[Tiling::kLanes] = {};
  HWY_ALIGN float row_kept[Tiling::kLanes] = {};

  Energy Total() const {
    Energy total;
    for (size_t i = 0; i < Tiling::kLanes; ++i) {
      total.dropped += static_cast<double>(column_dropped[i]);
      total.dropped += static_cast<double>(row_dropped[i]);
      total.kept += static_cast<double>(row_kept[i]);
    }
    return total;
  }
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE void AddToLanes(D d, V value, float* HWY_RESTRICT lanes) {
  hn::Store(hn::Add(hn::Load(d, lanes), value), d, lanes);
}

template <int K, class D, class V = hn::Vec<D>>
HWY_INLINE V SumOfSquares(D /*d*/, const V* HWY_RESTRICT values) {
  V sum = hn::Mul(values[0], values[0]);
  TENSORPRESS_UNROLL
  for (int v = 1; v < K; ++v) sum = hn::Add(sum, hn::Mul(values[v], values[v]));
  return sum;
}

// N columns of P rows to N columns of K rows of T.
template <class T, int K, class D>
HWY_INLINE void ColumnsForwardOnce(D d, const float* HWY_RESTRICT input, size_t width,
                                   float* HWY_RESTRICT t, size_t t_width,
                                   float* HWY_RESTRICT lanes) {
  using V = hn::Vec<D>;
  V x[T::kPoints], y[T::kPoints], dropped;
  TENSORPRESS_UNROLL
  for (int i = 0; i < T::kPoints; ++i) x[i] = hn::LoadU(d, input + static_cast<size_t>(i) * width);
  T::template Forward<K>(d, x, y, dropped);
  if constexpr (T::kOrthonormal && K < T::kPoints) AddToLanes(d, dropped, lanes);
  TENSORPRESS_UNROLL
  for (int u = 0; u < K; ++u) hn::StoreU(y[u], d, t + static_cast<size_t>(u) * t_width);
}

template <class T, int K>
HWY_NOINLINE void ColumnsForward(const float* HWY_RESTRICT input, size_t width, size_t columns,
                                 float* HWY_RESTRICT t, size_t t_width, EnergyLanes& lanes,
                                 ReadAhead& ahead) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> narrow;
  size_t c = 0;
  for (; c + hn::Lanes(d) <= columns; c += hn::Lanes(d)) {
    ahead.Step();
    ColumnsForwardOnce<T, K>(d, input + c, width, t + c, t_width,
                             lanes.column_dropped + c % Tiling::kLanes);
  }
  for (; c < columns; c += 4) {
    ColumnsForwardOnce<T, K>(narrow, input + c, width, t + c, t_width,
                             lanes.column_dropped + c % Tiling::kLanes);
  }
}

// `groups` groups of P values to groups of K.
template <class T, int K>
HWY_NOINLINE void RowsForward(const float* HWY_RESTRICT t, size_t groups,
                              float* HWY_RESTRICT output, EnergyLanes& lanes, ReadAhead& ahead) {
  constexpr int P = T::kPoints;
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t N = hn::Lanes(d);
  V x[P], y[P], dropped = hn::Zero(d);
  size_t g = 0;
  for (; g + N <= groups; g += N) {
    ahead.Step();
    LoadGroups<P>(d, t + g * P, x);
    T::template Forward<K>(d, x, y, dropped);
    if constexpr (T::kOrthonormal) {
      if constexpr (K < P) AddToLanes(d, dropped, lanes.row_dropped + g % Tiling::kLanes);
      AddToLanes(d, SumOfSquares<K>(d, y), lanes.row_kept + g % Tiling::kLanes);
    }
    StoreGroups<K>(d, y, output + g * K);
  }
  if (g < groups) {  // the same on a padded copy
    HWY_ALIGN float padded[P * 16] = {};
    HWY_ALIGN float result[P * 16];
    HWY_ALIGN float sums[2][16] = {};
    std::memcpy(padded, t + g * P, (groups - g) * P * sizeof(float));
    LoadGroups<P>(d, padded, x);
    T::template Forward<K>(d, x, y, dropped);
    StoreGroups<K>(d, y, result);
    std::memcpy(output + g * K, result, (groups - g) * K * sizeof(float));
    if constexpr (T::kOrthonormal) {
      hn::Store(dropped, d, sums[0]);
      hn::Store(SumOfSquares<K>(d, y), d, sums[1]);
      for (size_t i = 0; i < groups - g; ++i) {
        if constexpr (K < P) lanes.row_dropped[(g + i) % Tiling::kLanes] += sums[0][i];
        lanes.row_kept[(g + i) % Tiling::kLanes] += sums[1][i];
      }
    }
  }
}

template <class T, int K>
HWY_NOINLINE void RowsInverse(const std::byte* HWY_RESTRICT input, size_t groups,
                              float* HWY_RESTRICT t, ReadAhead& ahead) {
  constexpr int P = T::kPoints;
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t N = hn::Lanes(d);
  V x[P], y[P];
  size_t g = 0;
  for (; g + N <= groups; g += N) {
    ahead.Step();
    LoadGroups<K>(d, reinterpret_cast<const float*>(input + g * K * sizeof(float)), y);
    T::template Inverse<K>(d, y, x);
    StoreGroups<P>(d, x, t + g * P);
  }
  if (g < groups) {
    HWY_ALIGN float padded[P * 16] = {};
    HWY_ALIGN float result[P * 16];
    std::memcpy(padded, input + g * K * sizeof(float), (groups - g) * K * sizeof(float));
    LoadGroups<K>(d, padded, y);
    T::template Inverse<K>(d, y, x);
    StoreGroups<P>(d, x, result);
    std::memcpy(t + g * P, result, (groups - g) * P * sizeof(float));
  }
}

template <class T, int K, class D>
HWY_INLINE void ColumnsInverseOnce(D d, const float* HWY_RESTRICT t, size_t t_width,
                                   float* HWY_RESTRICT output, size_t width) {
  using V = hn::Vec<D>;
  V x[T::kPoints], y[T::kPoints];
  TENSORPRESS_UNROLL
  for (int u = 0; u < K; ++u) y[u] = hn::LoadU(d, t + static_cast<size_t>(u) * t_width);
  T::template Inverse<K>(d, y, x);
  TENSORPRESS_UNROLL
  for (int i = 0; i < T::kPoints; ++i) hn::StoreU(x[i], d, output + static_cast<size_t>(i) * width);
}

// One strip of columns: computed into a buffer in the first-level cache, then whole cache lines are
// streamed row after row. Half lines to eight rows in turn would be four to eight times slower.
template <class T, int K, size_t kColumns>
HWY_INLINE void ColumnsInverseStrip(const float* HWY_RESTRICT t, size_t t_width,
                                    float* HWY_RESTRICT output, size_t width) {
  const hn::ScalableTag<float> d;
  const size_t N = hn::Lanes(d);
  HWY_ALIGN float strip[T::kPoints * kColumns];
  for (size_t c = 0; c < kColumns; c += N)
    ColumnsInverseOnce<T, K>(d, t + c, t_width, strip + c, kColumns);
  TENSORPRESS_UNROLL
  for (int i = 0; i < T::kPoints; ++i) {
    const float* row = strip + static_cast<size_t>(i) * kColumns;
    float* to = output + static_cast<size_t>(i) * width;
    for (size_t c = 0; c < kColumns; c += N) hn::Stream(hn::Load(d, row + c), d, to + c);
  }
}

// Rows far apart want longer runs: with 512 columns, one line per row reached 0.8 x memcpy on an
// EPYC 7003 at CF 4 and four lines 1.9 x; up to this width one line is as fast there and faster on
// Intel's.
inline constexpr size_t kNarrow = 128;

template <class T, int K>
HWY_NOINLINE void ColumnsInverse(const float* HWY_RESTRICT t, size_t t_width, size_t columns,
                                 float* HWY_RESTRICT output, size_t width, bool stream,
                                 ReadAhead& ahead) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> narrow;
  size_t c = 0;
  if (stream) {  // then output and width are multiples of a cache line
    if (width > kNarrow) {
      for (; c + 64 <= columns; c += 64) {
        for (int line = 0; line < 4; ++line) ahead.Step();
        ColumnsInverseStrip<T, K, 64>(t + c, t_width, output + c, width);
      }
    }
    for (; c + 16 <= columns; c += 16) {
      ahead.Step();
      ColumnsInverseStrip<T, K, 16>(t + c, t_width, output + c, width);
    }
  }
  for (; c + hn::Lanes(d) <= columns; c += hn::Lanes(d)) {
    ahead.Step();
    ColumnsInverseOnce<T, K>(d, t + c, t_width, output + c, width);
  }
  for (; c < columns; c += 4) ColumnsInverseOnce<T, K>(narrow, t + c, t_width, output + c, width);
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif

#endif
