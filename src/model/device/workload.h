// A model's training step for the cost models of src/devices: operators with their flop, bytes and
// parameters, and the activations that wait for the backward pass, as the policy stores them.
#pragma once

#include "devices/programs/workload.h"
#include "model/memory/profile.h"

namespace tensorpress::model {

/// All per sample: amounts for the symbols of `options`, divided by `batch`. The profile is that of
/// the policy; with the policy `off` its activations are what autograd keeps.
devices::Workload workload_of(const Graph& graph, const Profile& profile,
                              const StepOptions& options, double batch);

}  // namespace tensorpress::model
