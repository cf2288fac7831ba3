#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bitplane/bitplane.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>
#include <cstring>

#include "kernels/bitplane/bitplane.h"
#include "kernels/bitplane/planes-inl.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels::bitplane {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// f64 has its codes in twice as many vectors; their halves are packed like those of f32, the lower
// ones first.
HWY_INLINE void PackDoubles(const hn::Vec<WordTag<double>>* z, unsigned width, uint8_t* to) {
  const Codes d;
  Code half[kCodeVectors];
  TENSORPRESS_UNROLL
  for (size_t i = 0; i < kCodeVectors; ++i) {
    half[i] = hn::ConcatEven(d, hn::BitCast(d, z[2 * i + 1]), hn::BitCast(d, z[2 * i]));
  }
  Pack(half, width < 32 ? width : 32, to);
  if (width <= 32) return;
  TENSORPRESS_UNROLL
  for (size_t i = 0; i < kCodeVectors; ++i) {
    half[i] = hn::ConcatOdd(d, hn::BitCast(d, z[2 * i + 1]), hn::BitCast(d, z[2 * i]));
  }
  Pack(half, width - 32, to + 128);
}

HWY_INLINE void UnpackDoubles(const uint8_t* from, unsigned width, hn::Vec<WordTag<double>>* z) {
  const Codes d;
  const WordTag<double> wide;
  const hn::Half<Codes> narrow;
  Code half[kCodeVectors];
  Unpack(from, width < 32 ? width : 32, half);
  TENSORPRESS_UNROLL
  for (size_t i = 0; i < kCodeVectors; ++i) {
    z[2 * i] = hn::PromoteTo(wide, hn::LowerHalf(narrow, half[i]));
    z[2 * i + 1] = hn::PromoteTo(wide, hn::UpperHalf(narrow, half[i]));
  }
  if (width <= 32) return;
  Unpack(from + 128, width - 32, half);
  TENSORPRESS_UNROLL
  for (size_t i = 0; i < kCodeVectors; ++i) {
    const auto lower = hn::PromoteTo(wide, hn::LowerHalf(narrow, half[i]));
    const auto upper = hn::PromoteTo(wide, hn::UpperHalf(narrow, half[i]));
    z[2 * i] = hn::Or(z[2 * i], hn::ShiftLeft<32>(lower));
    z[2 * i + 1] = hn::Or(z[2 * i + 1], hn::ShiftLeft<32>(upper));
  }
}

template <class T>
Progress EncodeBlocks(const T* HWY_RESTRICT values, size_t blocks, const Quantizer<T>& from,
                      uint8_t* HWY_RESTRICT widths, std::byte* HWY_RESTRICT payload,
                      size_t capacity) {
  const WordTag<T> w;
  const VectorQuantizer<T> quantizer(from);
  auto* to = reinterpret_cast<uint8_t*>(payload);
  const uint8_t* const end = to + capacity;
  size_t block = 0;
  for (; block < blocks && static_cast<size_t>(end - to) >= kBlockBytes<T>; ++block) {
    const T* const at = values + block * kBlockValues;
    TENSORPRESS_UNROLL
    for (size_t line = 0; line < kBlockBytes<T>; line += 64) {
      __builtin_prefetch(reinterpret_cast<const char*>(at) + 2048 + line, 0, 3);
    }
    hn::Vec<WordTag<T>> z[kVectors<T>];
    if (HWY_UNLIKELY(!PredictBlock(at, quantizer, z))) {
      widths[block] = kRawBlock;
      std::memcpy(to, at, kBlockBytes<T>);
      to += kBlockBytes<T>;
      continue;
    }
    auto all = hn::Zero(w);
    TENSORPRESS_UNROLL
    for (size_t i = 0; i < kVectors<T>; ++i) {
      z[i] = Zigzag(w, z[i]);
      all = hn::Or(all, z[i]);
    }
    const auto width = static_cast<unsigned>(std::bit_width(OrOfLanes(w, all)));
    widths[block] = static_cast<uint8_t>(width);
    if (width == 0) continue;
    if constexpr (sizeof(T) == 4) {
      Pack(z, width, to);
    } else {
      PackDoubles(z, width, to);
    }
    to += 4 * width;
  }
  return {block, capacity - static_cast<size_t>(end - to)};
}

template <bool kStream, class D>
HWY_INLINE void Put(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  if constexpr (kStream) {
    hn::Stream(v, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

template <class T, bool kStream>
Progress DecodeBlocks(const uint8_t* HWY_RESTRICT widths, size_t blocks,
                      const std::byte* HWY_RESTRICT payload, size_t size, const Quantizer<T>& from,
                      T* HWY_RESTRICT values) {
  const Tag<T> d;
  const WordTag<T> w;
  const VectorQuantizer<T> quantizer(from);
  const auto* at = reinterpret_cast<const uint8_t*>(payload);
  const uint8_t* const end = at + size;
  size_t block = 0;
  for (; block < blocks && static_cast<size_t>(end - at) >= kBlockBytes<T>; ++block) {
    T* const to = values + block * kBlockValues;
    const unsigned width = widths[block];
    __builtin_prefetch(at + 1024, 0, 3);
    if (width == 0) {
      TENSORPRESS_UNROLL
      for (size_t i = 0; i < kVectors<T>; ++i) Put<kStream>(hn::Zero(d), d, to + i * kLanes<T>);
      continue;
    }
    if (HWY_UNLIKELY(width > kWordBits<T>)) {
      if (width != kRawBlock) break;
      TENSORPRESS_UNROLL
      for (size_t i = 0; i < kVectors<T>; ++i) {
        const auto raw =
            hn::LoadU(hn::Repartition<uint8_t, Tag<T>>(), at + i * kLanes<T> * sizeof(T));
        Put<kStream>(hn::BitCast(d, raw), d, to + i * kLanes<T>);
      }
      at += kBlockBytes<T>;
      continue;
    }
    hn::Vec<WordTag<T>> z[kVectors<T>];
    if constexpr (sizeof(T) == 4) {
      Unpack(at, width, z);
    } else {
      UnpackDoubles(at, width, z);
    }
    at += 4 * width;
    auto sum = hn::BitCast(w, quantizer.magic);
    TENSORPRESS_UNROLL
    for (size_t i = 0; i < kVectors<T>; ++i) {
      const auto shifted = hn::Add(RunningSum(w, Unzigzag(w, z[i])), sum);
      sum = LastLane(w, shifted);
      Put<kStream>(quantizer.Reconstruct(shifted), d, to + i * kLanes<T>);
    }
  }
  if (kStream) hwy::FlushStream();
  return {block, size - static_cast<size_t>(end - at)};
}

template <class T>
BlockCoding<T> Coding() {
  return {EncodeBlocks<T>, DecodeBlocks<T, false>, DecodeBlocks<T, true>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels::bitplane
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels::bitplane {
namespace {

template <class T>
constexpr BlockCoding<T> kReference = {encode_reference, decode_reference, decode_reference};

}  // namespace

BlockCoding<float> f32_blocks(Isa isa){
    TENSORPRESS_DISPATCH(isa, Coding<float>(),
                         kReference<float>)} BlockCoding<double> f64_blocks(Isa isa) {
  TENSORPRESS_DISPATCH(isa, Coding<double>(), kReference<double>)
}

}  // namespace tensorpress::kernels::bitplane
#endif
