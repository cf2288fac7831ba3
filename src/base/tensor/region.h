// Regions that come from outside: checked against a shape, or written as a slice the way NumPy
// does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress {

/// Whether `region` has the rank of `shape` and lies inside it.
Result<void> check_region(const Shape& shape, const Region& region);

/// Positions along one axis: `count` of them from `start` on, `step` apart.
struct AxisSlice {
  std::uint64_t start = 0;
  std::uint64_t count = 0;
  std::int64_t step = 1;  // negative: backwards
  bool dropped = false;   // given by a single index, which leaves the axis out of the result

  std::uint64_t position(std::uint64_t index) const {
    return start + static_cast<std::uint64_t>(step) * index;  // wraps to where it belongs
  }
};

/// One entry for each axis of the sliced tensor.
struct Slice {
  std::vector<AxisSlice> axes;

  /// Of the result, which lacks the dropped axes.
  Shape shape() const;
};

/// What NumPy would take between the brackets: "0:10,:,50:100", "-1, ::2, 5", "..., ::-1". Entries
/// for axes that are not mentioned are whole. Negative positions count from the end, and those of a
/// range that lie beyond it are cut off.
Result<Slice> parse_slice(std::string_view text, const Shape& shape);

}  // namespace tensorpress
