// The coder for vectors of four or eight lanes, and the decoder also for sixteen. A group is 16/N
// vectors; all vectors of a stage are computed before the next stage, so that their latencies
// overlap.
#include <hwy/highway.h>

#include <array>
#include <bit>
#include <cstring>

#include "kernels/rans/rans_stages.h"

#if defined(TENSORPRESS_KERNELS_RANS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_KERNELS_RANS_INL_H_
#    undef TENSORPRESS_KERNELS_RANS_INL_H_
#  else
#    define TENSORPRESS_KERNELS_RANS_INL_H_
#  endif

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DU = hn::CappedTag<std::uint32_t, 8>;
using DI = hn::RebindToSigned<DU>;
using DF = hn::Rebind<float, DU>;
using DW = hn::Rebind<std::uint16_t, DU>;
using DB = hn::Rebind<std::uint8_t, DU>;
using DWordBytes = hn::Repartition<std::uint8_t, DW>;
using VU = hn::Vec<DU>;

inline constexpr std::size_t kLanes = hn::MaxLanes(DU());
inline constexpr std::size_t kGroupVectors = kRansGroup / kLanes;

// [mask]: which of the next words lane l takes, and its inverse: which lane the l-th of the last N
// words comes from.
struct Permutations {
  alignas(64) std::array<std::array<std::uint8_t, kLanes>, (std::size_t{1} << kLanes)> spread;
  alignas(64) std::array<std::array<std::uint8_t, kLanes>, (std::size_t{1} << kLanes)> gather;
};
constexpr Permutations MakePermutations() {
  Permutations permutations{};
  for (std::size_t mask = 0; mask < std::size_t{1} << kLanes; ++mask) {
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      permutations.spread[mask][lane] = static_cast<std::uint8_t>(count);
      count += mask >> lane & 1;
    }
    std::size_t at = kLanes - count;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) != 0)
        permutations.gather[mask][at++] = static_cast<std::uint8_t>(lane);
    }
    // A spread index may be N only where the lane takes nothing; keep it inside the vector.
    for (auto& index : permutations.spread[mask]) {
      if (index == kLanes) index = 0;
    }
  }
  return permutations;
}
inline constexpr Permutations kPermutations = MakePermutations();

template <class M>
HWY_INLINE std::size_t MaskBits(M mask) {
  std::uint8_t bits[8] = {0};
  hn::StoreMaskBits(DU(), mask, bits);
  return bits[0];
}

HWY_INLINE auto LoadPermutation(const std::array<std::uint8_t, kLanes>& indices) {
  return hn::IndicesFromVec(DU(), hn::PromoteTo(DU(), hn::LoadU(DB(), indices.data())));
}

HWY_INLINE VU Renormalize(VU x, const std::byte*& next) {
  const DU du;
  const auto low = hn::Eq(hn::ShiftRight<16>(x), hn::Zero(du));
  const std::size_t bits = MaskBits(low);
  const auto bytes = hn::LoadU(DWordBytes(), reinterpret_cast<const std::uint8_t*>(next));
  const VU words = hn::PromoteTo(du, hn::BitCast(DW(), bytes));
  const VU spread = hn::TableLookupLanes(words, LoadPermutation(kPermutations.spread[bits]));
  next += 2 * static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(bits)));
  return hn::IfThenElse(low, hn::Or(hn::ShiftLeft<16>(x), spread), x);
}

HWY_INLINE VU MakeRoom(VU x, VU most, std::byte*& next) {
  const auto emit = hn::Gt(x, most);
  const std::size_t bits = MaskBits(emit);
  const VU packed = hn::TableLookupLanes(x, LoadPermutation(kPermutations.gather[bits]));
  hn::StoreU(hn::BitCast(DWordBytes(), hn::TruncateTo(DW(), packed)), DWordBytes(),
             reinterpret_cast<std::uint8_t*>(next - 2 * kLanes));
  next -= 2 * static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(bits)));
  return hn::IfThenElse(emit, hn::ShiftRight<16>(x), x);
}

