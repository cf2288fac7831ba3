// Boxes in which the values of two files are read beside each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "files/rewriting/rewrite_plan.h"

namespace tensorpress::files {

/// Some four megabytes that are whole chunks, so that none is decompressed twice; without chunks,
/// or where a chunk is more than memory should hold, boxes_for.
inline std::vector<std::uint64_t> boxes_along(const std::vector<std::uint64_t>& extents,
                                              const std::vector<std::uint64_t>& chunk,
                                              std::uint64_t element_bytes) {
  constexpr std::uint64_t kWanted = std::uint64_t{4} << 20, kMost = std::uint64_t{1} << 28;
  if (chunk.size() != extents.size()) return boxes_for(extents, element_bytes);
  std::vector<std::uint64_t> box = chunk;
  std::uint64_t bytes = element_bytes;
  for (std::size_t i = 0; i < box.size(); ++i) {
    box[i] = std::clamp<std::uint64_t>(box[i], 1, std::max<std::uint64_t>(extents[i], 1));
    if (box[i] > kMost / bytes) return boxes_for(extents, element_bytes);
    bytes *= box[i];
  }
  for (std::size_t i = box.size(); i-- > 0 && bytes < kWanted;) {
    const std::uint64_t chunks = (extents[i] + box[i] - 1) / box[i];
    const std::uint64_t times =
        std::clamp<std::uint64_t>(kWanted / bytes, 1, std::max<std::uint64_t>(chunks, 1));
    box[i] *= times;
    bytes *= times;
    if (times < chunks) break;
  }
  return box;
}

}  // namespace tensorpress::files
