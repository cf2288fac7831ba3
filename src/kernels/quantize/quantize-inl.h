// The kernels of quantize.h for vectors of four or eight lanes.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <array>
#include <type_traits>

#include "kernels/quantize/quantize_ref.h"
#include "kernels/quantize/row-inl.h"

#if defined(TENSORPRESS_KERNELS_QUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_KERNELS_QUANTIZE_INL_H_
#    undef TENSORPRESS_KERNELS_QUANTIZE_INL_H_
#  else
#    define TENSORPRESS_KERNELS_QUANTIZE_INL_H_
#  endif

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace quantize_inl {
namespace hn = hwy::HWY_NAMESPACE;
using namespace rows;
using namespace quantize_detail;

inline constexpr std::size_t kParts = 8 / kLanes;
// How far ahead of the first read memory is asked for: about what it delivers in its latency.
inline constexpr std::size_t kAheadBytes = 4096;

HWY_INLINE void PrefetchLines(const void* at, std::size_t bytes) {
  const char* const ahead = static_cast<const char*>(at) + kAheadBytes;
  for (std::size_t line = 0; line < bytes; line += 64) __builtin_prefetch(ahead + line, 0, 3);
}

template <class T>
HWY_INLINE Extremes FindExtremes(const T* values, std::size_t count) {
  const DF d;
  const DI di;
  constexpr std::size_t kStep = 4 * kLanes;
  if (count < kStep) return extremes_reference(values, count);
  const auto mask = hn::Set(di, 0x7FFFFFFF);
  auto least0 = LoadValues(values), least1 = LoadValues(values + kLanes);
  auto most0 = least0, most1 = least1;
  auto size0 = hn::Zero(di), size1 = size0;
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    PrefetchLines(values + i, kStep * sizeof(T));
    const auto a = LoadValues(values + i), b = LoadValues(values + i + kLanes);
    const auto c = LoadValues(values + i + 2 * kLanes), e = LoadValues(values + i + 3 * kLanes);
    least0 = hn::Min(least0, hn::Min(a, c));
    most0 = hn::Max(most0, hn::Max(a, c));
    least1 = hn::Min(least1, hn::Min(b, e));
    most1 = hn::Max(most1, hn::Max(b, e));
    size0 = hn::Max(size0,
                    hn::Max(hn::And(hn::BitCast(di, a), mask), hn::And(hn::BitCast(di, c), mask)));
    size1 = hn::Max(size1,
                    hn::Max(hn::And(hn::BitCast(di, b), mask), hn::And(hn::BitCast(di, e), mask)));
  }
  Extremes found{hn::GetLane(hn::MinOfLanes(d, hn::Min(least0, least1))),
                 hn::GetLane(hn::MaxOfLanes(d, hn::Max(most0, most1))),
                 hn::GetLane(hn::MaxOfLanes(di, hn::Max(size0, size1))) < 0x7F800000};
  if (i < count) {
    const Extremes rest = extremes_reference(values + i, count - i);
    found.least = rest.least < found.least ? rest.least : found.least;
    found.most = rest.most > found.most ? rest.most : found.most;
    found.finite = found.finite && rest.finite;
  }
  return found;
}

HWY_INLINE VU RandomBits(VU pair, VU first, VU second) {
  const DU du;
  auto x = hn::Xor(pair, first);
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(du, RoundingKey::kMultiplier1));
  x = hn::Mul(hn::Add(hn::Xor(x, hn::ShiftRight<15>(x)), second),
              hn::Set(du, RoundingKey::kMultiplier2));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

struct Grid {
  VF minimum, factor;  // factor: steps, or fractions of steps, per unit
  VU key_first, key_second;
};

/// Moves a field whose lowest bit is kFrom so that it is kTo, which may be below zero.
template <int kFrom, int kTo>
HWY_INLINE VU MoveField(VU bits) {
  if constexpr (kTo >= kFrom) {
    return hn::ShiftLeft<kTo - kFrom>(bits);
  } else {
    return hn::ShiftRight<kFrom - kTo>(bits);
  }
}

template <int kBits>
inline constexpr int kRows = static_cast<int>(quantized_block_values(kBits) / 8);
template <int kBits>
inline constexpr int kWords = static_cast<int>(quantized_block_words(kBits));

