// Whether one value serves for all of a chunk.
#pragma once

#include <optional>

#include "codecs/bounded/elements.h"

namespace tensorpress::bounded {

/// For ordinary values from `low` to `high`, some of which may be 0 and then stay 0; nothing if
/// none is within the limit of both. The sign of a zero that stands for all is the caller's to
/// choose.
template <class Element>
std::optional<Element> one_value_for(double low, double high, bool zeros, double limit) {
  Element element;
  if (low == high) {
    to_element(low, element);
    return element;
  }
  to_element(zeros ? 0 : low + (high - low) / 2, element);
  const double stored = to_double(element);
  // A little less than the bound, for the rounding of the two differences.
  const double most = limit * (1 - 0x1p-50);
  if (!(high - stored <= most && stored - low <= most)) return std::nullopt;
  return element;
}

}  // namespace tensorpress::bounded
