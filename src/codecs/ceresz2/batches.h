// A chunk of ceresz2 as batches of whole blocks.
#pragma once

#include <algorithm>
#include <span>

#include "codecs/ceresz2/block_offsets.h"
#include "kernels/huffman/huffman.h"

namespace tensorpress::ceresz2 {

using kernels::bitplane::kBlockValues;

// Blocks that are worked on together: what they need stays in the first-level cache.
inline constexpr Mesh kMesh = {.width = 8, .height = 8};
inline constexpr std::size_t kBatch = kMesh.width * kMesh.height;

/// Calls visit(blocks, first value's position, count of blocks) for batches of whole blocks; the
/// last block is a filled-up copy.
template <class T, class Visit>
bool for_each_batch(std::span<const T> values, const Visit& visit) {
  const std::size_t whole = values.size() / kBlockValues;
  for (std::size_t block = 0; block < whole; block += kBatch) {
    const std::size_t at = block * kBlockValues;
    if (!visit(values.data() + at, at, std::min(kBatch, whole - block))) return false;
  }
  const auto rest = values.subspan(whole * kBlockValues);
  if (rest.empty()) return true;
  T padded[kBlockValues];
  std::copy(rest.begin(), rest.end(), padded);
  std::fill(padded + rest.size(), padded + kBlockValues, rest.back());
  return visit(padded, whole * kBlockValues, std::size_t{1});
}

}  // namespace tensorpress::ceresz2
