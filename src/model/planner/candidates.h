// Which options the program has to weigh: those that reach the lowest score, without those that
// another option of the same activation beats or equals in everything.
#pragma once

#include <vector>

#include "model/planner/memory_rows.h"
#include "model/planner/problem.h"
#include "model/planner/solve.h"

namespace tensorpress::model::planner {

/// What `aim` counts for one option; the peak has no value of its own for one option, so its bytes
/// over time stand for it.
double value_of(const Option& option, Aim aim);
/// What `aim` counts for a whole choice.
double value_of(const Evaluation& evaluation, Aim aim);

/// Ordered by activation. An activation none of whose options reaches the lowest score is an error
/// that says what it can reach.
Result<std::vector<Candidate>> candidates_for(const Problem& problem, const Limits& limits);

bool keeps(const Evaluation& evaluation, const Limits& limits);

/// A choice within the limits by repeated exchange of the option that frees most at the highest
/// position for what it costs, or the closest it came to. Quick, not best: where CBC starts, and
/// what is left when it runs out of time.
Choice greedy_choice(const Problem& problem, const std::vector<Candidate>& candidates,
                     const Request& request);

}  // namespace tensorpress::model::planner
