// From the graph and a policy to the program: what is stored of every activation, and the lines of
// the two passes. One stored copy per value; a view stands for what it views.
//
//   TRY(const Program program, lower(graph, policy, {.sizes = {{"N", 100}}}));
//   for (const Moment& moment : program.moments()) peak = std::max(peak, moment.total);
#pragma once

#include "model/graph/graph.h"
#include "model/graph/operator.h"
#include "model/policy/policy.h"
#include "model/program/program.h"

namespace tensorpress::model {

struct LowerOptions {
  Sizes sizes = {};            // numbers for the symbols, for bytes; the code holds for any
  bool native = true;          // packing by the package instead of by PyTorch's operators
  bool adaptive = false;       // bits are looked up when the step runs: bits["name"]
  std::string optimizer = {};  // "", "sgd" or "adam": the update stands in the backward pass
  bool avx512 = true;          // of the CPU that runs it: convolutions take other scratch without
};

/// What is stored of a value for the backward pass.
struct Stash {
  bool values = false;                      // backward reads the values
  bool signs = false;                       // backward reads the signs
  Tolerance tolerance = Tolerance::linear;  // of the one who tolerates least
  bool rebuilt = false;                     // values are made again instead of stored
  Storing how;                              // of the values

  bool stores_values() const { return values && !rebuilt; }
  /// Exact values tell their signs themselves.
  bool stores_signs() const {
    return signs && (!stores_values() || how.kind != Storing::Kind::keep);
  }
};

/// One for each value of the graph. Entries of the policy that name no activation of this model, or
/// that ask for a codec where it is unsound, are errors.
Result<std::vector<Stash>> decide(const Graph& graph, const Policy& policy, const Sizes& sizes);

/// Nodes whose hidden output is stored instead of their input.
bool is_split(const Graph& graph, const std::vector<Stash>& stashes, NodeId node);

Result<Program> lower(const Graph& graph, const Policy& policy, const LowerOptions& options);

}  // namespace tensorpress::model
