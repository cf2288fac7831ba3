// What CereSZ-II does with one block of 32 values, as pure functions of that block: what a
// processing element of a simulated wafer runs, and what the kernels are compared with.
// Quantization and prediction are those of codecs/ceresz/block.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "codecs/ceresz/block.h"
#include "codecs/ceresz2/codebook.h"

namespace tensorpress::ceresz2 {

using ceresz::kBlockValues;
using ceresz::make_quantizer;
using ceresz::Quantizer;
using kernels::bitplane::Word;

/// A block as the stream holds it: the count of bits, then the bits; `words` of 4 bytes in all.
template <class T>
struct CodedBlock {
  std::uint32_t words = 0;
  unsigned escape_bits = kernels::huffman::kMaxEscapeBits<T>;  // of each difference without a code
  std::array<std::byte, kernels::huffman::kPackedRoom<T>> bytes{};
  std::vector<std::uint32_t> outliers;  // which of its values are stored elsewhere, as they are
};

/// `escape_bits` must hold every difference without a code; for f32 they are 32.
template <class T>
CodedBlock<T> encode_block(std::span<const T, kBlockValues> values, const Quantizer<T>& quantizer,
                           const Codebook& book,
                           unsigned escape_bits = kernels::huffman::kMaxEscapeBits<T>) {
  const auto coding = kernels::huffman::reference_coding<T>();
  CodedBlock<T> block;
  block.escape_bits = escape_bits;
  std::array<Word<T>, kBlockValues> differences;
  coding.predict(values.data(), 1, quantizer, differences.data(), 0, block.outliers);
  coding.pack(differences.data(), 1, book.pack_table(), escape_bits, block.bytes.data(),
              &block.words);
  return block;
}

/// False when the bits are not those of 32 values. Outliers keep what the value before them is.
template <class T>
bool decode_block(const CodedBlock<T>& block, const Quantizer<T>& quantizer, const Codebook& book,
                  std::span<T, kBlockValues> values) {
  const auto coding = kernels::huffman::reference_coding<T>();
  std::array<Word<T>, kBlockValues> differences{};
  const auto bit_count = load_le<std::uint32_t>(block.bytes.data());
  const kernels::huffman::PackedBlock packed{32, bit_count, 0};
  if (bit_count != 0 && coding.unpack(block.bytes.data(), &packed, 1, book.unpack_table(0),
                                      block.escape_bits, differences.data()) != 1) {
    return false;
  }
  coding.reconstruct(differences.data(), &packed, 1, quantizer, values.data());
  return true;
}

}  // namespace tensorpress::ceresz2
