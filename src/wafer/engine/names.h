// How messages name places.
#pragma once

#include <string>

#include "base/text.h"
#include "tensorpress/wafer/fabric.h"

namespace tensorpress::wafer::engine {

inline std::string place_name(PeAt pe) {
  return text("PE (", pe.x, ", ", pe.y, ")");
}

}  // namespace tensorpress::wafer::engine