#    if HWY_TARGET <= HWY_AVX2
HWY_INLINE __m128i LookUpFour(const std::uint32_t* HWY_RESTRICT table, __m128i index) {
  const auto first = static_cast<std::uint64_t>(_mm_cvtsi128_si64(index));
  const auto second = static_cast<std::uint64_t>(_mm_extract_epi64(index, 1));
  const auto entry = [table](std::uint64_t i) { return static_cast<int>(table[i]); };
  __m128i entries = _mm_cvtsi32_si128(entry(first & 0xFFFFFFFF));
  entries = _mm_insert_epi32(entries, entry(first >> 32), 1);
  entries = _mm_insert_epi32(entries, entry(second & 0xFFFFFFFF), 2);
  return _mm_insert_epi32(entries, entry(second >> 32), 3);
}
HWY_INLINE __m256i LookUpEight(const std::uint32_t* HWY_RESTRICT table, __m256i index) {
  const auto low = LookUpFour(table, _mm256_castsi256_si128(index));
  const auto high = LookUpFour(table, _mm256_extracti128_si256(index, 1));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
#    endif

// table[index] in every lane. On Zen 3 a gather keeps the core busy for as long as decoding takes
// without it; eight loads cost half of that.
HWY_INLINE VU LookUp(const std::uint32_t* HWY_RESTRICT table, VU index) {
#    if HWY_TARGET <= HWY_AVX2
  return VU{LookUpEight(table, index.raw)};
#    else
  return hn::GatherIndex(DU(), table, hn::BitCast(DI(), index));
#    endif
}

HWY_INLINE VU LoadIds(const std::uint8_t* ids) {
  return hn::PromoteTo(DU(), hn::LoadU(DB(), ids));
}

HWY_INLINE bool AnyLowBits(const std::uint8_t* ids, std::uint32_t first) {
  const hn::FixedTag<std::uint8_t, 16> d;
  return !hn::AllTrue(
      d, hn::Eq(hn::Min(hn::LoadU(d, ids), hn::Set(d, static_cast<std::uint8_t>(first - 1))),
                hn::LoadU(d, ids)));
}

#    if HWY_TARGET <= HWY_AVX3
// Sixteen lanes in one vector: words are spread over it by one instruction.
using DU16 = hn::FixedTag<std::uint32_t, kRansGroup>;
using DI16 = hn::RebindToSigned<DU16>;

// As LookUp; on Zen 5 a group takes 6.1 ns this way and 6.9 with a gather.
HWY_INLINE hn::Vec<DU16> LookUpGroup(const std::uint32_t* HWY_RESTRICT table, hn::Vec<DU16> index) {
  const auto low = LookUpEight(table, _mm512_castsi512_si256(index.raw));
  const auto high = LookUpEight(table, _mm512_extracti64x4_epi64(index.raw, 1));
  return hn::Vec<DU16>{_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)};
}

HWY_INLINE hn::Vec<DU16> RenormalizeGroup(hn::Vec<DU16> x, const std::byte*& next) {
  const DU16 du;
  const auto low = hn::Lt(x, hn::Set(du, kRansLow));
  const hn::Rebind<std::uint16_t, DU16> dw;
  const hn::Repartition<std::uint8_t, decltype(dw)> bytes;
  const auto next_bytes = hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(next));
  const auto words = hn::PromoteTo(du, hn::BitCast(dw, next_bytes));
  const hn::Vec<DU16> spread{_mm512_maskz_expand_epi32(low.raw, words.raw)};
  next += 2 * hn::CountTrue(du, low);
  return hn::IfThenElse(low, hn::Or(hn::ShiftLeft<16>(x), spread), x);
}

