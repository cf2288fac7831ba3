// The part of a tensor that a person can look at: a window of one plane of the last two axes, or,
// for stacks of small planes, a sheet of many of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorpress/tensor_view.h"

namespace tensorpress::report {

struct Plane {
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<float> values;  // row by row
};

struct Excerpt {
  std::uint64_t planes = 1;  // shown, from the first one on
  std::size_t across = 1;    // planes side by side
  std::size_t top = 0;       // of the window in each plane
  std::size_t left = 0;
  std::size_t height = 0;
  std::size_t width = 0;

  /// "32 of 1000 planes" or "rows 0 to 179, columns 90 to 449 of the first plane".
  std::string description(const Shape& shape) const;
};

/// For planes of at most 64 x 64 a sheet of up to 32 of them, for larger ones the window of at
/// most `most_height` x `most_width` of the first plane with the most detail. 0-D and 1-D
/// tensors are one row.
Excerpt choose_excerpt(const TensorView& tensor, std::size_t most_height, std::size_t most_width);

/// The values of the excerpt, which must have been chosen for a tensor of the same shape. Places
/// of a sheet without a plane are NaN. An empty tensor has an empty plane.
Plane take_excerpt(const TensorView& tensor, const Excerpt& excerpt);

}  // namespace tensorpress::report
