// The squared error that a stream states for values whose error was not measured.
#pragma once

#include "base/squares.h"

namespace tensorpress::bounded {

/// An upper bound: as if each of `count` values were off by the limit.
inline double stated_squared_error(double limit, std::uint64_t count) {
  const auto values = static_cast<double>(count);
  if (count == 0) return 0;
  const double squared = values * limit * limit;
  return squared > 0x1p-900 ? squared : values * square_at_least(limit);
}

}  // namespace tensorpress::bounded