// Where the field of a row begins, and whether it ends in the next word.
template <int kBits, int kRow>
inline constexpr int kWord = kBits * kRow / 32;
template <int kBits, int kRow>
inline constexpr int kBit = kBits * kRow % 32;
template <int kBits, int kRow>
inline constexpr bool kAcross = kBit<kBits, kRow> + kBits > 32;

// Row kRow of a block and all after it. `pair` is the number of the first pair of these two rows.
template <int kBits, bool kStochastic, int kRow>
HWY_INLINE void PackRows(const float* values, const Grid& grid, VU pair, VU random, VU* words) {
  if constexpr (kRow < kRows<kBits>) {
    constexpr int kTo = kBit<kBits, kRow>;
    VU* const word = words + kWord<kBits, kRow>;
    const DF d;
    const DU du;
    constexpr std::uint32_t kLevels = (1u << kBits) - 1;
    const auto rounder = hn::Set(d, kRounder);
    auto steps = hn::Mul(hn::Sub(LoadValues(values + 8 * kRow), grid.minimum), grid.factor);
    if constexpr (kStochastic) {
      if constexpr (kRow % 2 == 0) {
        random = RandomBits(pair, grid.key_first, grid.key_second);
        pair = hn::Add(pair, hn::Set(du, 8u));
      }
      const auto fraction =
          kRow % 2 == 0 ? hn::And(random, hn::Set(du, 0x3FFFu)) : hn::ShiftRight<18>(random);
      steps = hn::Min(steps, hn::Set(d, static_cast<float>(kLevels) * kFractions));
      const auto sum = hn::Add(hn::BitCast(du, hn::Add(steps, rounder)), fraction);
      const auto code = hn::And(sum, hn::Set(du, kLevels << kFractionBits));
      word[0] = hn::Or(word[0], MoveField<kFractionBits, kTo>(code));
      if constexpr (kAcross<kBits, kRow>) {
        word[1] = hn::Or(word[1], MoveField<kFractionBits, kTo - 32>(code));
      }
    } else {
      // The rounder's own bits add up to a constant, which goes in the end.
      const auto sum = hn::BitCast(du, hn::Add(steps, rounder));
      word[0] = hn::Add(word[0], hn::ShiftLeft<kTo>(sum));
      if constexpr (kAcross<kBits, kRow>) {
        word[1] = hn::Add(word[1], hn::ShiftRight<32 - kTo>(sum));
      }
    }
    PackRows<kBits, kStochastic, kRow + 1>(values, grid, pair, random, words);
  }
}

template <int kBits, bool kStochastic>
HWY_INLINE void PackBlock(const float* values, const Grid& grid, std::uint32_t pair,
                          std::byte* block) {
  const DU du;
  constexpr std::array<std::uint32_t, kWords<kBits>> kRounders = [] {
    std::array<std::uint32_t, kWords<kBits>> sums{};
    for (std::size_t row = 0; row < kRows<kBits>; ++row) {
      const std::size_t word = kBits * row / 32, bit = kBits * row % 32;
      sums[word] += kRounderBits << bit;
      if (bit + kBits > 32) sums[word + 1] += kRounderBits >> (32 - bit);
    }
    return sums;
  }();
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::size_t w = part * kLanes;
    VU words[kWords<kBits>];
    for (std::size_t i = 0; i < kWords<kBits>; ++i) {
      words[i] = kStochastic ? hn::Zero(du) : hn::Set(du, 0u - kRounders[i]);
    }
    // Not Iota(pair): it would be made in memory, lane by lane.
    const auto pairs = hn::Add(hn::Iota(du, 0u), hn::Set(du, pair + static_cast<std::uint32_t>(w)));
    PackRows<kBits, kStochastic, 0>(values + w, grid, pairs, hn::Zero(du), words);
    for (std::size_t i = 0; i < kWords<kBits>; ++i) {
      hn::StoreU(words[i], du, reinterpret_cast<std::uint32_t*>(block) + 8 * i + w);
    }
  }
}

