// A look at a run of a program when it is over.
#pragma once

#include <functional>

#include "tensorpress/wafer/wafer.h"

namespace tensorpress::wafer::programs {

/// Sees a layout and its report after a run, for traces.
using Inspect = std::function<void(const Layout& layout, const Report& report)>;

}  // namespace tensorpress::wafer::programs