// One group; kLowBits: some of its tables have raw low bits.
template <bool kPerValue, bool kLowBits>
HWY_INLINE void DecodeGroup(std::uint32_t* HWY_RESTRICT lanes, const std::byte*& next,
                            const RansTables& tables, const std::uint8_t* ids,
                            std::int32_t* values) {
  const DU16 du;
  const DI16 di;
  const auto one = hn::Set(du, 1u), byte = hn::Set(du, 0xFFu), twelve = hn::Set(du, 0xFFFu);
  auto x = hn::Load(du, lanes);
  hn::Vec<DU16> first, split, low;
  if constexpr (kPerValue) {
    const auto id = hn::PromoteTo(du, hn::LoadU(hn::Rebind<std::uint8_t, DU16>(), ids));
    first = hn::ShiftLeft<kRansBits>(id);
    if constexpr (kLowBits) {
      split = hn::GatherIndex(du, tables.low_bit_split(), hn::BitCast(di, id));
    }
  } else {
    first = hn::Set(du, tables.first_same()[ids[0]] << kRansBits);
    if constexpr (kLowBits) split = hn::Set(du, tables.low_bit_split()[ids[0]]);
  }
  const auto index = hn::Or(hn::And(x, hn::Set(du, rans::kSlotMask)), first);
  const auto entry = LookUpGroup(tables.decode_entries(), index);
  const auto quotient = hn::ShiftRight<kRansBits>(x);
  x = hn::Add(hn::Add(hn::Mul(quotient, hn::And(entry, twelve)), quotient),
              hn::And(hn::ShiftRight<12>(entry), twelve));
  auto symbols = hn::ShiftRight<24>(hn::BitCast(di, entry));
  if constexpr (kLowBits) {
    const auto merged = hn::And(split, byte);
    low = hn::And(x, hn::Sub(hn::Shl(one, merged), one));
    x = hn::Shr(x, merged);
  }
  x = RenormalizeGroup(x, next);
  const auto escaped = hn::Lt(symbols, hn::Set(di, kRansFirstSymbol + kRansEscapes));
  if (HWY_UNLIKELY(!hn::AllFalse(di, escaped))) {
    HWY_ALIGN std::uint32_t state[kRansGroup];
    HWY_ALIGN std::int32_t value[kRansGroup];
    hn::Store(x, du, state);
    hn::Store(symbols, di, value);
    rans::decode_escapes(state, value, escaped.raw, next);
    x = hn::Load(du, state);
    symbols = hn::Load(di, value);
  }
  if constexpr (kLowBits) {
    const auto rest = hn::ShiftRight<8>(split);
    auto value = hn::Or(hn::Shl(hn::BitCast(du, symbols), hn::And(split, byte)), low);
    if (!hn::AllTrue(du, hn::Eq(rest, hn::Zero(du)))) {
      value = hn::Or(hn::Shl(value, rest), hn::And(x, hn::Sub(hn::Shl(one, rest), one)));
      x = RenormalizeGroup(hn::Shr(x, rest), next);
    }
    symbols = hn::BitCast(di, value);
  }
  hn::Store(x, du, lanes);
  hn::StoreU(symbols, di, values);
}
#    else
// One group; kLowBits: some of its tables have raw low bits.
template <bool kPerValue, bool kLowBits>
HWY_INLINE void DecodeGroup(std::uint32_t* HWY_RESTRICT lanes, const std::byte*& next,
                            const RansTables& tables, const std::uint8_t* ids,
                            std::int32_t* values) {
  const DU du;
  const DI di;
  VU x[kGroupVectors], low[kGroupVectors], split[kGroupVectors];
  hn::Vec<DI> symbols[kGroupVectors];
  auto least = hn::Zero(di);
  const auto first_value = hn::Set(di, kRansFirstSymbol + kRansEscapes);
  const int group_split = kPerValue ? 0 : static_cast<int>(tables.low_bit_split()[ids[0]]);
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kGroupVectors; ++v) {
    x[v] = hn::Load(du, lanes + v * kLanes);
    VU index = hn::And(x[v], hn::Set(du, rans::kSlotMask));
    if constexpr (kPerValue) {
      const VU id = LoadIds(ids + v * kLanes);
      index = hn::Or(index, hn::ShiftLeft<kRansBits>(id));
      if constexpr (kLowBits) {
        split[v] = hn::GatherIndex(du, tables.low_bit_split(), hn::BitCast(di, id));
      }
    } else {
      index = hn::Or(index, hn::Set(du, tables.first_same()[ids[0]] << kRansBits));
    }
    const VU entry = LookUp(tables.decode_entries(), index);
    const VU quotient = hn::ShiftRight<kRansBits>(x[v]);
    const VU twelve = hn::Set(du, 0xFFFu);
    x[v] = hn::Add(hn::Add(hn::Mul(quotient, hn::And(entry, twelve)), quotient),
                   hn::And(hn::ShiftRight<12>(entry), twelve));
    const auto signed_entry = hn::BitCast(di, entry);
    symbols[v] = hn::ShiftRight<24>(signed_entry);
    least = hn::Min(least, symbols[v]);
    if constexpr (kLowBits) {
      const VU one = hn::Set(du, 1u);
      if constexpr (kPerValue) {
        const VU merged = hn::And(split[v], hn::Set(du, 0xFFu));
        low[v] = hn::And(x[v], hn::Sub(hn::Shl(one, merged), one));
        x[v] = hn::Shr(x[v], merged);
      } else {
        low[v] = hn::And(x[v], hn::Set(du, (1u << (group_split & 0xFF)) - 1));
        x[v] = hn::ShiftRightSame(x[v], group_split & 0xFF);
      }
    }
  }
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kGroupVectors; ++v) x[v] = Renormalize(x[v], next);
  if (HWY_UNLIKELY(!hn::AllFalse(di, hn::Lt(least, first_value)))) {
    HWY_ALIGN std::uint32_t state[kRansGroup];
    HWY_ALIGN std::int32_t value[kRansGroup];
    std::size_t escaped = 0;
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kGroupVectors; ++v) {
      hn::Store(x[v], du, state + v * kLanes);
      hn::Store(symbols[v], di, value + v * kLanes);
      escaped |= MaskBits(hn::RebindMask(du, hn::Lt(symbols[v], first_value))) << (v * kLanes);
    }
    rans::decode_escapes(state, value, static_cast<std::uint32_t>(escaped), next);
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kGroupVectors; ++v) {
      x[v] = hn::Load(du, state + v * kLanes);
      symbols[v] = hn::Load(di, value + v * kLanes);
    }
  }
  if constexpr (kLowBits) {
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kGroupVectors; ++v) {
      const VU high = hn::BitCast(du, symbols[v]);
      VU value, rest_mask, rest;
      if constexpr (kPerValue) {
        rest = hn::ShiftRight<8>(split[v]);
        value = hn::Or(hn::Shl(high, hn::And(split[v], hn::Set(du, 0xFFu))), low[v]);
        if (!hn::AllTrue(du, hn::Eq(rest, hn::Zero(du)))) {
          rest_mask = hn::Sub(hn::Shl(hn::Set(du, 1u), rest), hn::Set(du, 1u));
          value = hn::Or(hn::Shl(value, rest), hn::And(x[v], rest_mask));
          x[v] = Renormalize(hn::Shr(x[v], rest), next);
        }
      } else {
        value = hn::Or(hn::ShiftLeftSame(high, group_split & 0xFF), low[v]);
        const int bits = group_split >> 8;
        if (bits != 0) {
          value =
              hn::Or(hn::ShiftLeftSame(value, bits), hn::And(x[v], hn::Set(du, (1u << bits) - 1)));
          x[v] = Renormalize(hn::ShiftRightSame(x[v], bits), next);
        }
      }
      symbols[v] = hn::BitCast(di, value);
    }
  }
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kGroupVectors; ++v) {
    hn::Store(x[v], du, lanes + v * kLanes);
    hn::StoreU(symbols[v], di, values + v * kLanes);
  }
}
#    endif

