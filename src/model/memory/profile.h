// What a training step keeps and for how long.
#pragma once

#include "model/planner/policy_search.h"

namespace tensorpress::model {

/// One activation that waits for the backward pass.
struct ProfiledActivation {
  std::string name;
  std::string op = {};     // that makes it
  std::string shape = {};  // "f32[N, 64, 32, 32]"
  std::int64_t bytes = 0;
  std::int64_t stored_bytes = 0;          // while it waits
  std::string storing = {};               // "keep", "quantize 4"
  std::string needed_by = {};             // whose backward reads it
  std::size_t lifetime = 0;               // positions of the step
  double flops = 0;                       // to compute it again
  std::optional<double> zeros = {};       // share of elements that are zero
  std::optional<double> dct_energy = {};  // share that the lowest quarter of coefficients holds
  std::optional<double> score = {};
};

struct Profile {
  Policy policy;
  StepMemory memory;
  StepMemory plain;  // with the policy off
  std::vector<ProfiledActivation> activations;
};

Result<Profile> profile_step(const Graph& graph, const Policy& policy, const StepOptions& options,
                             const Statistics& statistics);

}  // namespace tensorpress::model
