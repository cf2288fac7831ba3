// Programs whose words are alone on their links for most inputs, but not for all.
#pragma once

#include <optional>
#include <utility>

#include "base/errors.h"
#include "wafer/engine/run.h"

namespace tensorpress::wafer::programs {

/// `attempt(options)` makes a layout and runs it with engine::run_if_alone; it gives a
/// Result<std::optional<Run>>. If its words were not alone, it is called again without trains.
template <class Run, class Attempt>
Result<Run> with_trains_if_alone(const RunOptions& options, const Attempt& attempt) {
  TRY(std::optional<Run> run, attempt(options));
  if (!run) {
    RunOptions one_by_one = options;
    one_by_one.trains = false;
    TRY(run, attempt(one_by_one));
  }
  if (!run) return internal_error("words are moved one by one, and are not alone");
  return *std::move(run);
}

}  // namespace tensorpress::wafer::programs