template <bool kPerValue>
bool Decode(RansDecoder& decoder, const RansTables& tables, const std::uint8_t* ids,
            std::size_t groups, std::int32_t* values) {
  const std::byte* next = decoder.next;
  std::size_t turn = decoder.turn;
  const std::size_t last_turn = decoder.vectors - 1;
  for (std::size_t group = 0; group < groups; ++group, values += kRansGroup) {
    if (HWY_UNLIKELY(next > decoder.limit)) {
      decoder.next = next;
      if (!decoder.refill()) return false;
      next = decoder.next;
    }
    std::uint32_t* const lanes = decoder.lanes.data() + turn * kRansGroup;
    const std::uint8_t* id = kPerValue ? ids + group * kRansGroup : ids + group;
    if (kPerValue ? AnyLowBits(id, tables.first_with_low_bits())
                  : *id >= tables.first_with_low_bits()) {
      DecodeGroup<kPerValue, true>(lanes, next, tables, id, values);
    } else if (!kPerValue && *id == 0) {
      std::memset(values, 0, kRansGroup * sizeof(std::int32_t));
    } else {
      DecodeGroup<kPerValue, false>(lanes, next, tables, id, values);
    }
    turn = (turn + 1) & last_turn;
  }
  decoder.next = next;
  decoder.turn = turn;
  return true;
}