/// Whole blocks. Compiled for f32 alone: narrower types are widened a slab at a time.
template <int kBits, bool kStochastic>
HWY_NOINLINE void PackBlocks(const float* values, std::size_t count, const Grid& grid,
                             std::uint32_t pair, std::byte* block) {
  constexpr std::size_t kBlock = quantized_block_values(kBits);
  const Grid kept = grid;
  for (std::size_t i = 0; i < count; i += kBlock, block += kWords<kBits> * kQuantizedWordsBytes) {
    PackBlock<kBits, kStochastic>(values + i, kept, pair + static_cast<std::uint32_t>(i / 2),
                                  block);
  }
}

// Values of f16 or bf16 that stay in the first cache as floats; blocks of every width fit into it
// evenly.
inline constexpr std::size_t kSlab = 1024;

template <int kBits, bool kStochastic, class T>
HWY_INLINE bool PackGrid(const T* values, std::size_t count, const RoundingKey& key,
                         std::uint64_t first_element, std::byte* packed) {
  constexpr std::size_t kBlock = quantized_block_values(kBits);
  constexpr std::size_t kBlockBytes = kWords<kBits> * kQuantizedWordsBytes;
  static_assert(kSlab % kBlock == 0);
  const DF d;
  const DU du;
  const Extremes found = FindExtremes(values, count);
  if (!found.finite) return false;
  const auto group = scale_of_range(found.least, found.most, static_cast<float>((1u << kBits) - 1));
  if (!group) return false;
  store_le(packed, group->header());
  const Grid grid{hn::Set(d, group->minimum),
                  hn::Set(d, kStochastic ? group->inverse * kFractions : group->inverse),
                  hn::Set(du, key.first), hn::Set(du, key.second)};
  std::byte* const blocks = packed + kQuantizedHeaderBytes;
  const std::size_t blocked = count / kBlock * kBlock;
  const auto block_of = [&](std::size_t value) { return blocks + value / kBlock * kBlockBytes; };
  const auto pair_of = [&](std::size_t value) {
    return static_cast<std::uint32_t>((first_element + value) / 2);
  };
  if constexpr (std::is_same_v<T, float>) {
    PackBlocks<kBits, kStochastic>(values, blocked, grid, pair_of(0), blocks);
  } else {
    HWY_ALIGN float slab[kSlab];
    for (std::size_t i = 0; i < blocked; i += kSlab) {
      const std::size_t here = std::min(kSlab, blocked - i);
      WidenRows(values + i, here, slab);
      PackBlocks<kBits, kStochastic>(slab, here, grid, pair_of(i), block_of(i));
    }
  }
  if (blocked < count) {
    pack_block_reference<kBits, kStochastic>(values + blocked, count - blocked, *group, key,
                                             first_element + blocked, block_of(blocked));
  }
  return true;
}

// One row of a block of 1-bit codes, and what its values add to the sums.
template <int kRow, class T>
HWY_INLINE void SplitRows(const T* values, VF threshold, VF* below, VF* above, VU& words) {
  if constexpr (kRow < 32) {
    const DF d;
    const DU du;
    const auto distance = hn::Sub(threshold, LoadValues(values + 8 * kRow));
    below[kRow % 2] = hn::Add(below[kRow % 2], hn::Max(distance, hn::Zero(d)));
    above[kRow % 2] = hn::Add(above[kRow % 2], hn::Min(distance, hn::Zero(d)));
    const auto sign = hn::ShiftRight<31 - kRow>(hn::BitCast(du, distance));
    words = hn::Or(words, hn::And(sign, hn::Set(du, 1u << kRow)));
    SplitRows<kRow + 1>(values, threshold, below, above, words);
  }
}

