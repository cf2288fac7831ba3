// The largest magnitude among floats, as bits, so that NaN and infinity count as larger than every
// number: 2 operations a vector, bound by memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace tensorpress::kernels {

/// The largest of the bit patterns without their signs; 0 for no values.
using LargestMagnitude = std::uint32_t (*)(const float* values, std::size_t count);

LargestMagnitude largest_magnitude(Isa isa);
std::uint32_t largest_magnitude_reference(const float* values, std::size_t count);

}  // namespace tensorpress::kernels