// floor(x / frequency) for 0 < x < frequency << 20. The float quotient is off by less than 1/8 and
// its distance from the next integer by another 1/32, so 3/4 below it rounds to the quotient or one
// less, which the remainder tells.
HWY_INLINE VU PutSymbol(VU x, VU frequency, VU start) {
  const DU du;
  const DF df;
  const DI di;
  // Correctly rounded: both halves are exact, the addition rounds.
  const auto upper = hn::BitCast(df, hn::Or(hn::ShiftRight<16>(x), hn::Set(du, 0x53000000u)));
  const auto lower =
      hn::BitCast(df, hn::Or(hn::And(x, hn::Set(du, 0xFFFFu)), hn::Set(du, 0x4B000000u)));
  const auto real = hn::Add(hn::Sub(upper, hn::Set(df, 0x1p39f + 0x1p23f)), lower);
  const auto ratio = hn::Div(real, hn::ConvertTo(df, hn::BitCast(di, frequency)));
  const auto shifted = hn::Add(hn::Sub(ratio, hn::Set(df, 0.75f)), hn::Set(df, 0x1.8p23f));
  const VU quotient = hn::Sub(hn::BitCast(du, shifted), hn::Set(du, 0x4B400000u));
  const VU remainder = hn::Sub(x, hn::Mul(quotient, frequency));
  const VU sum = hn::Add(hn::ShiftLeft<kRansBits>(quotient), hn::Add(remainder, start));
  // remainder < 2 frequency, far from the sign bit.
  const auto again = hn::BitCast(
      du, hn::VecFromMask(di, hn::Gt(hn::BitCast(di, frequency), hn::BitCast(di, remainder))));
  return hn::Add(sum, hn::AndNot(again, hn::Sub(hn::Set(du, kRansTotal), frequency)));
}

