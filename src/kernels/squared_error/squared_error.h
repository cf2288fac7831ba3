// Sum of squared differences of two rows of floats, in double. Eight sums whatever the vector width
// (element i goes to sum i mod 8), added up at the end in order: the same bits for every
// instruction set.
#pragma once

#include <cstddef>

#include "base/cpu.h"

namespace tensorpress::kernels {

using SquaredError = double (*)(const float* a, const float* b, std::size_t count);

SquaredError squared_error(Isa isa);

double squared_error_reference(const float* a, const float* b, std::size_t count);

}  // namespace tensorpress::kernels
