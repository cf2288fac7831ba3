// The policy for a model under a budget: its activations as a problem of the planner, solved, and
// lowered again to see what it really takes.
//
// Every option of every activation is lowered once in a step whose other activations wait as in the
// policy `balanced`; what the step's memory gains or loses at each position is the option's cost.
// So whatever the compiler does with a choice (a sign mask less, a rebuilt tensor more, another
// line in place) is in the numbers. Options are added as if they did not touch each other. Where
// they do, the lowered policy is larger than the sum said, and the search is repeated with as much
// less to spend.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/memory/step_memory.h"
#include "model/planner/offload.h"
#include "model/planner/solve.h"

namespace tensorpress::model {

/// What was measured of one activation in a real training step (docs/plan.md, "statistics").
struct ActivationStatistics {
  std::optional<double> zeros;                // share of elements
  std::optional<double> dct_energy;           // share in the lowest quarter of the coefficients
  std::map<std::string, double> scores = {};  // by the text of a storing: "quantize 4 bits"
  std::map<std::string, double> errors = {};  // the same: relative and squared, of all gradients
};
using Statistics = std::map<std::string, ActivationStatistics>;  // by activation

struct Budget {
  std::optional<std::int64_t> peak_bytes = {};  // of everything
  std::optional<double> ratio = {};             // saved bytes of autograd over those of the policy
  std::optional<double> min_score = {};         // of every activation
  std::optional<double> mean_score = {};
  /// What is minimized within the budget; without one on memory, the peak.
  planner::Aim aim = planner::Aim::seconds;
  std::optional<HostLink> offload = {};  // activations may wait in the host's memory
  int fewest_bits = 2;                   // that a codec may leave of a value
};

struct Choice {
  std::string name;
  Storing storing;
  std::int64_t stored_bytes = 0;
  double score = 1;
};

struct PlannedStep {
  Policy policy;
  std::vector<Choice> choices;  // in the order of the graph
  StepMemory memory;            // of the lowered policy
  std::int64_t plain_saved_bytes = 0;
  std::int64_t plain_peak_bytes = 0;
  std::int64_t offloaded_bytes = 0;  // in the host's memory between the passes
  double added_seconds = 0;
  double mean_score = 1;
  double lowest_score = 1;
  bool proven_best = false;
  double gap = 0;
  int searches = 0;
};

/// An impossible budget is a bad_argument that says how close one can get.
Result<PlannedStep> plan_step(const Graph& graph, const StepOptions& options, const Budget& budget,
                              const Statistics& statistics);

}  // namespace tensorpress::model
