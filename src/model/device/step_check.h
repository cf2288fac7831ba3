// Does a model's training step compile on a device, and does it fit? If it does not fit: the
// largest batch that would, with its policy or with the strongest.
#pragma once

#include <cstdint>
#include <string>

#include "devices/check.h"
#include "model/memory/step_memory.h"
#include "model/policy/policy.h"

namespace tensorpress::model {

/// A step whose batch may be made smaller.
struct ResizableStep {
  Graph graph;
  Policy policy;
  StepOptions options;  // with any sizes
  Sizes sizes;          // of open dimensions other than the batch
  std::int64_t batch = 1;
};

Result<devices::CheckOutcome> check_step(const devices::Device& device, const std::string& stack,
                                         const ResizableStep& step);

}  // namespace tensorpress::model
