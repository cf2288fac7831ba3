// Tensors as stacks of planes: the last two axes are a plane, those before them say which one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensorpress/tensor_view.h"

namespace tensorpress {

/// 1 for tensors of two axes and fewer.
inline std::uint64_t plane_count(const Shape& shape) {
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis + 2 < shape.rank(); ++axis) count *= shape[axis];
  return count;
}

/// Bytes from the first plane to another, counted in C order.
inline std::int64_t plane_offset(const Shape& shape, const Strides& strides, std::uint64_t plane) {
  std::int64_t offset = 0;
  for (std::size_t axis = shape.rank() < 2 ? 0 : shape.rank() - 2; axis-- > 0;) {
    offset += static_cast<std::int64_t>(plane % shape[axis]) * strides[axis];
    plane /= shape[axis];
  }
  return offset;
}

}  // namespace tensorpress
