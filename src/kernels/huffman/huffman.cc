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

/// Bits wait in a register until whole bytes can leave; at most 57 may be put between two flushes.
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
HWY_INLINE void PutOne(Word<T> difference, const PackTable& table, BitBuffer& buffer) {
  const Word<T> symbol = difference + table.first;
  if (symbol < table.symbols) {
    const uint32_t entry = table.entries[symbol];
    buffer.Put(entry & ((1U << 26) - 1), entry >> 26);
  } else {
    buffer.Put(uint64_t{static_cast<uint32_t>(difference)} << 1, 33);
    if constexpr (sizeof(T) == 8) {
      buffer.Flush();
      buffer.Put(difference >> 32, 32);
    }
  }
  buffer.Flush();
}

template <class T>
void Pack(const Word<T>* HWY_RESTRICT differences, size_t blocks, const PackTable& table,
          std::byte* HWY_RESTRICT packed, uint32_t* HWY_RESTRICT words) {
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
        PutOne<T>(d[i], table, buffer);
        PutOne<T>(d[i + 1], table, buffer);
      }
    }
    std::memcpy(buffer.to, &buffer.bits, sizeof buffer.bits);
    const auto bits = static_cast<uint32_t>(8 * (buffer.to - start - 4)) + buffer.used;
    std::memcpy(start, &bits, sizeof bits);
    words[block] = 1 + (bits + 31) / 32;
  }
}

/// One block on its way: several are decoded in turns, so that their look-ups overlap.
template <class T>
struct Lane {
  const uint8_t* from;
  Word<T>* to;
  uint32_t position = 0;
  Word<T> quantum = bitplane::kMagicBits<T>;

  /// At least 57 bits.
  HWY_INLINE uint64_t Window() const { return Load64(from + (position >> 3)) >> (position & 7); }

  HWY_NOINLINE void TakeRare(uint64_t window, const UnpackTable& table) {
    if ((window & 1) == 0) {
      const uint32_t start = position + 1;
      uint64_t raw = Load64(from + (start >> 3)) >> (start & 7);
      if (sizeof(T) == 8 && (start & 7) != 0) {
        raw |= Load64(from + (start >> 3) + 8) << (64 - (start & 7));
      }
      quantum += static_cast<Word<T>>(raw);
      position += kEscapeBits<T>;
      return;
    }
    const FoundSymbol found = find_symbol(window >> 1, table);
    quantum += Word<T>{found.symbol} - table.first;
    position += 1 + found.length;
  }

  /// Two values: at most 50 bits of the window when neither is rare.
  HWY_INLINE void TakeTwo(size_t i, const uint32_t* entries, uint64_t mask,
                          const UnpackTable& table) {
    uint64_t window = Window();
    uint32_t entry = entries[window >> 1 & mask];
    if (HWY_LIKELY((entry & window & 1) != 0)) {
      const unsigned length = entry >> 1 & 63;
      quantum += static_cast<Word<T>>(static_cast<int32_t>(entry) >> 16);
      position += length;
      window >>= length;
    } else {
      TakeRare(window, table);
      window = Window();
    }
    to[i] = quantum;
    entry = entries[window >> 1 & mask];
    if (HWY_LIKELY((entry & window & 1) != 0)) {
      quantum += static_cast<Word<T>>(static_cast<int32_t>(entry) >> 16);
      position += entry >> 1 & 63;
    } else {
      TakeRare(window, table);
    }
    to[i + 1] = quantum;
  }
};

template <class T>
HWY_INLINE Lane<T> LaneOf(const PackedBlock& block, Word<T>* shifted) {
  return {reinterpret_cast<const uint8_t*>(block.bits), shifted + block.slot * kBlockValues};
}

template <class T>
size_t Unpack(const PackedBlock* blocks, size_t count, const UnpackTable& table,
              Word<T>* HWY_RESTRICT shifted) {
  const uint32_t* const entries = table.entries;
  const uint64_t mask = (uint64_t{1} << table.index_bits) - 1;
  size_t block = 0;
  for (; block + 4 <= count; block += 4) {
    Lane<T> a = LaneOf<T>(blocks[block], shifted);
    Lane<T> b = LaneOf<T>(blocks[block + 1], shifted);
    Lane<T> c = LaneOf<T>(blocks[block + 2], shifted);
    Lane<T> d = LaneOf<T>(blocks[block + 3], shifted);
    for (size_t i = 0; i < kBlockValues; i += 2) {
      a.TakeTwo(i, entries, mask, table);
      b.TakeTwo(i, entries, mask, table);
      c.TakeTwo(i, entries, mask, table);
      d.TakeTwo(i, entries, mask, table);
    }
    if (HWY_UNLIKELY(a.position != blocks[block].bit_count ||
                     b.position != blocks[block + 1].bit_count ||
                     c.position != blocks[block + 2].bit_count ||
                     d.position != blocks[block + 3].bit_count)) {
      break;  // and find out which, below
    }
  }
  for (; block < count; ++block) {
    Lane<T> lane = LaneOf<T>(blocks[block], shifted);
    for (size_t i = 0; i < kBlockValues; i += 2) lane.TakeTwo(i, entries, mask, table);
    if (lane.position != blocks[block].bit_count) break;
  }
  return block;
}

template <class T, bool kStream>
void Reconstruct(const Word<T>* HWY_RESTRICT shifted, size_t count, const Quantizer<T>& from,
                 T* HWY_RESTRICT values) {
  const bp::Tag<T> d;
  const bp::WordTag<T> w;
  const bp::VectorQuantizer<T> quantizer(from);
  size_t i = 0;
  for (; i + kBlockValues <= count; i += kBlockValues) {
    TENSORPRESS_UNROLL
    for (size_t j = 0; j < kBlockValues; j += bp::kLanes<T>) {
      const auto value = quantizer.Reconstruct(hn::LoadU(w, shifted + i + j));
      if (kStream) {
        hn::Stream(value, d, values + i + j);
      } else {
        hn::StoreU(value, d, values + i + j);
      }
    }
  }
  reference_coding<T>().reconstruct(shifted + i, count - i, from, values + i);
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
