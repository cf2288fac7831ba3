// Elements of any type as floats and floats as elements, side by side in memory, many at a time:
// the same bits as base/tensor/elements.h.
#pragma once

#include <cstddef>

#include "base/cpu.h"
#include "tensorpress/dtype.h"

namespace tensorpress::kernels {

struct ElementConversion {
  void (*load)(const std::byte* from, std::size_t count, float* to);
  /// Integers are rounded half up and clamped; NaN becomes the smallest.
  void (*store)(const float* from, std::size_t count, std::byte* to);
};

ElementConversion element_conversion(DType dtype, Isa isa);

ElementConversion element_conversion_reference(DType dtype);

}  // namespace tensorpress::kernels
