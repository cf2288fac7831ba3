#include <algorithm>
#include <limits>

#include "model/planner/candidates.h"

namespace tensorpress::model::planner {
namespace {

std::int64_t bytes_at(const Option& option, std::size_t position) {
  std::int64_t sum = 0;
  for (const Held& held : option.held) {
    if (held.first <= position && position <= held.last) sum += held.bytes;
  }
  return sum;
}

bool conflicts(const Problem& problem, const Choice& choice, std::size_t activation,
               std::size_t option) {
  return std::ranges::any_of(problem.conflicts, [&](const Conflict& each) {
    return (each.activation == activation && each.option == option &&
            choice[each.other_activation] == each.other_option) ||
           (each.other_activation == activation && each.other_option == option &&
            choice[each.activation] == each.option);
  });
}

/// What is above its limit, and the bytes of an option that count for it.
struct Excess {
  bool peak = false;
  bool stored = false;
  std::size_t position = 0;

  std::int64_t bytes(const Option& option) const {
    return peak ? bytes_at(option, position) : option.stored_bytes;
  }
};

}  // namespace

Choice greedy_choice(const Problem& problem, const std::vector<Candidate>& candidates,
                     const Request& request) {
  const auto option_of = [&](const Candidate& each) -> const Option& {
    return problem.activations[each.activation].options[each.option];
  };
  Choice choice(problem.activations.size(), std::numeric_limits<std::size_t>::max());
  std::vector<double> cost(problem.activations.size(), std::numeric_limits<double>::infinity());
  for (const Candidate& each : candidates) {
    const double value = value_of(option_of(each), request.aim);
    if (value >= cost[each.activation] ||
        conflicts(problem, choice, each.activation, each.option)) {
      continue;
    }
    cost[each.activation] = value;
    choice[each.activation] = each.option;
  }
  for (const Candidate& each : candidates) {  // everything else was in conflict
    if (choice[each.activation] == std::numeric_limits<std::size_t>::max()) {
      choice[each.activation] = each.option;
    }
  }
  constexpr std::size_t kMostWork = 50'000'000;
  const std::size_t work_each =
      problem.positions.size() + candidates.size() * (1 + problem.conflicts.size() / 8) + 1;
  const std::size_t rounds = std::min(2 * candidates.size(), kMostWork / work_each);
  for (std::size_t round = 0; round < rounds; ++round) {
    const Evaluation now = evaluate(problem, choice);
    const Limits& limits = request.limits;
    const Excess excess{.peak = limits.peak_bytes && now.peak_bytes > *limits.peak_bytes,
                        .stored = limits.stored_bytes && now.stored_bytes > *limits.stored_bytes,
                        .position = now.peak_position};
    if (!excess.peak && !excess.stored) return choice;
    double best_rate = 0;
    const Candidate* best = nullptr;
    for (const Candidate& each : candidates) {
      const Option& old = problem.activations[each.activation].options[choice[each.activation]];
      const auto freed = static_cast<double>(excess.bytes(old) - excess.bytes(option_of(each)));
      if (freed <= 0 || conflicts(problem, choice, each.activation, each.option)) continue;
      const double paid =
          std::max(value_of(option_of(each), request.aim) - value_of(old, request.aim), 1e-12);
      if (freed / paid > best_rate) {
        best_rate = freed / paid;
        best = &each;
      }
    }
    if (best == nullptr) return choice;
    choice[best->activation] = best->option;
  }
  return choice;
}

}  // namespace tensorpress::model::planner
