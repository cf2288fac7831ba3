// Floats to the two 8-bit floating-point types of the Open Compute Project and back. Rounded to
// nearest, ties to even; finite values beyond the largest become the largest. e4m3 has no infinity:
// it becomes NaN. NaN is 0x7F or 0xFF.
//
//   e4m3   sign, 4 bits of exponent (bias 7), 3 of fraction; largest 448; 2^-9 smallest
//   e5m2   sign, 5 bits of exponent (bias 15), 2 of fraction; largest 57344; 2^-16 smallest
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace tensorpress::kernels {

struct Fp8Conversion {
  using Narrow = void (*)(const float* from, std::uint8_t* to, std::size_t count);
  using Widen = void (*)(const std::uint8_t* from, float* to, std::size_t count);
  Narrow narrow;
  Widen widen;
};

Fp8Conversion e4m3_conversion(Isa isa);
Fp8Conversion e5m2_conversion(Isa isa);

inline constexpr float kLargestE4m3 = 448;
inline constexpr float kLargestE5m2 = 57344;

}  // namespace tensorpress::kernels
