// Blocks of 32 values to bit planes of their own width and back, many blocks at a time: the work of
// codec ceresz. block_ref.h says what a block is; the same bytes for every instruction set.
// About one operation a byte in either direction: 8 GB/s in AVX2 within the cache, and as fast as
// memory allows beyond it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/bitplane/block_ref.h"

namespace tensorpress::kernels::bitplane {

/// Room that every block needs on the compressed side while it is worked on, whatever it takes in
/// the end.
template <class T>
inline constexpr std::size_t kBlockBytes = kBlockValues * sizeof(T);

/// Bytes of a block's planes, or of a raw block.
template <class T>
constexpr std::size_t payload_bytes(std::uint8_t width) {
  return width == kRawBlock ? kBlockBytes<T> : std::size_t{4} * width;
}
template <class T>
constexpr bool is_width(std::uint8_t width) {
  return width <= kWordBits<T> || width == kRawBlock;
}

/// How far a call came: it stops before a block for which less than kBlockBytes are left, and
/// (decoding) before a width that does not exist.
struct Progress {
  std::size_t blocks = 0;
  std::size_t bytes = 0;
};

template <class T>
struct BlockCoding {
  /// Writes a width per block and the planes of all of them, one after the other.
  using Encode = Progress (*)(const T* values, std::size_t blocks, const Quantizer<T>& quantizer,
                              std::uint8_t* widths, std::byte* payload, std::size_t capacity);
  using Decode = Progress (*)(const std::uint8_t* widths, std::size_t blocks,
                              const std::byte* payload, std::size_t size,
                              const Quantizer<T>& quantizer, T* values);
  Encode encode;
  Decode decode;
  /// Past the cache; `values` is aligned to 64 bytes.
  Decode decode_streaming;
};

BlockCoding<float> f32_blocks(Isa isa);
BlockCoding<double> f64_blocks(Isa isa);

Progress encode_reference(const float* values, std::size_t blocks,
                          const Quantizer<float>& quantizer, std::uint8_t* widths,
                          std::byte* payload, std::size_t capacity);
Progress encode_reference(const double* values, std::size_t blocks,
                          const Quantizer<double>& quantizer, std::uint8_t* widths,
                          std::byte* payload, std::size_t capacity);
Progress decode_reference(const std::uint8_t* widths, std::size_t blocks, const std::byte* payload,
                          std::size_t size, const Quantizer<float>& quantizer, float* values);
Progress decode_reference(const std::uint8_t* widths, std::size_t blocks, const std::byte* payload,
                          std::size_t size, const Quantizer<double>& quantizer, double* values);

}  // namespace tensorpress::kernels::bitplane
