// Blocks of 32 values to Huffman codes and back, many blocks at a time: the work of codec ceresz2
// (Song et al., "A Memory-efficient and Computation-balanced Lossy Compressor on Wafer-Scale
// Engine", Section V). Quantization and prediction are those of kernels/bitplane. A block is
//
//   word 0     how many bits follow; 0: the block is zero and nothing follows
//   words      for each value, lowest bit first: flag 1 and the code of its difference, or flag 0
//              and the difference itself, in 32 bits for f32; for f64 in as many, 1 to 64, as the
//              caller says, and its sign fills the rest. Zeros up to the end of the word
//
// Codes are canonical and go out from their highest bit. The same bytes for every instruction set.
// One look-up a value in both directions, with four blocks at a time when decoding: nothing here is
// wide, but shifts by a variable are cheaper in newer instruction sets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cpu.h"
#include "kernels/bitplane/block_ref.h"

namespace tensorpress::kernels::huffman {

using bitplane::kBlockValues;
using bitplane::Quantizer;
using bitplane::Word;

inline constexpr unsigned kMaxCodeBits = 24;
inline constexpr std::uint32_t kMaxSymbols = 1U << 14;

/// The most bits of a difference that has no code, without its flag. f32 always takes all of them.
template <class T>
inline constexpr unsigned kMaxEscapeBits = 8 * sizeof(T);
/// The most bits that any values of a block take: all of them escapes.
template <class T>
inline constexpr std::uint32_t kMaxBlockBits = kBlockValues * (1 + kMaxEscapeBits<T>);
/// Room a packed block may need while it is written or read: its count, all escapes, and a store or
/// load that reaches further.
template <class T>
inline constexpr std::size_t kPackedRoom = 4 + kMaxBlockBits<T> / 8 + 24;

/// The low `bits` (1 to as many as there are) of a word, with the highest of them as the sign.
template <class W>
constexpr W sign_extended(W word, unsigned bits) {
  const auto sign = static_cast<W>(W{1} << (bits - 1));
  const auto low = static_cast<W>(word & static_cast<W>(sign | (sign - 1)));
  return static_cast<W>((low ^ sign) - sign);
}

/// Symbol s stands for the difference s - first; entry s has its flag and code, in the order in
/// which they go out, in the low bits and their number from bit 26 on.
struct PackTable {
  const std::uint32_t* entries = nullptr;
  std::uint32_t symbols = 0;
  std::uint32_t first = 0;
};

/// Entry i decodes the code that the bits i after the flag start with: its length with the flag is
/// in the low byte, the difference from bit 16 on; 0 when that code is longer than index_bits.
/// Longer codes are found by their values: codes of `length` end before limits[length], and the
/// number of a code among all is itself minus offsets[length].
struct UnpackTable {
  const std::uint32_t* entries = nullptr;
  unsigned index_bits = 0;
  std::array<std::uint32_t, kMaxCodeBits + 2> limits{};  // left-aligned to kMaxCodeBits
  std::array<std::uint32_t, kMaxCodeBits + 2> offsets{};
  const std::uint16_t* symbols = nullptr;  // in the order of their codes
  std::uint32_t first = 0;
};

/// A block to unpack: where its bits start (counted in bits from some base, with kPackedRoom bytes
/// to read there), their number (not 0), and which 32 values of the result it becomes.
struct PackedBlock {
  std::uint64_t start = 0;
  std::uint32_t bit_count = 0;
  std::uint32_t slot = 0;
};

template <class T>
struct BlockCoding {
  /// Differences of the blocks' quanta. Values that do not hold take the quantum before them; their
  /// positions (plus `position`) are appended to `outliers`.
  using Predict = void (*)(const T* values, std::size_t blocks, const Quantizer<T>& quantizer,
                           Word<T>* differences, std::uint32_t position,
                           std::vector<std::uint32_t>& outliers);
  /// Packs each block, with its count, to `packed` + block * kPackedRoom; says how many words it
  /// took. `escape_bits`, which hold every difference without a code, are all of them for f32.
  using Pack = void (*)(const Word<T>* differences, std::size_t blocks, const PackTable& table,
                        unsigned escape_bits, std::byte* packed, std::uint32_t* words);
  /// Differences of the blocks, one after the other. How many blocks were right before the first
  /// that was not.
  using Unpack = std::size_t (*)(const std::byte* base, const PackedBlock* blocks,
                                 std::size_t count, const UnpackTable& table, unsigned escape_bits,
                                 Word<T>* differences);
  /// Differences to the values of each block, at its slot.
  using Reconstruct = void (*)(const Word<T>* differences, const PackedBlock* blocks,
                               std::size_t count, const Quantizer<T>& quantizer, T* values);
  Predict predict;
  Pack pack;
  Unpack unpack;
  Reconstruct reconstruct;
  /// Past the cache; `values` is aligned to 64 bytes.
  Reconstruct reconstruct_streaming;
};

template <class T>
BlockCoding<T> block_coding(Isa isa);
template <>
BlockCoding<float> block_coding<float>(Isa isa);
template <>
BlockCoding<double> block_coding<double>(Isa isa);

/// The scalar truth.
template <class T>
BlockCoding<T> reference_coding();
extern template BlockCoding<float> reference_coding<float>();
extern template BlockCoding<double> reference_coding<double>();

/// `code` of `length` bits, lowest bit first.
constexpr std::uint32_t reversed(std::uint32_t code, unsigned length) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < length; ++i) out |= (code >> i & 1) << (length - 1 - i);
  return out;
}

/// The symbol whose code starts `bits` (lowest bit first), and the length of that code.
struct FoundSymbol {
  std::uint32_t symbol = 0;
  unsigned length = 0;
};
FoundSymbol find_symbol(std::uint64_t bits, const UnpackTable& table);

}  // namespace tensorpress::kernels::huffman
