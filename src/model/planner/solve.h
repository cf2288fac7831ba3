// The best choice for every activation under limits, by an integer program: one 0/1 column per
// option, exactly one option per activation, and one row per position of the step that can reach
// the limit on the peak (memory_rows.h). What CBC answers is evaluated again in whole bytes, so a
// solution that is returned keeps its limits exactly.
#pragma once

#include <optional>
#include <string>

#include "model/planner/integer_program.h"
#include "model/planner/problem.h"

namespace tensorpress::model::planner {

/// What is minimized. The second aim decides between choices that are equally good.
enum class Aim { seconds, error, peak_bytes, stored_bytes };

struct Limits {
  std::optional<std::int64_t> peak_bytes = {};    // at every position
  std::optional<std::int64_t> stored_bytes = {};  // of all activations together
  std::optional<double> lowest_score = {};        // of every activation
  std::optional<double> mean_score = {};
};

struct Request {
  Aim aim = Aim::seconds;
  Aim second_aim = Aim::error;
  Limits limits = {};
  SearchLimits search = {};
};

struct Solution {
  enum class Outcome {
    solved,      // within all limits
    impossible,  // proven; the choice comes as close as anything can
    undecided,   // the search ended without an answer; the choice is the closest that was seen
  };
  Outcome outcome = Outcome::undecided;
  Choice choice = {};
  Evaluation evaluation = {};
  bool proven_best = false;
  /// How much of the aim's value might still be gained: at most the gap that was
  /// asked for when proven, 0.01 for one percent.
  double gap = 0;
  /// For the two other outcomes: which limit cannot be kept, and what is reachable.
  std::string reason = {};
  /// If that is the limit on the peak: the activations that hold most above their least where it is
  /// reached.
  std::string above_least_at_peak = {};
};

Result<Solution> solve(const Problem& problem, const Request& request);

}  // namespace tensorpress::model::planner
