// A number as elements of a type hold it: -1e34 in f32 is not quite -1e34. What people name, fill
// values above all, is compared with elements in this form.
#pragma once

#include "base/tensor/elements.h"

namespace tensorpress {

/// Whole numbers stay as they are: no element equals one that does not fit.
inline double as_stored(double value, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(narrowed(value));
    case DType::f16:
      return static_cast<double>(f16_to_float(float_to_f16(narrowed(value))));
    case DType::bf16:
      return static_cast<double>(bf16_to_float(float_to_bf16(narrowed(value))));
    default:
      return value;
  }
}

}  // namespace tensorpress
