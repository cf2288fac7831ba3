// Groups of K consecutive floats to and from K vectors, lane i of vector j being value j of group i
// (array of structures to structure of arrays), for any vector width. Nothing outside the groups is
// touched. Loads and stores are unaligned ones, so `from` may be any address. Per target.
#if defined(TENSORPRESS_GROUPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_GROUPS_INL_H
#    undef TENSORPRESS_GROUPS_INL_H
#  else
#    define TENSORPRESS_GROUPS_INL_H
#  endif

#  include <hwy/highway.h>

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One vector from 128-bit blocks that lie `stride` floats apart.
template <class D>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const float* from, size_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr size_t kHalfBlocks = hn::MaxLanes(D()) / 8;
    return hn::Combine(d, LoadBlocks(half, from + kHalfBlocks * stride, stride),
                       LoadBlocks(half, from, stride));
  }
}

template <class D>
HWY_INLINE void StoreBlocks(D d, hn::Vec<D> v, float* to, size_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    constexpr size_t kHalfBlocks = hn::MaxLanes(D()) / 8;
    StoreBlocks(half, hn::LowerHalf(half, v), to, stride);
    StoreBlocks(half, hn::UpperHalf(half, v), to + kHalfBlocks * stride, stride);
  }
}

// A 4 x 4 transpose inside each 128-bit block.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void Transpose4(D d, V* HWY_RESTRICT v) {
  const hn::RepartitionToWide<D> wide;
  const auto low0 = hn::BitCast(wide, hn::InterleaveLower(d, v[0], v[1]));
  const auto low1 = hn::BitCast(wide, hn::InterleaveLower(d, v[2], v[3]));
  const auto high0 = hn::BitCast(wide, hn::InterleaveUpper(d, v[0], v[1]));
  const auto high1 = hn::BitCast(wide, hn::InterleaveUpper(d, v[2], v[3]));
  v[0] = hn::BitCast(d, hn::InterleaveLower(wide, low0, low1));
  v[1] = hn::BitCast(d, hn::InterleaveUpper(wide, low0, low1));
  v[2] = hn::BitCast(d, hn::InterleaveLower(wide, high0, high1));
  v[3] = hn::BitCast(d, hn::InterleaveUpper(wide, high0, high1));
}

// A 4 x 4 transpose of the 128-bit blocks of 512-bit vectors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void TransposeBlocks(D d, V* HWY_RESTRICT v) {
  const V even0 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v[1]), v[0]);
  const V odd0 = hn::OddEvenBlocks(v[1], hn::SwapAdjacentBlocks(v[0]));
  const V even1 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(v[3]), v[2]);
  const V odd1 = hn::OddEvenBlocks(v[3], hn::SwapAdjacentBlocks(v[2]));
  v[0] = hn::ConcatLowerLower(d, even1, even0);
  v[1] = hn::ConcatLowerLower(d, odd1, odd0);
  v[2] = hn::ConcatUpperUpper(d, even1, even0);
  v[3] = hn::ConcatUpperUpper(d, odd1, odd0);
}

// Whole vectors of 512 bits and transposes of their blocks take half the time of loads and stores
// of 128 bits, where groups are of four or eight. A vector holds 16 / K groups; every 4 K floats a
// block of the same lane begins.
template <int K, class D>
constexpr bool kWholeVectors = hn::MaxLanes(D()) == 16 && (K == 4 || K == 8);

template <int K, class D, class V = hn::Vec<D>>
HWY_INLINE void LoadWhole(D d, const float* HWY_RESTRICT from, V* HWY_RESTRICT values) {
  constexpr int kRuns = K / 4;
  V rows[kRuns][4];
  TENSORPRESS_UNROLL
  for (int part = 0; part < kRuns; ++part) {
    V v[4];
    TENSORPRESS_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = hn::LoadU(d, from + 16 * (kRuns * i + part));
    TransposeBlocks(d, v);
    TENSORPRESS_UNROLL
    for (int i = 0; i < 4; ++i) rows[i % kRuns][4 / kRuns * part + i / kRuns] = v[i];
  }
  TENSORPRESS_UNROLL
  for (int run = 0; run < kRuns; ++run) {
    Transpose4(d, rows[run]);
    TENSORPRESS_UNROLL
    for (int i = 0; i < 4; ++i) values[4 * run + i] = rows[run][i];
  }
}

template <int K, class D, class V = hn::Vec<D>>
HWY_INLINE void StoreWhole(D d, const V* HWY_RESTRICT values, float* HWY_RESTRICT to) {
  constexpr int kRuns = K / 4;
  V rows[kRuns][4];
  TENSORPRESS_UNROLL
  for (int run = 0; run < kRuns; ++run) {
    TENSORPRESS_UNROLL
    for (int i = 0; i < 4; ++i) rows[run][i] = values[4 * run + i];
    Transpose4(d, rows[run]);
  }
  TENSORPRESS_UNROLL
  for (int part = 0; part < kRuns; ++part) {
    V v[4];
    TENSORPRESS_UNROLL
    for (int i = 0; i < 4; ++i) v[i] = rows[i % kRuns][4 / kRuns * part + i / kRuns];
    TransposeBlocks(d, v);
    TENSORPRESS_UNROLL
    for (int i = 0; i < 4; ++i) hn::StoreU(v[i], d, to + 16 * (kRuns * i + part));
  }
}

// K is any number; more than four values are moved in overlapping runs of four, the last one ending
// at K.
template <int K, class D, class V = hn::Vec<D>>
HWY_INLINE void LoadGroups(D d, const float* HWY_RESTRICT from, V* HWY_RESTRICT values) {
  if constexpr (K == 1) {
    values[0] = hn::LoadU(d, from);
  } else if constexpr (K == 2) {
    hn::LoadInterleaved2(d, from, values[0], values[1]);
  } else if constexpr (K == 3) {
    hn::LoadInterleaved3(d, from, values[0], values[1], values[2]);
  } else if constexpr (kWholeVectors<K, D>) {
    LoadWhole<K>(d, from, values);
  } else {
    TENSORPRESS_UNROLL
    for (int run = 0; run < K; run += 4) {
      const int start = run + 4 <= K ? run : K - 4;
      V v[4];
      TENSORPRESS_UNROLL
      for (int i = 0; i < 4; ++i) v[i] = LoadBlocks(d, from + i * K + start, 4 * K);
      Transpose4(d, v);
      TENSORPRESS_UNROLL
      for (int i = 0; i < 4; ++i) values[start + i] = v[i];
    }
  }
}

template <int K, class D, class V = hn::Vec<D>>
HWY_INLINE void StoreGroups(D d, const V* HWY_RESTRICT values, float* HWY_RESTRICT to) {
  if constexpr (K == 1) {
    hn::StoreU(values[0], d, to);
  } else if constexpr (K == 2) {
    hn::StoreInterleaved2(values[0], values[1], d, to);
  } else if constexpr (K == 3) {
    hn::StoreInterleaved3(values[0], values[1], values[2], d, to);
  } else if constexpr (kWholeVectors<K, D>) {
    StoreWhole<K>(d, values, to);
  } else {
    TENSORPRESS_UNROLL
    for (int run = 0; run < K; run += 4) {
      const int start = run + 4 <= K ? run : K - 4;
      V v[4];
      TENSORPRESS_UNROLL
      for (int i = 0; i < 4; ++i) v[i] = values[start + i];
      Transpose4(d, v);
      TENSORPRESS_UNROLL
      for (int i = 0; i < 4; ++i) StoreBlocks(d, v[i], to + i * K + start, 4 * K);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif

#endif
