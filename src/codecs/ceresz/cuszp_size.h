// How many bytes cuSZp's format would take for a chunk: the comparison column of the CereSZ-II
// paper's Table IV (Huang et al., "cuSZp", SC 2023). Blocks of 32 values, quantized and predicted
// as here; a byte with the block's fixed length each; a block that is not zero adds a word of 32
// signs and a word for each bit of its largest magnitude.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "codecs/ceresz/block.h"

namespace tensorpress::ceresz {

template <class T>
std::uint64_t cuszp_size(std::span<const T> values, double bound) {
  const Quantizer<T> quantizer = make_quantizer<T>(bound, 0);
  std::uint64_t bytes = 0;
  for (std::size_t start = 0; start < values.size(); start += kBlockValues) {
    const auto rest = values.subspan(start);
    std::array<T, kBlockValues> padded;
    const std::size_t count = std::min(rest.size(), kBlockValues);
    std::copy_n(rest.data(), count, padded.data());
    std::fill(padded.begin() + count, padded.end(), rest[count - 1]);
    Block<T> block;
    quantize_block(padded.data(), quantizer, block);
    predict_block(block);
    for (auto& difference : block) difference = (zigzag(difference) + 1) >> 1;  // magnitude
    const auto width = static_cast<std::uint64_t>(width_of_block(block));
    bytes += width == 0 ? 1 : 1 + 4 * (1 + width);
  }
  return bytes;
}

}  // namespace tensorpress::ceresz
