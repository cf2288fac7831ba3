// Chunks for codecs that see a tensor as one long row: ranges of consecutive elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "tensorpress/tensor_view.h"

namespace tensorpress::ceresz {

/// The largest chunk of at most `most_elements` that is one contiguous range; of whole blocks of
/// 32 elements where that costs at most half of it.
inline Shape consecutive_chunk_shape(const Shape& shape, std::uint64_t most_elements) {
  constexpr std::uint64_t kBlock = 32;
  Shape chunk = shape;
  std::uint64_t elements = 1;
  bool full = false;  // an axis has been cut: the slower ones stay at 1
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const std::uint64_t extent = std::max<std::uint64_t>(shape[axis], 1);
    std::uint64_t taken = full ? 1 : std::min(extent, most_elements / elements);
    if (taken < extent && !full) {
      full = true;
      const std::uint64_t unit = kBlock / std::gcd(elements, kBlock);
      if (taken >= unit) taken = taken / unit * unit;
    }
    chunk[axis] = taken;
    elements *= taken;
  }
  return chunk;
}

}  // namespace tensorpress::ceresz
