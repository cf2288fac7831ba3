// Squares of errors for sums that must not come out too small.
#pragma once

#include <limits>

namespace tensorpress {

/// At least the square, also where it falls among the subnormals or below them; elsewhere just it.
inline double square_at_least(double error) {
  return error * error + (error != 0 ? std::numeric_limits<double>::denorm_min() : 0);
}

}  // namespace tensorpress
