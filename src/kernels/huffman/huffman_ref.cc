#include <bit>

#include "base/bytes.h"
#include "kernels/huffman/huffman.h"

namespace tensorpress::kernels::huffman {
namespace {

template <class T>
void predict(const T* values, std::size_t blocks, const Quantizer<T>& quantizer,
             Word<T>* differences, std::uint32_t position, std::vector<std::uint32_t>& outliers) {
  for (std::size_t block = 0; block < blocks; ++block) {
    Word<T> before = 0;
    for (std::size_t i = block * kBlockValues; i < (block + 1) * kBlockValues; ++i) {
      Word<T> quantum = bitplane::quantize(values[i], quantizer);
      if (!bitplane::holds(values[i], quantum, quantizer)) {
        quantum = before;
        outliers.push_back(position + static_cast<std::uint32_t>(i));
      }
      differences[i] = quantum - before;
      before = quantum;
    }
  }
}

/// Bits one after the other into little-endian words, lowest first.
class BitWriter {
 public:
  explicit BitWriter(std::byte* to) : to_(to) {}
  void put(std::uint64_t bits, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      word_ |= static_cast<std::uint32_t>(bits >> i & 1) << (position_ % 32);
      if (++position_ % 32 == 0) flush();
    }
  }
  /// Fills the last word with zeros.
  std::uint32_t finish() {
    if (position_ % 32 != 0) flush();
    return position_;
  }

 private:
  void flush() {
    store_le(to_, word_);
    to_ += 4;
    word_ = 0;
  }
  std::byte* to_;
  std::uint32_t word_ = 0;
  std::uint32_t position_ = 0;
};

template <class T>
std::uint32_t pack_block(const Word<T>* differences, const PackTable& table, unsigned escape_bits,
                         std::byte* packed) {
  Word<T> all = 0;
  for (std::size_t i = 0; i < kBlockValues; ++i) all |= differences[i];
  if (all == 0) {
    store_le(packed, std::uint32_t{0});
    return 1;
  }
  BitWriter writer(packed + 4);
  for (std::size_t i = 0; i < kBlockValues; ++i) {
    const Word<T> symbol = differences[i] + table.first;
    if (symbol < table.symbols) {
      const std::uint32_t entry = table.entries[symbol];
      writer.put(entry & ((1U << 26) - 1), entry >> 26);
    } else {
      writer.put(0, 1);
      writer.put(differences[i], escape_bits);
    }
  }
  const std::uint32_t bits = writer.finish();
  store_le(packed, bits);
  return 1 + (bits + 31) / 32;
}

template <class T>
void pack(const Word<T>* differences, std::size_t blocks, const PackTable& table,
          unsigned escape_bits, std::byte* packed, std::uint32_t* words) {
  for (std::size_t block = 0; block < blocks; ++block) {
    words[block] = pack_block<T>(differences + block * kBlockValues, table, escape_bits,
                                 packed + block * kPackedRoom<T>);
  }
}

/// `count` bits from `position` on, lowest first.
std::uint64_t bits_at(const std::byte* from, std::uint64_t position, unsigned count) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < count; ++i, ++position) {
    bits |= std::uint64_t{std::to_integer<unsigned>(from[position / 8]) >> (position % 8) & 1} << i;
  }
  return bits;
}

template <class T>
bool unpack_block(const std::byte* base, const PackedBlock& block, const UnpackTable& table,
                  unsigned escape_bits, Word<T>* differences) {
  std::uint64_t position = block.start;
  for (std::size_t i = 0; i < kBlockValues; ++i) {
    if (bits_at(base, position, 1) == 0) {
      const auto escaped = static_cast<Word<T>>(bits_at(base, position + 1, escape_bits));
      differences[i] = sign_extended(escaped, escape_bits);
      position += 1 + escape_bits;
    } else {
      const FoundSymbol found = find_symbol(bits_at(base, position + 1, kMaxCodeBits), table);
      differences[i] = Word<T>{found.symbol} - table.first;
      position += 1 + found.length;
    }
  }
  return position - block.start == block.bit_count;
}

template <class T>
std::size_t unpack(const std::byte* base, const PackedBlock* blocks, std::size_t count,
                   const UnpackTable& table, unsigned escape_bits, Word<T>* differences) {
  for (std::size_t i = 0; i < count; ++i) {
    Word<T>* const to = differences + i * kBlockValues;
    if (!unpack_block<T>(base, blocks[i], table, escape_bits, to)) return i;
  }
  return count;
}

template <class T>
void reconstruct(const Word<T>* differences, const PackedBlock* blocks, std::size_t count,
                 const Quantizer<T>& quantizer, T* values) {
  for (std::size_t block = 0; block < count; ++block) {
    Word<T> quantum = 0;
    for (std::size_t i = 0; i < kBlockValues; ++i) {
      quantum += differences[block * kBlockValues + i];
      values[blocks[block].slot * kBlockValues + i] = bitplane::reconstruct<T>(quantum, quantizer);
    }
  }
}

}  // namespace

FoundSymbol find_symbol(std::uint64_t bits, const UnpackTable& table) {
  auto code = static_cast<std::uint32_t>(bits);
  code = (code >> 1 & 0x55555555U) | (code & 0x55555555U) << 1;
  code = (code >> 2 & 0x33333333U) | (code & 0x33333333U) << 2;
  code = (code >> 4 & 0x0F0F0F0FU) | (code & 0x0F0F0F0FU) << 4;
  code = swap_bytes(code) >> (32 - kMaxCodeBits);
  unsigned length = 1;
  while (length < kMaxCodeBits && code >= table.limits[length]) ++length;
  return {table.symbols[(code >> (kMaxCodeBits - length)) - table.offsets[length]], length};
}

template <class T>
BlockCoding<T> reference_coding() {
  return {predict<T>, pack<T>, unpack<T>, reconstruct<T>, reconstruct<T>};
}
template BlockCoding<float> reference_coding<float>();
template BlockCoding<double> reference_coding<double>();

}  // namespace tensorpress::kernels::huffman
