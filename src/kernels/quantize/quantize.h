// Values in groups to codes of 1, 2, 4 or 8 bits and back (docs/format.md, codec quantize).
//
// A group's record is a u32 with its minimum and scale, then blocks of 32 bytes. A block has 8
// words of 32 bits for 256 / bits values: field j of word w (from the lowest bit on) is the code of
// value 8 j + w. So 8 consecutive values are one field of 8 words, on any vector width and without
// a shuffle, and both directions go through the values in order.
//
// Two reads of the values, the second from cache, 3 (nearest) or 5 (stochastic) operations a value;
// both directions are bound by memory with AVX2 (docs/adr/0014 has the figures).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "tensorpress/dtype.h"

namespace tensorpress::kernels {

struct GroupQuantizer {
  /// False when a group cannot be coded: NaN, infinity, or a range that f32 does not hold. `group`
  /// is a multiple of 256 / bits, and so is `first_element`, the number of the first value in the
  /// sequence that decides about stochastic rounding.
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
inline constexpr std::size_t kQuantizedBlockBytes = 32;

/// Bytes of one group's record when it has `count` values.
constexpr std::size_t quantized_group_bytes(std::size_t count, int bits) {
  const std::size_t block = 256 / static_cast<std::size_t>(bits);
  return kQuantizedHeaderBytes + (count + block - 1) / block * kQuantizedBlockBytes;
}

}  // namespace tensorpress::kernels