template <class T>
HWY_INLINE bool PackMeans(const T* values, std::size_t count, std::byte* packed) {
  const DF d;
  const DU du;
  const DI di;
  HWY_ALIGN float lanes[kSumLanes] = {};
  const auto mask = hn::Set(di, 0x7FFFFFFF);
  const std::size_t whole = count / kSumLanes * kSumLanes;
  auto size = hn::Zero(di);
  for (std::size_t w = 0; w < 8; w += kLanes) {
    auto even = hn::Zero(d), odd = hn::Zero(d);
    for (std::size_t i = w; i < whole; i += kSumLanes) {
      if (w == 0) PrefetchLines(values + i, kSumLanes * sizeof(T));
      const auto a = LoadValues(values + i), b = LoadValues(values + i + 8);
      even = hn::Add(even, a);
      odd = hn::Add(odd, b);
      size = hn::Max(size,
                     hn::Max(hn::And(hn::BitCast(di, a), mask), hn::And(hn::BitCast(di, b), mask)));
    }
    hn::Store(even, d, lanes + w);
    hn::Store(odd, d, lanes + w + 8);
  }
  const bool finite = add_to_lanes_reference(values, whole, count, lanes);
  if (!finite || hn::GetLane(hn::MaxOfLanes(di, size)) >= 0x7F800000) return false;
  const float threshold = sum_of_lanes(lanes) / static_cast<float>(count) + 0.0f;
  if (!is_finite(threshold)) return false;

  Sides sides;
  std::byte* const blocks = packed + kQuantizedHeaderBytes;
  const std::size_t blocked = count / 256 * 256;
  for (std::size_t w = 0; w < 8; w += kLanes) {
    VF below[2] = {hn::Zero(d), hn::Zero(d)}, above[2] = {hn::Zero(d), hn::Zero(d)};
    for (std::size_t i = 0; i < blocked; i += 256) {
      auto words = hn::Zero(du);
      SplitRows<0>(values + i + w, hn::Set(d, threshold), below, above, words);
      auto* const to = reinterpret_cast<std::uint32_t*>(blocks + i / 8) + w;
      hn::StoreU(words, du, to);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      hn::StoreU(below[half], d, sides.below.data() + w + 8 * half);
      hn::StoreU(above[half], d, sides.above.data() + w + 8 * half);
    }
  }
  for (std::size_t i = 0; i < blocked / 8; i += 8) {
    sides.count_above +=
        static_cast<std::size_t>(std::popcount(load_le<std::uint64_t>(blocks + i)));
  }
  if (blocked < count) {
    split_block_reference(values, blocked, count, threshold, sides, blocks + blocked / 8);
  }
  const auto group = scale_of_sides(sides, count, threshold);
  if (!group) return false;
  store_le(packed, group->header());
  return true;
}

template <int kBits, bool kStochastic, class T>
bool PackAll(const std::byte* bytes, std::size_t count, std::size_t group_size, std::uint64_t seed,
             std::uint64_t first_element, std::byte* packed) {
  const auto* const values = reinterpret_cast<const T*>(bytes);
  for (std::size_t i = 0; i < count; i += group_size) {
    const std::size_t size = std::min(group_size, count - i);
    if constexpr (kBits == 1 && !kStochastic) {
      if (!PackMeans(values + i, size, packed)) return false;
    } else {
      const RoundingKey key =
          kStochastic ? RoundingKey::of(seed, first_element + i) : RoundingKey();
      if (!PackGrid<kBits, kStochastic>(values + i, size, key, first_element + i, packed)) {
        return false;
      }
    }
    packed += quantized_group_bytes(size, kBits);
  }
  return true;
}

template <int kBits, int kRow, bool kStream>
HWY_INLINE void UnpackRows(const VU (*words)[kParts], VF minimum, VF scale, float* values) {
  if constexpr (kRow < kRows<kBits>) {
    constexpr int kFrom = kBit<kBits, kRow>;
    const auto* const word = words + kWord<kBits, kRow>;
    const DF d;
    const DU du;
    const DI di;
    for (std::size_t part = 0; part < kParts; ++part) {
      auto field = hn::ShiftRight<kFrom>(word[0][part]);
      if constexpr (kAcross<kBits, kRow>) {
        field = hn::Or(field, hn::ShiftLeft<32 - kFrom>(word[1][part]));
      }
      const auto code = hn::And(field, hn::Set(du, (1u << kBits) - 1));
      const auto steps = hn::ConvertTo(d, hn::BitCast(di, code));
      StoreValues<kStream>(hn::Add(hn::Mul(steps, scale), minimum),
                           values + 8 * kRow + part * kLanes);
    }
    UnpackRows<kBits, kRow + 1, kStream>(words, minimum, scale, values);
  }
}

