// DCT+Chop on whole tensors in double precision, written the plain way: pad, transform every block,
// chop, transform back, crop. What the codec is compared with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorpress/codec.h"

namespace tensorpress::testing {

struct ReferenceResult {
  std::vector<double> values;  // after the round trip, before rounding to an element type
  double dropped_energy = 0;   // sum of squares of the dropped coefficients of the padded tensor
  std::uint64_t kept_values = 0;
};

ReferenceResult dct_chop_reference(const std::vector<double>& values, const Shape& shape,
                                   const DctChopOptions& options);

}  // namespace tensorpress::testing
