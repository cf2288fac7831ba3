// One bit for every element of a chunk (no data here; negative), stored as runs. Coasts and ice
// edges repeat from row to row and from plane to plane, so the runs may be those of the difference
// from the row or the plane before: whichever of the three gives the fewest.
//
//   varint predecessor   0 none, 1 the row before (last axis), 2 the plane before (last two axes)
//   varint runs
//   runs times: varint gap (elements that do not differ), varint length (elements that do)
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::bounded {

/// `mask` holds 0 or 1 for each element of the chunk.
void write_mask(std::span<const std::uint8_t> mask, const Shape& shape, ByteWriter& to);

/// Every byte of `mask` is set to 0 or 1.
Result<void> read_mask(ByteReader& from, const Shape& shape, std::span<std::uint8_t> mask);

}  // namespace tensorpress::bounded
