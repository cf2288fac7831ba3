// What a step keeps and for how long: the rows and drawings of `model profile`.
#pragma once

#include "model/planner/plan_search.h"
#include "report/pages/memory_page.h"

namespace tensorpress::model {

struct Profile {
  Plan plan;
  StepMemory memory;
  StepMemory plain;  // with the plan off
  std::vector<report::ActivationRow> activations;
};

Result<Profile> profile_step(const Graph& graph, const Plan& plan, const StepOptions& options,
                             const Statistics& statistics);

report::MemoryTimeline timeline_of(const StepMemory& memory, const std::string& title);

report::MemoryPage page_of(const Graph& graph, const Profile& profile, const StepOptions& options);

}  // namespace tensorpress::model
