// Work on some samples of the batch after the others, so that what an operator takes besides its
// maps is that of a slice.
#pragma once

#include <cstdint>

#include "model/graph/operator.h"

namespace tensorpress::model {

/// The samples of a slice, and their bytes in the maps of input and output.
struct Slice {
  std::int64_t samples = 0;
  std::int64_t input = 0;
  std::int64_t output = 0;
};

Slice slice_of(const NodeView& node, const Sizes& sizes);

/// The maps are larger than a slice.
bool exceeds_a_slice(const NodeView& node, const Sizes& sizes);

}  // namespace tensorpress::model