template <bool kPerValue, bool kLowBits>
HWY_INLINE void EncodeGroup(RansEncoder& encoder, const RansTables& tables, const std::uint8_t* ids,
                            const std::int32_t* values) {
  const DU du;
  const DI di;
  std::uint32_t* lanes = encoder.lanes.data() + encoder.turn * kRansGroup;
  std::byte* next = encoder.next;
  const int group_split = kPerValue ? 0 : static_cast<int>(tables.low_bit_split()[ids[0]]);
  const int group_merged = group_split & 0xFF;
  const int group_rest = group_split >> 8;
  VU x[kGroupVectors], entry[kGroupVectors], index[kGroupVectors], split[kGroupVectors];
  hn::Vec<DI> symbols[kGroupVectors];
  VU outside = hn::Zero(du);
  TENSORPRESS_UNROLL
  for (std::size_t reverse = 0; reverse < kGroupVectors; ++reverse) {
    const std::size_t v = kGroupVectors - 1 - reverse;
    x[v] = hn::Load(du, lanes + v * kLanes);
    const auto value = hn::LoadU(di, values + v * kLanes);
    symbols[v] = value;
    VU base;
    if constexpr (kPerValue) {
      const VU id = LoadIds(ids + v * kLanes);
      base = hn::ShiftLeft<8>(id);
      if constexpr (kLowBits) {
        split[v] = hn::GatherIndex(du, tables.low_bit_split(), hn::BitCast(di, id));
        const VU rest = hn::ShiftRight<8>(split[v]);
        const VU merged = hn::And(split[v], hn::Set(du, 0xFFu));
        if (!hn::AllTrue(du, hn::Eq(rest, hn::Zero(du)))) {
          const VU mask = hn::Sub(hn::Shl(hn::Set(du, 1u), rest), hn::Set(du, 1u));
          x[v] = MakeRoom(x[v], hn::Shr(hn::Set(du, 0xFFFFFFFFu), rest), next);
          x[v] = hn::Or(hn::Shl(x[v], rest), hn::And(hn::BitCast(du, value), mask));
        }
        symbols[v] = hn::Shr(value, hn::BitCast(di, hn::Add(rest, merged)));
      }
    } else {
      base = hn::Set(du, tables.first_same()[ids[0]] << 8);
      if constexpr (kLowBits) {
        if (group_rest != 0) {
          x[v] = MakeRoom(x[v], hn::Set(du, 0xFFFFFFFFu >> group_rest), next);
          x[v] = hn::Or(hn::ShiftLeftSame(x[v], group_rest),
                        hn::And(hn::BitCast(du, value), hn::Set(du, (1u << group_rest) - 1)));
        }
        symbols[v] = hn::ShiftRightSame(value, group_rest + group_merged);
      }
    }
    const VU symbol = hn::Sub(hn::BitCast(du, symbols[v]), hn::Set(du, 0u - 128u));
    const VU above = hn::Sub(symbol, hn::Set(du, std::uint32_t{kRansEscapes}));
    outside = hn::Or(outside, hn::Or(symbol, above));
    index[v] = hn::Or(hn::And(symbol, hn::Set(du, 0xFFu)), base);
  }
  if (HWY_UNLIKELY(!hn::AllTrue(du, hn::Eq(hn::ShiftRight<8>(outside), hn::Zero(du))))) {
    HWY_ALIGN std::int32_t symbol[kRansGroup];
    HWY_ALIGN std::uint32_t place[kRansGroup];
    std::size_t lanes_outside = 0;
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kGroupVectors; ++v) {
      hn::Store(symbols[v], di, symbol + v * kLanes);
      hn::Store(index[v], du, place + v * kLanes);
      const auto inside = hn::And(hn::Gt(symbols[v], hn::Set(di, kRansFirstSymbol + 3)),
                                  hn::Lt(symbols[v], hn::Set(di, 128)));
      lanes_outside |= (MaskBits(hn::RebindMask(du, inside)) ^ ((1u << kLanes) - 1))
                       << (v * kLanes);
    }
    for (; lanes_outside != 0; lanes_outside &= lanes_outside - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(lanes_outside));
      const std::size_t id = ids[kPerValue ? lane : 0];
      place[lane] =
          static_cast<std::uint32_t>(id << 8) + rans::encode_index(tables, id, symbol[lane]);
    }
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kGroupVectors; ++v) index[v] = hn::Load(du, place + v * kLanes);
  }
  VU flags = hn::Zero(du);
  TENSORPRESS_UNROLL
  for (std::size_t v = 0; v < kGroupVectors; ++v) {
    entry[v] = LookUp(tables.encode_packed(), index[v]);
    flags = hn::Or(flags, entry[v]);
  }
  if (HWY_UNLIKELY(!hn::AllFalse(di, hn::Lt(hn::BitCast(di, flags), hn::Zero(di))))) {
    HWY_ALIGN std::uint32_t state[kRansGroup];
    HWY_ALIGN std::int32_t symbol[kRansGroup];
    std::size_t escaped = 0;
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kGroupVectors; ++v) {
      hn::Store(x[v], du, state + v * kLanes);
      hn::Store(symbols[v], di, symbol + v * kLanes);
      const auto escape = hn::Lt(hn::BitCast(di, entry[v]), hn::Zero(di));
      escaped |= MaskBits(hn::RebindMask(du, escape)) << (v * kLanes);
    }
    const auto table_of = [&](std::size_t lane) -> std::size_t {
      return ids[kPerValue ? lane : 0];
    };
    rans::encode_escapes(state, symbol, static_cast<std::uint32_t>(escaped), tables, table_of,
                         next);
    TENSORPRESS_UNROLL
    for (std::size_t v = 0; v < kGroupVectors; ++v) x[v] = hn::Load(du, state + v * kLanes);
  }
  TENSORPRESS_UNROLL
  for (std::size_t reverse = 0; reverse < kGroupVectors; ++reverse) {
    const std::size_t v = kGroupVectors - 1 - reverse;
    const VU one = hn::Set(du, 1u);
    const VU frequency = hn::Add(hn::And(entry[v], hn::Set(du, 0xFFFu)), one);
    const VU start = hn::And(hn::ShiftRight<12>(entry[v]), hn::Set(du, 0xFFFu));
    const VU room = hn::ShiftLeft<32 - kRansBits>(frequency);
    if constexpr (!kLowBits) {
      x[v] = MakeRoom(x[v], hn::Sub(room, one), next);
    } else if constexpr (kPerValue) {
      const VU merged = hn::And(split[v], hn::Set(du, 0xFFu));
      const auto value = hn::LoadU(di, values + v * kLanes);
      const VU low = hn::Shr(hn::BitCast(du, value), hn::ShiftRight<8>(split[v]));
      // The null table's room is 2^32; it has no low bits, so the wrapped 0 minus 1 is right.
      x[v] = MakeRoom(x[v], hn::Shr(hn::Sub(room, one), merged), next);
      x[v] = hn::Or(hn::Shl(x[v], merged), hn::And(low, hn::Sub(hn::Shl(one, merged), one)));
    } else {
      const auto value = hn::LoadU(di, values + v * kLanes);
      const VU low = hn::ShiftRightSame(hn::BitCast(du, value), group_rest);
      x[v] = MakeRoom(x[v], hn::ShiftRightSame(hn::Sub(room, one), group_merged), next);
      x[v] = hn::Or(hn::ShiftLeftSame(x[v], group_merged),
                    hn::And(low, hn::Set(du, (1u << group_merged) - 1)));
    }
    x[v] = PutSymbol(x[v], frequency, start);
    hn::Store(x[v], du, lanes + v * kLanes);
  }
  encoder.next = next;
}

template <bool kPerValue>
void Encode(RansEncoder& encoder, const RansTables& tables, const std::uint8_t* ids,
            std::size_t groups, const std::int32_t* values) {
  for (std::size_t group = groups; group-- > 0;) {
    if (encoder.next - encoder.begin < RansEncoder::kSlackBytes) encoder.full = true;
    if (encoder.full) return;
    encoder.turn = (encoder.turn - 1) & (encoder.vectors - 1);
    const std::uint8_t* id = kPerValue ? ids + group * kRansGroup : ids + group;
    const std::int32_t* from = values + group * kRansGroup;
    if (kPerValue ? AnyLowBits(id, tables.first_with_low_bits())
                  : *id >= tables.first_with_low_bits()) {
      EncodeGroup<kPerValue, true>(encoder, tables, id, from);
    } else if (kPerValue || *id != 0) {
      EncodeGroup<kPerValue, false>(encoder, tables, id, from);
    }
  }
}

RansKernels GetRansKernels() {
  return {Decode<false>, Encode<false>, Decode<true>, Encode<true>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
