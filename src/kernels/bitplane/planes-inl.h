// 32 codes of 32 bits to bit planes and back. Per target; planes_of_block() is the truth.
//
//   codes in vectors      bytes p of all codes      8x8 bit transpose in      planes
//   z0 = 0..7             u32 lane L:               every u64 (lanes 2m,      of four bytes,
//   z1 = 8..15       ->   z0 z1 z2 z3         ->    2m+1): byte = plane  ->   byte m from
//   z2, z3                (values L, 8+L, ...)      bit = 4 h + c             the u64 m
#if defined(TENSORPRESS_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_PLANES_INL_H
#    undef TENSORPRESS_PLANES_INL_H
#  else
#    define TENSORPRESS_PLANES_INL_H
#  endif

#  include <hwy/highway.h>

#  include "kernels/bitplane/prequantize-inl.h"

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels::bitplane {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Codes = WordTag<float>;
using Code = hn::Vec<Codes>;
using Bytes = hn::Repartition<uint8_t, Codes>;
constexpr size_t kCodeVectors = kVectors<float>;  // 4, or 8 of half the lanes
constexpr size_t kGroups = kCodeVectors / 4;      // vectors that make up 8 lanes

template <int kShift>
HWY_INLINE hn::Vec<hn::Repartition<uint64_t, Codes>> DeltaSwap(
    hn::Vec<hn::Repartition<uint64_t, Codes>> x, uint64_t mask) {
  const hn::Repartition<uint64_t, Codes> d;
  const auto t = hn::And(hn::Xor(x, hn::ShiftRight<kShift>(x)), hn::Set(d, mask));
  return hn::Xor(hn::Xor(x, t), hn::ShiftLeft<kShift>(t));
}

/// Bit i of byte j becomes bit j of byte i, in every 64 bits.
HWY_INLINE Code TransposeBits(Code code) {
  auto x = hn::BitCast(hn::Repartition<uint64_t, Codes>(), code);
  x = DeltaSwap<7>(x, 0x00AA00AA00AA00AAu);
  x = DeltaSwap<14>(x, 0x0000CCCC0000CCCCu);
  x = DeltaSwap<28>(x, 0x00000000F0F0F0F0u);
  return hn::BitCast(Codes(), x);
}

/// Stores the eight planes of one byte of all codes: 32 bytes.
HWY_INLINE void StorePlanes(const Code* bytes, uint8_t* to) {
  const Bytes d8;
  const hn::Repartition<uint16_t, Codes> d16;
  alignas(16) static constexpr uint8_t kPairs[16] = {0, 8,  1, 9,  2, 10, 3, 11,
                                                     4, 12, 5, 13, 6, 14, 7, 15};
  const auto pairs = hn::LoadDup128(d8, kPairs);
  if constexpr (kGroups == 1) {
    const auto x =
        hn::BitCast(d16, hn::TableLookupBytes(hn::BitCast(d8, TransposeBits(bytes[0])), pairs));
    const hn::Half<decltype(d16)> half;
    const auto lower = hn::LowerHalf(half, x);
    const auto upper = hn::UpperHalf(half, x);
    hn::StoreU(hn::BitCast(hn::Half<Bytes>(), hn::InterleaveLower(half, lower, upper)),
               hn::Half<Bytes>(), to);
    hn::StoreU(hn::BitCast(hn::Half<Bytes>(), hn::InterleaveUpper(half, lower, upper)),
               hn::Half<Bytes>(), to + 16);
  } else {
    const auto lower =
        hn::BitCast(d16, hn::TableLookupBytes(hn::BitCast(d8, TransposeBits(bytes[0])), pairs));
    const auto upper = hn::BitCast(
        d16, hn::TableLookupBytes(hn::BitCast(d8, TransposeBits(bytes[kGroups - 1])), pairs));
    hn::StoreU(hn::BitCast(d8, hn::InterleaveLower(d16, lower, upper)), d8, to);
    hn::StoreU(hn::BitCast(d8, hn::InterleaveUpper(d16, lower, upper)), d8, to + 16);
  }
}

HWY_INLINE void LoadPlanes(const uint8_t* from, Code* bytes) {
  const Bytes d8;
  const Codes d;
  alignas(16) static constexpr uint8_t kFours[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                     2, 6, 10, 14, 3, 7, 11, 15};
  const auto fours = hn::LoadDup128(d8, kFours);
  if constexpr (kGroups == 1) {
    const auto x = hn::BitCast(d, hn::TableLookupBytes(hn::LoadU(d8, from), fours));
    const hn::Half<Codes> half;
    const auto lower = hn::LowerHalf(half, x);
    const auto upper = hn::UpperHalf(half, x);
    bytes[0] = TransposeBits(hn::Combine(d, hn::InterleaveUpper(half, lower, upper),
                                         hn::InterleaveLower(half, lower, upper)));
  } else {
    const auto lower = hn::BitCast(d, hn::TableLookupBytes(hn::LoadU(d8, from), fours));
    const auto upper = hn::BitCast(d, hn::TableLookupBytes(hn::LoadU(d8, from + 16), fours));
    bytes[0] = TransposeBits(hn::InterleaveLower(d, lower, upper));
    bytes[kGroups - 1] = TransposeBits(hn::InterleaveUpper(d, lower, upper));
  }
}

/// Codes below 2^8: 32 bytes.
HWY_INLINE void PackOneByte(const Code* z, uint8_t* to) {
  Code bytes[kGroups];
  TENSORPRESS_UNROLL
  for (size_t g = 0; g < kGroups; ++g) {
    const auto low = hn::Or(z[g], hn::ShiftLeft<8>(z[g + kGroups]));
    const auto high = hn::Or(z[g + 2 * kGroups], hn::ShiftLeft<8>(z[g + 3 * kGroups]));
    bytes[g] = hn::Or(low, hn::ShiftLeft<16>(high));
  }
  StorePlanes(bytes, to);
}

/// Codes below 2^16: 64 bytes.
HWY_INLINE void PackTwoBytes(const Code* z, uint8_t* to) {
  const auto mask = hn::Set(Codes(), 0x00FF00FFu);
  Code low[kGroups], high[kGroups];
  TENSORPRESS_UNROLL
  for (size_t g = 0; g < kGroups; ++g) {
    const auto even = hn::Or(z[g], hn::ShiftLeft<16>(z[g + 2 * kGroups]));
    const auto odd = hn::Or(z[g + kGroups], hn::ShiftLeft<16>(z[g + 3 * kGroups]));
    low[g] = hn::Or(hn::And(even, mask), hn::ShiftLeft<8>(hn::And(odd, mask)));
    high[g] = hn::Or(hn::And(hn::ShiftRight<8>(even), mask), hn::AndNot(mask, odd));
  }
  StorePlanes(low, to);
  StorePlanes(high, to + 32);
}

/// Any codes: 128 bytes, of which the first 4 * width count.
HWY_INLINE void PackFourBytes(const Code* z, uint8_t* to) {
  Code part[kCodeVectors];
  TENSORPRESS_UNROLL
  for (size_t i = 0; i < kCodeVectors; ++i) part[i] = hn::And(z[i], hn::Set(Codes(), 0xFFFFu));
  PackTwoBytes(part, to);
  TENSORPRESS_UNROLL
  for (size_t i = 0; i < kCodeVectors; ++i) part[i] = hn::ShiftRight<16>(z[i]);
  PackTwoBytes(part, to + 64);
}

/// Codes of up to 8 planes; what the planes beyond hold is masked away.
HWY_INLINE void UnpackOneByte(const uint8_t* from, uint32_t mask_bits, Code* z) {
  const auto mask = hn::Set(Codes(), mask_bits);
  Code bytes[kGroups];
  LoadPlanes(from, bytes);
  TENSORPRESS_UNROLL
  for (size_t g = 0; g < kGroups; ++g) {
    z[g] = hn::And(bytes[g], mask);
    z[g + kGroups] = hn::And(hn::ShiftRight<8>(bytes[g]), mask);
    z[g + 2 * kGroups] = hn::And(hn::ShiftRight<16>(bytes[g]), mask);
    z[g + 3 * kGroups] = hn::And(hn::ShiftRight<24>(bytes[g]), mask);
  }
}

/// Codes of up to 16 planes.
HWY_INLINE void UnpackTwoBytes(const uint8_t* from, uint32_t mask_bits, Code* z) {
  const auto mask = hn::Set(Codes(), mask_bits);
  const auto even_bytes = hn::Set(Codes(), 0x00FF00FFu);
  Code low[kGroups], high[kGroups];
  LoadPlanes(from, low);
  LoadPlanes(from + 32, high);
  TENSORPRESS_UNROLL
  for (size_t g = 0; g < kGroups; ++g) {
    const auto even =
        hn::Or(hn::And(low[g], even_bytes), hn::ShiftLeft<8>(hn::And(high[g], even_bytes)));
    const auto odd =
        hn::Or(hn::And(hn::ShiftRight<8>(low[g]), even_bytes), hn::AndNot(even_bytes, high[g]));
    z[g] = hn::And(even, mask);
    z[g + 2 * kGroups] = hn::And(hn::ShiftRight<16>(even), mask);
    z[g + kGroups] = hn::And(odd, mask);
    z[g + 3 * kGroups] = hn::And(hn::ShiftRight<16>(odd), mask);
  }
}

/// Codes of 17 to 32 planes.
HWY_INLINE void UnpackFourBytes(const uint8_t* from, uint32_t mask_bits, Code* z) {
  Code high[kCodeVectors];
  UnpackTwoBytes(from, 0xFFFFu, z);
  UnpackTwoBytes(from + 64, mask_bits >> 16, high);
  TENSORPRESS_UNROLL
  for (size_t i = 0; i < kCodeVectors; ++i) z[i] = hn::Or(z[i], hn::ShiftLeft<16>(high[i]));
}

HWY_INLINE void Pack(const Code* z, unsigned width, uint8_t* to) {
  if (HWY_LIKELY(width <= 8)) {
    PackOneByte(z, to);
  } else if (HWY_LIKELY(width <= 16)) {
    PackTwoBytes(z, to);
  } else {
    PackFourBytes(z, to);
  }
}
HWY_INLINE void Unpack(const uint8_t* from, unsigned width, Code* z) {
  const auto mask = static_cast<uint32_t>((uint64_t{1} << width) - 1);
  if (HWY_LIKELY(width <= 8)) {
    UnpackOneByte(from, mask, z);
  } else if (HWY_LIKELY(width <= 16)) {
    UnpackTwoBytes(from, mask, z);
  } else {
    UnpackFourBytes(from, mask, z);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels::bitplane
HWY_AFTER_NAMESPACE();
#  endif
#endif
