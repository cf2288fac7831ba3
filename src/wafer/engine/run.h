// wafer::run for our own programs, which want to know one way in which a run can fail.
#pragma once

#include <optional>

#include "tensorpress/wafer/wafer.h"

namespace tensorpress::wafer::engine {

/// As wafer::run, but nothing if words that promise to be alone on their links were not. Moved one
/// by one they may go on: make the layout again and run it without trains.
Result<std::optional<Report>> run_if_alone(Layout& layout, const RunOptions& options);

}  // namespace tensorpress::wafer::engine
