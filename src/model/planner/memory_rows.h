// The rows of the integer program that limit memory, as few as describe all positions:
//  - positions between two changes of what any option holds become one, with the largest base;
//  - a row that is nowhere above its neighbour is dropped;
//  - what an activation holds under every option moves into the base, because one of its options
//    is taken; a row that then stays within the limit whatever is chosen is dropped.
// For a network of a thousand options this leaves a few dozen rows of a few hundred terms.
#pragma once

#include <vector>

#include "model/planner/problem.h"

namespace tensorpress::model::planner {

/// One column of the program: option `option` of activation `activation`.
struct Candidate {
  std::size_t activation = 0;
  std::size_t option = 0;
};

struct HeldBy {
  std::size_t candidate = 0;
  std::int64_t bytes = 0;
};

struct MemoryRow {
  std::size_t position = 0;        // the one with the largest base among those it stands for
  std::int64_t base_bytes = 0;     // with what every option holds
  std::int64_t most_bytes = 0;     // base and the largest option of each activation
  std::vector<HeldBy> terms = {};  // above the base, by candidate
};

/// `candidates` ordered by activation, at least one for each.
Result<std::vector<MemoryRow>> memory_rows(const Problem& problem,
                                           const std::vector<Candidate>& candidates);

}  // namespace tensorpress::model::planner
