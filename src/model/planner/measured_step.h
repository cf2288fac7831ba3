// What a policy can do with each activation, and what that changes in memory: every option lowered
// once in a step whose other activations wait as in the reference policy.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/memory/step_memory.h"
#include "model/planner/offload.h"

namespace tensorpress::model {

/// Bytes at each position, and between the passes.
struct Footprint {
  std::vector<std::int64_t> bytes;
  std::int64_t saved = 0;
};

struct MeasuredActivation {
  ValueId value = kNone;
  bool rebuilt = false;  // in the reference policy
  bool hidden = false;
  Storing reference = {};  // in that policy, or where it is rebuilt, what else it would be
  std::vector<Storing> options = {};    // keep first; rebuild last, where it is possible
  std::vector<Footprint> changes = {};  // of each option, against the reference policy
  std::vector<ValueId> released = {};   // hidden kept: what can then not be rebuilt
  std::vector<Fetch> fetches = {};      // if it is offloaded
};

struct MeasuredStep {
  Footprint base;  // of the reference policy
  std::vector<MeasuredActivation> candidates;
};

/// `levels`: codecs for activations that may be lossy. `offload`: whether those and all others may
/// also wait in the host's memory. `known`: names of activations whose harm to the gradients was
/// measured, which may have fewer than 4 bits whatever function they enter.
Result<MeasuredStep> measure_step(const Graph& graph, const Policy& reference,
                                  const StepOptions& options, const std::vector<Storing>& levels,
                                  bool offload, const std::set<std::string>& known = {});

/// Makes the policy store a candidate so. Keeping a normalized value means that its operator keeps
/// its input.
void add_entries(Policy& policy, const Graph& graph, const MeasuredActivation& candidate,
                 const Storing& storing);

}  // namespace tensorpress::model
