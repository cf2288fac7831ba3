#include "model/planner/candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/errors.h"

namespace tensorpress::model::planner {
namespace {

/// As good or better in everything. Only options that hold bytes over the same stretches are
/// compared; others are left to the program.
bool beats(const Option& better, const Option& worse) {
  if (better.stored_bytes > worse.stored_bytes || better.seconds > worse.seconds ||
      better.error > worse.error || better.score < worse.score ||
      better.held.size() != worse.held.size()) {
    return false;
  }
  for (std::size_t i = 0; i < better.held.size(); ++i) {
    if (better.held[i].first < worse.held[i].first || better.held[i].last > worse.held[i].last ||
        better.held[i].bytes > worse.held[i].bytes) {
      return false;
    }
  }
  return true;
}

}  // namespace

double value_of(const Option& option, Aim aim) {
  switch (aim) {
    case Aim::seconds:
      return option.seconds;
    case Aim::error:
      return option.error;
    case Aim::stored_bytes:
      return static_cast<double>(option.stored_bytes);
    case Aim::peak_bytes: {
      double sum = 0;
      for (const Held& held : option.held) {
        sum += static_cast<double>(held.bytes) * static_cast<double>(held.last - held.first + 1);
      }
      return sum;
    }
  }
  return 0;
}

double value_of(const Evaluation& evaluation, Aim aim) {
  switch (aim) {
    case Aim::seconds:
      return evaluation.seconds;
    case Aim::error:
      return evaluation.error;
    case Aim::stored_bytes:
      return static_cast<double>(evaluation.stored_bytes);
    case Aim::peak_bytes:
      return static_cast<double>(evaluation.peak_bytes);
  }
  return 0;
}

Result<std::vector<Candidate>> candidates_for(const Problem& problem, const Limits& limits) {
  std::set<std::pair<std::size_t, std::size_t>> in_conflict;
  for (const Conflict& conflict : problem.conflicts) {
    in_conflict.emplace(conflict.activation, conflict.option);
    in_conflict.emplace(conflict.other_activation, conflict.other_option);
  }
  std::vector<Candidate> candidates;
  for (std::size_t a = 0; a < problem.activations.size(); ++a) {
    const std::vector<Option>& options = problem.activations[a].options;
    std::vector<std::size_t> kept;
    double best_score = 0;
    for (std::size_t o = 0; o < options.size(); ++o) {
      best_score = std::max(best_score, options[o].score);
      if (limits.lowest_score && options[o].score < *limits.lowest_score) continue;
      // An option in a conflict may have to give way, so it stands in for no other.
      const auto beaten_by = [&](std::size_t other) {
        return !in_conflict.contains({a, other}) && beats(options[other], options[o]);
      };
      if (std::ranges::any_of(kept, beaten_by)) continue;
      if (!in_conflict.contains({a, o})) {
        std::erase_if(kept, [&](std::size_t other) { return beats(options[o], options[other]); });
      }
      kept.push_back(o);
    }
    if (kept.empty()) {
      return bad_argument("activation '", problem.activations[a].name,
                          "' cannot be stored with a score of ", rounded(*limits.lowest_score),
                          "; the best it reaches is ", rounded(best_score));
    }
    for (const std::size_t o : kept) candidates.push_back({a, o});
  }
  return candidates;
}

bool keeps(const Evaluation& evaluation, const Limits& limits) {
  constexpr double kRounding = 1e-9;  // of a mean over many scores
  return evaluation.conflict_free &&
         (!limits.peak_bytes || evaluation.peak_bytes <= *limits.peak_bytes) &&
         (!limits.stored_bytes || evaluation.stored_bytes <= *limits.stored_bytes) &&
         (!limits.lowest_score || evaluation.lowest_score >= *limits.lowest_score) &&
         (!limits.mean_score || evaluation.mean_score >= *limits.mean_score - kRounding);
}

}  // namespace tensorpress::model::planner
