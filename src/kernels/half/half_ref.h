// The plain loops that the SIMD conversions are compared with, and the last few elements of every
// call.
#pragma once

#include "base/tensor/half_types.h"
#include "kernels/half/half.h"

namespace tensorpress::kernels {

inline void f16_narrow_reference(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = float_to_f16(from[i]);
}
inline void f16_widen_reference(const std::uint16_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = f16_to_float(from[i]);
}
inline void bf16_narrow_reference(const float* from, std::uint16_t* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = float_to_bf16(from[i]);
}
inline void bf16_widen_reference(const std::uint16_t* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = bf16_to_float(from[i]);
}

}  // namespace tensorpress::kernels
