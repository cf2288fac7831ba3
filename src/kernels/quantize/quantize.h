// Values in groups to codes of 1 to 6 or 8 bits and back (docs/format.md, codec quantize).
//
// A group's record is a u32 with its minimum and scale, then the codes of 8 columns side by side:
// value i is in row i / 8 of column i mod 8. A column's codes are one stream of bits, from the
// lowest on, cut into words of 32 bits; every 32 bytes have the next word of all 8 columns. So 8
// consecutive values are one field of 8 words, on any vector width and without a shuffle, and both
// directions go through the values in order. Fields of 3, 5 and 6 bits may lie across two words.
//
// Two reads of the values, the second from cache, 3 (nearest) or 5 (stochastic) operations a value;
// both directions are bound by memory with AVX2 (docs/adr/0014 has the figures).
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/cpu.h"
#include "tensorpress/dtype.h"

namespace tensorpress::kernels {

struct GroupQuantizer {
  /// False when a group cannot be coded: NaN, infinity, or a range that f32 does not hold. `group`
  /// is a multiple of quantized_block_values(bits), and so is `first_element`, the number of the
  /// first value in the sequence that decides about stochastic rounding.
  using Pack = bool (*)(const std::byte* values, std::size_t count, std::size_t group,
                        std::uint64_t seed, std::uint64_t first_element, std::byte* packed);
  /// Reads any bytes. `past_cache` is a wish.
  using Unpack = void (*)(const std::byte* packed, std::size_t count, std::size_t group,
                          std::byte* values, bool past_cache);
  Pack pack;
  Unpack unpack;
};

/// For f32, f16 or bf16 values, aligned; packed bytes may lie anywhere.
GroupQuantizer group_quantizer(DType dtype, int bits, bool stochastic, Isa isa);
GroupQuantizer group_quantizer_reference(DType dtype, int bits, bool stochastic);

inline constexpr std::size_t kQuantizedHeaderBytes = 4;
inline constexpr std::size_t kQuantizedWordsBytes = 32;  // a word of each column

/// Words of a column that hold whole codes: 1, for 3 and 6 bits 3, for 5 bits 5.
constexpr std::size_t quantized_block_words(int bits) {
  const auto width = static_cast<std::size_t>(bits);
  return std::lcm(width, std::size_t{32}) / 32;
}
/// Values of a block, whose columns have so many words.
constexpr std::size_t quantized_block_values(int bits) {
  return 8 * 32 * quantized_block_words(bits) / static_cast<std::size_t>(bits);
}
/// Words of a column for `count` values.
constexpr std::size_t quantized_words(std::size_t count, int bits) {
  const std::size_t rows = (count + 7) / 8;
  return (rows * static_cast<std::size_t>(bits) + 31) / 32;
}
/// Bytes of one group's record when it has `count` values.
constexpr std::size_t quantized_group_bytes(std::size_t count, int bits) {
  return kQuantizedHeaderBytes + quantized_words(count, bits) * kQuantizedWordsBytes;
}

}  // namespace tensorpress::kernels
