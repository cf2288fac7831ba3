// Regions that come from outside: checked against a shape, or written as a slice the way NumPy
// does.
#pragma once

#include <string_view>
#include <vector>

#include "base/errors.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress {

/// Whether `region` has the rank of `shape` and lies inside it.
Result<void> check_region(const Shape& shape, const Region& region);

struct Slice {
  Region region;
  std::vector<bool> dropped;  // axes given by a single index, which the result does not have

  /// Of the result: the region's extent without the dropped axes.
  Shape shape() const;
  /// A region of the sliced tensor as one of the result.
  Region without_dropped(const Region& region) const;
};

/// "0:10,:,50:100", "-1,::,5": one entry for each axis, missing ones at the end are whole. Negative
/// positions count from the end, positions beyond it are cut off; there are no steps.
Result<Slice> parse_slice(std::string_view text, const Shape& shape);

}  // namespace tensorpress