/// Whole blocks, as PackBlocks.
template <int kBits, bool kStream>
HWY_NOINLINE void UnpackBlocks(const std::byte* block, std::size_t count, const GroupScale& group,
                               float* values) {
  const DF d;
  const DU du;
  const auto minimum = hn::Set(d, group.minimum), scale = hn::Set(d, group.scale);
  for (std::size_t i = 0; i < count; i += quantized_block_values(kBits)) {
    __builtin_prefetch(block + 1024, 0, 3);
    VU words[kWords<kBits>][kParts];
    for (std::size_t w = 0; w < kWords<kBits>; ++w) {
      const auto* const from = reinterpret_cast<const std::uint32_t*>(block) + 8 * w;
      for (std::size_t part = 0; part < kParts; ++part) {
        words[w][part] = hn::LoadU(du, from + part * kLanes);
      }
    }
    UnpackRows<kBits, 0, kStream>(words, minimum, scale, values + i);
    block += kWords<kBits> * kQuantizedWordsBytes;
  }
}

template <int kBits, bool kStream, class T>
void UnpackGroups(const std::byte* packed, std::size_t count, std::size_t group_size, T* values) {
  constexpr std::size_t kBlock = quantized_block_values(kBits);
  constexpr std::size_t kBlockBytes = kWords<kBits> * kQuantizedWordsBytes;
  for (std::size_t i = 0; i < count; i += group_size) {
    const std::size_t size = std::min(group_size, count - i);
    const std::size_t blocked = size / kBlock * kBlock;
    const GroupScale group = GroupScale::of_header(load_le<std::uint32_t>(packed));
    const std::byte* const blocks = packed + kQuantizedHeaderBytes;
    if constexpr (std::is_same_v<T, float>) {
      UnpackBlocks<kBits, kStream>(blocks, blocked, group, values + i);
    } else {
      HWY_ALIGN float slab[kSlab];
      for (std::size_t at = 0; at < blocked; at += kSlab) {
        const std::size_t here = std::min(kSlab, blocked - at);
        UnpackBlocks<kBits, false>(blocks + at / kBlock * kBlockBytes, here, group, slab);
        NarrowRows<kStream>(slab, here, values + i + at);
      }
    }
    if (blocked < size) {
      unpack_block_reference<kBits>(blocks + blocked / kBlock * kBlockBytes, size - blocked, group,
                                    values + i + blocked);
    }
    packed += quantized_group_bytes(size, kBits);
  }
  if constexpr (kStream) hwy::FlushStream();
}

template <int kBits, class T>
void UnpackAll(const std::byte* packed, std::size_t count, std::size_t group_size, std::byte* bytes,
               bool past_cache) {
  auto* const values = reinterpret_cast<T*>(bytes);
  constexpr std::size_t kRowBytes = 8 * sizeof(T);
  if (past_cache && reinterpret_cast<std::uintptr_t>(bytes) % kRowBytes == 0) {
    UnpackGroups<kBits, true>(packed, count, group_size, values);
  } else {
    UnpackGroups<kBits, false>(packed, count, group_size, values);
  }
}

template <int kBits, class T>
GroupQuantizer OfType(bool stochastic) {
  return {stochastic ? PackAll<kBits, true, T> : PackAll<kBits, false, T>, UnpackAll<kBits, T>};
}

template <int kBits>
GroupQuantizer OfBits(DType dtype, bool stochastic) {
  switch (dtype) {
    case DType::f32:
      return OfType<kBits, float>(stochastic);
    case DType::f16:
      return OfType<kBits, F16Bits>(stochastic);
    case DType::bf16:
      return OfType<kBits, Bf16Bits>(stochastic);
    default:
      return {nullptr, nullptr};
  }
}

}  // namespace quantize_inl

GroupQuantizer GetGroupQuantizer(DType dtype, int bits, bool stochastic) {
  switch (bits) {
    case 1:
      return quantize_inl::OfBits<1>(dtype, stochastic);
    case 2:
      return quantize_inl::OfBits<2>(dtype, stochastic);
    case 3:
      return quantize_inl::OfBits<3>(dtype, stochastic);
    case 4:
      return quantize_inl::OfBits<4>(dtype, stochastic);
    case 5:
      return quantize_inl::OfBits<5>(dtype, stochastic);
    case 6:
      return quantize_inl::OfBits<6>(dtype, stochastic);
    default:
      return quantize_inl::OfBits<8>(dtype, stochastic);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif
#endif
