// Prequantization and 1-D Lorenzo within blocks of 32, and back, in vectors of at most 32 bytes:
// wider ones would need permutations across their quarters for every step. Per target; block_ref.h
// is the truth.
#if defined(TENSORPRESS_PREQUANTIZE_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_PREQUANTIZE_INL_H
#    undef TENSORPRESS_PREQUANTIZE_INL_H
#  else
#    define TENSORPRESS_PREQUANTIZE_INL_H
#  endif

#  include <hwy/highway.h>

#  include "kernels/bitplane/block_ref.h"

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels::bitplane {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::CappedTag<T, 32 / sizeof(T)>;
template <class T>
using WordTag = hn::RebindToUnsigned<Tag<T>>;
template <class T>
constexpr size_t kLanes = hn::MaxLanes(Tag<T>());
template <class T>
constexpr size_t kVectors = kBlockValues / kLanes<T>;

/// The lanes moved up by one, with the last lane of `before` in front.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V MoveUp(D d, V v, V before) {
  constexpr int kBytes = 16 - static_cast<int>(sizeof(hn::TFromD<D>));
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) == 32) {
    return hn::CombineShiftRightBytes<kBytes>(d, v, hn::ConcatLowerUpper(d, v, before));
  } else {
    return hn::CombineShiftRightBytes<kBytes>(d, v, before);
  }
}

/// Sums of the lanes up to each lane.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RunningSum(D d, V v) {
  constexpr size_t kInSixteen = 16 / sizeof(hn::TFromD<D>);
  v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
  if constexpr (kInSixteen == 4) v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
  if constexpr (hn::MaxLanes(D()) == 2 * kInSixteen) {
    const V totals = hn::Broadcast<kInSixteen - 1>(v);
    v = hn::Add(v, hn::ConcatLowerLower(d, totals, hn::Zero(d)));
  }
  return v;
}

/// The last lane everywhere.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LastLane(D d, V v) {
  constexpr size_t kInSixteen = 16 / sizeof(hn::TFromD<D>);
  v = hn::Broadcast<kInSixteen - 1>(v);
  if constexpr (hn::MaxLanes(D()) == 2 * kInSixteen) v = hn::ConcatUpperUpper(d, v, v);
  return v;
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Zigzag(D d, V v) {
  const hn::RebindToSigned<D> signed_tag;
  return hn::Xor(hn::Add(v, v), hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(signed_tag, v))));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Unzigzag(D d, V v) {
  return hn::Xor(hn::ShiftRight<1>(v), hn::Sub(hn::Zero(d), hn::And(v, hn::Set(d, 1))));
}

/// All of a vector's bits in one word.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::TFromD<D> OrOfLanes(D d, V v) {
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) == 32) {
    const hn::Half<D> half;
    return OrOfLanes(half, hn::Or(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (hn::MaxLanes(D()) == 4) {
    v = hn::Or(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Or(v, hn::Shuffle2301(v)));
  } else {
    return hn::GetLane(hn::Or(v, hn::Shuffle01(v)));
  }
}

template <class T>
struct VectorQuantizer {
  using D = Tag<T>;
  using W = WordTag<T>;
  explicit HWY_INLINE VectorQuantizer(const Quantizer<T>& from)
      : scale(hn::Set(D(), from.scale)),
        step(hn::Set(D(), from.step)),
        tolerance(hn::Set(D(), from.tolerance)),
        magic(hn::Set(D(), Arithmetic<T>::kMagic)) {}

  /// The quanta, still with magic's bits added, and whether they hold.
  HWY_INLINE hn::Vec<W> Quantize(hn::Vec<D> values, hn::Mask<D>& good) const {
    const auto shifted = hn::Add(hn::Mul(values, scale), magic);
    const auto back = hn::Mul(hn::Sub(shifted, magic), step);
    good = hn::Le(hn::Abs(hn::Sub(values, back)), tolerance);
    return hn::BitCast(W(), shifted);
  }
  HWY_INLINE hn::Vec<D> Reconstruct(hn::Vec<W> shifted) const {
    return hn::Mul(hn::Sub(hn::BitCast(D(), shifted), magic), step);
  }

  hn::Vec<D> scale, step, tolerance, magic;
};

/// Differences of a block's quanta; false when some value does not hold.
template <class T>
HWY_INLINE bool PredictBlock(const T* values, const VectorQuantizer<T>& quantizer,
                             hn::Vec<WordTag<T>>* differences) {
  const Tag<T> d;
  const WordTag<T> w;
  auto before = hn::BitCast(w, quantizer.magic);
  hn::Mask<Tag<T>> all;
  TENSORPRESS_UNROLL
  for (size_t i = 0; i < kVectors<T>; ++i) {
    hn::Mask<Tag<T>> good;
    const auto shifted = quantizer.Quantize(hn::LoadU(d, values + i * kLanes<T>), good);
    all = i == 0 ? good : hn::And(all, good);
    differences[i] = hn::Sub(shifted, MoveUp(w, shifted, before));
    before = shifted;
  }
  return hn::AllTrue(d, all);
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels::bitplane
HWY_AFTER_NAMESPACE();
#  endif
#endif
