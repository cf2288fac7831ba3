#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/huffman/huffman.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "kernels/bitplane/prequantize-inl.h"
#include "kernels/huffman/huffman.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels::huffman {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace bp = bitplane::HWY_NAMESPACE;

template <class T>
void Predict(const T* values, size_t blocks, const Quantizer<T>& from, Word<T>* differences,
             uint32_t position, std::vector<uint32_t>& outliers) {
  const bp::WordTag<T> w;
  const bp::VectorQuantizer<T> quantizer(from);
  for (size_t block = 0; block < blocks; ++block) {
    const size_t at = block * kBlockValues;
    hn::Vec<bp::WordTag<T>> d[bp::kVectors<T>];
    if (HWY_UNLIKELY(!bp::PredictBlock(values + at, quantizer, d))) {
      reference_coding<T>().predict(values + at, 1, from, differences + at,
                                    position + static_cast<uint32_t>(at), outliers);
      continue;
    }
    TENSORPRESS_UNROLL
    for (size_t i = 0; i < bp::kVectors<T>; ++i) {
      hn::StoreU(d[i], w, differences + at + i * bp::kLanes<T>);
    }
  }
}

HWY_INLINE uint64_t Load64(const uint8_t* from) {
  uint64_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

/// Bits wait in a register until whole bytes can leave; at most 56 may be put between two flushes.
struct BitBuffer {
  uint8_t* to;
  uint64_t bits = 0;
  unsigned used = 0;

  HWY_INLINE void Put(uint64_t more, unsigned count) {
    bits |= more << used;
    used += count;
  }
  HWY_INLINE void Flush() {
    std::memcpy(to, &bits, sizeof bits);
    to += used >> 3;
    bits >>= used & ~7U;
    used &= 7;
  }
};

template <class T>
HWY_INLINE void PutOne(Word<T> difference, const PackTable& table,
                       [[maybe_unused]] unsigned escape_bits, BitBuffer& buffer) {
  const Word<T> symbol = difference + table.first;
  if (symbol < table.symbols) {
    const uint32_t entry = table.entries[symbol];
    buffer.Put(entry & ((1U << 26) - 1), entry >> 26);
  } else if constexpr (sizeof(T) == 4) {
    buffer.Put(uint64_t{difference} << 1, 33);
  } else {
    const uint64_t escaped = difference & (~uint64_t{0} >> (64 - escape_bits));
    if (HWY_LIKELY(escape_bits < 56)) {
      buffer.Put(escaped << 1, 1 + escape_bits);
    } else {
      buffer.Put((escaped & 0xFFFFFFFF) << 1, 33);
      buffer.Flush();
      buffer.Put(escaped >> 32, escape_bits - 32);
    }
  }
  buffer.Flush();
}

template <class T>
void Pack(const Word<T>* HWY_RESTRICT differences, size_t blocks, const PackTable& table,
          unsigned escape_bits, std::byte* HWY_RESTRICT packed, uint32_t* HWY_RESTRICT words) {
  const bp::WordTag<T> w;
  const uint32_t* HWY_RESTRICT const entries = table.entries;
  const Word<T> symbols = table.symbols;
  const Word<T> first = table.first;
  for (size_t block = 0; block < blocks; ++block) {
    const Word<T>* const d = differences + block * kBlockValues;
    auto* const start = reinterpret_cast<uint8_t*>(packed + block * kPackedRoom<T>);
    auto all = hn::LoadU(w, d);
    TENSORPRESS_UNROLL
    for (size_t i = 1; i < bp::kVectors<T>; ++i) {
      all = hn::Or(all, hn::LoadU(w, d + i * bp::kLanes<T>));
    }
    if (bp::OrOfLanes(w, all) == 0) {
      std::memset(start, 0, 4);
      words[block] = 1;
      continue;
    }
    BitBuffer buffer{start + 4};
    for (size_t i = 0; i < kBlockValues; i += 2) {
      const Word<T> a = d[i] + first;
      const Word<T> b = d[i + 1] + first;
      if (HWY_LIKELY(a < symbols && b < symbols)) {
        const uint32_t entry_a = entries[a];
        const uint32_t entry_b = entries[b];
        const unsigned bits_a = entry_a >> 26;
        const uint64_t both = (entry_a & ((1U << 26) - 1)) | uint64_t{entry_b & ((1U << 26) - 1)}
                                                                 << bits_a;
        buffer.Put(both, bits_a + (entry_b >> 26));
        buffer.Flush();
      } else {
        PutOne<T>(d[i], table, escape_bits, buffer);
        PutOne<T>(d[i + 1], table, escape_bits, buffer);
      }
    }
    std::memcpy(buffer.to, &buffer.bits, sizeof buffer.bits);
    const auto bits = static_cast<uint32_t>(8 * (buffer.to - start - 4)) + buffer.used;
    std::memcpy(start, &bits, sizeof bits);
    words[block] = 1 + (bits + 31) / 32;
  }
}

/// A value that the table does not decode.
template <class T>
struct Rare {
  Word<T> difference;
  uint32_t bits;
};

template <class T>
HWY_NOINLINE Rare<T> TakeRare(const uint8_t* base, uint64_t position, const UnpackTable& table,
                              [[maybe_unused]] unsigned escape_bits) {
  const uint64_t start = position + 1;
  uint64_t after_flag = Load64(base + (start >> 3)) >> (start & 7);
  if ((base[position >> 3] >> (position & 7) & 1) != 0) {
    const FoundSymbol found = find_symbol(after_flag, table);
    return {Word<T>{found.symbol} - table.first, 1 + found.length};
  }
  if constexpr (sizeof(T) == 4) {
    return {static_cast<Word<T>>(after_flag), 1 + kMaxEscapeBits<T>};
  } else {
    if ((start & 7) != 0) after_flag |= Load64(base + (start >> 3) + 8) << (64 - (start & 7));
    return {sign_extended(after_flag, escape_bits), 1 + escape_bits};
  }
}

/// Where a block's bits are read; the table and where they all come from do not change meanwhile.
template <class T>
struct Unpacker {
  const uint8_t* base;
  const uint32_t* entries;
  uint64_t mask;
  const UnpackTable& table;
  unsigned escape_bits;

  /// Two values: at most 50 of the window's 57 bits when neither is rare.
  HWY_INLINE void TakeTwo(uint64_t& position, Word<T>* to) const {
    uint64_t window = Load64(base + (position >> 3)) >> (position & 7);
    uint32_t entry = entries[window >> 1 & mask];
    uint8_t length = static_cast<uint8_t>(entry);
    if (HWY_LIKELY((window & 1) != 0 && length != 0)) {
      to[0] = static_cast<Word<T>>(static_cast<int32_t>(entry) >> 16);
      position += length;
      window >>= entry & 63;
    } else {
      const Rare<T> rare = TakeRare<T>(base, position, table, escape_bits);
      to[0] = rare.difference;
      position += rare.bits;
      window = Load64(base + (position >> 3)) >> (position & 7);
    }
    entry = entries[window >> 1 & mask];
    length = static_cast<uint8_t>(entry);
    if (HWY_LIKELY((window & 1) != 0 && length != 0)) {
      to[1] = static_cast<Word<T>>(static_cast<int32_t>(entry) >> 16);
      position += length;
    } else {
      const Rare<T> rare = TakeRare<T>(base, position, table, escape_bits);
      to[1] = rare.difference;
      position += rare.bits;
    }
  }
};

/// Four blocks in turns, so that their look-ups overlap.
template <class T>
size_t Unpack(const std::byte* base, const PackedBlock* blocks, size_t count,
              const UnpackTable& table, unsigned escape_bits, Word<T>* HWY_RESTRICT differences) {
  const Unpacker<T> unpacker{reinterpret_cast<const uint8_t*>(base), table.entries,
                             (uint64_t{1} << table.index_bits) - 1, table, escape_bits};
  size_t block = 0;
  for (; block + 4 <= count; block += 4) {
    const PackedBlock* const four = blocks + block;
    uint64_t a = four[0].start, b = four[1].start, c = four[2].start, d = four[3].start;
    Word<T>* to = differences + block * kBlockValues;
    for (Word<T>* const end = to + kBlockValues; to != end; to += 2) {
      unpacker.TakeTwo(a, to);
      unpacker.TakeTwo(b, to + kBlockValues);
      unpacker.TakeTwo(c, to + 2 * kBlockValues);
      unpacker.TakeTwo(d, to + 3 * kBlockValues);
    }
    const bool right =
        (a - four[0].start == four[0].bit_count) & (b - four[1].start == four[1].bit_count) &
        (c - four[2].start == four[2].bit_count) & (d - four[3].start == four[3].bit_count);
    if (HWY_UNLIKELY(!right)) break;  // and find out which, below
  }
  for (; block < count; ++block) {
    uint64_t position = blocks[block].start;
    Word<T>* const to = differences + block * kBlockValues;
    for (size_t i = 0; i < kBlockValues; i += 2) unpacker.TakeTwo(position, to + i);
    if (position - blocks[block].start != blocks[block].bit_count) break;
  }
  return block;
}

template <class T, bool kStream>
void Reconstruct(const Word<T>* HWY_RESTRICT differences, const PackedBlock* blocks, size_t count,
                 const Quantizer<T>& from, T* HWY_RESTRICT values) {
  const bp::Tag<T> d;
  const bp::WordTag<T> w;
  const bp::VectorQuantizer<T> quantizer(from);
  for (size_t block = 0; block < count; ++block) {
    const Word<T>* const at = differences + block * kBlockValues;
    T* const to = values + blocks[block].slot * kBlockValues;
    auto sum = hn::BitCast(w, quantizer.magic);
    TENSORPRESS_UNROLL
    for (size_t i = 0; i < kBlockValues; i += bp::kLanes<T>) {
      const auto shifted = hn::Add(bp::RunningSum(w, hn::LoadU(w, at + i)), sum);
      sum = bp::LastLane(w, shifted);
      if (kStream) {
        hn::Stream(quantizer.Reconstruct(shifted), d, to + i);
      } else {
        hn::StoreU(quantizer.Reconstruct(shifted), d, to + i);
      }
    }
  }
  if (kStream) hwy::FlushStream();
}

template <class T>
BlockCoding<T> Coding() {
  return {Predict<T>, Pack<T>, Unpack<T>, Reconstruct<T, false>, Reconstruct<T, true>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels::huffman
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels::huffman {

template <>
BlockCoding<float> block_coding<float>(Isa isa) {
  TENSORPRESS_DISPATCH(isa, Coding<float>(), reference_coding<float>())
}
template <>
BlockCoding<double> block_coding<double>(Isa isa) {
  TENSORPRESS_DISPATCH(isa, Coding<double>(), reference_coding<double>())
}

}  // namespace tensorpress::kernels::huffman
#endif
