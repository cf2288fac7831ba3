// The slack of a chunk's quantizer, from a sample of its values.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/bitplane/block_ref.h"

namespace tensorpress::ceresz {

/// Every 64th value decides; larger ones in between may have to be stored as they are.
template <class T>
unsigned choose_slack(std::span<const T> values, double bound) {
  T largest = 0;
  for (std::size_t i = 0; i < values.size(); i += 64) {
    largest = std::max(largest, std::abs(values[i]));
  }
  return kernels::bitplane::slack_for(bound, largest);
}

}  // namespace tensorpress::ceresz
