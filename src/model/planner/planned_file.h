// What the planner writes and reads beside plans (docs/plan.md): a plan with its prediction, and
// statistics of activations.
#pragma once

#include <string>

#include "model/planner/policy_search.h"

namespace tensorpress::model {

/// The policy with what it is predicted to do, as a plan that read_plan reads.
std::string plan_to_json(const PlannedStep& planned, const std::string& model,
                         const StepOptions& options);

/// Unknown entries and numbers outside of 0...1 are refused by name.
Result<Statistics> read_statistics(const std::string& path);
Result<Statistics> statistics_from_json(const std::string& content, const std::string& where);

}  // namespace tensorpress::model
