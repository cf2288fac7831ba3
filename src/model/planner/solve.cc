#include "model/planner/solve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/errors.h"
#include "model/planner/candidates.h"
#include "model/planner/memory_rows.h"

namespace tensorpress::model::planner {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Numbers of the program are brought to about this size, where CBC's tolerances of 1e-6 to 1e-9
// are far below anything that counts.
constexpr double kScale = 1000;
// What the second aim counts beside the first.
constexpr double kSecondWeight = 1e-6;

/// Memory above which a row matters: the limit, or for the smallest peak what no choice is below.
struct Ceiling {
  bool is_column = false;  // the peak itself is a column, to be minimized
  std::int64_t bytes = 0;
  double unit = 1;
};

Ceiling ceiling_of(const std::vector<MemoryRow>& rows, const Request& request) {
  Ceiling ceiling;
  ceiling.is_column = request.aim == Aim::peak_bytes;
  ceiling.bytes = request.limits.peak_bytes.value_or(std::numeric_limits<std::int64_t>::max());
  std::int64_t least = 1;
  for (const MemoryRow& row : rows) least = std::max(least, row.base_bytes);
  if (ceiling.is_column) ceiling.bytes = least;
  ceiling.unit = static_cast<double>(std::max(
                     std::int64_t{1}, std::min(ceiling.bytes, std::max(least, std::int64_t{1})))) /
                 kScale;
  return ceiling;
}

/// Factors that bring the whole range of an aim to kScale.
double scale_of(const Problem& problem, const std::vector<Candidate>& candidates, Aim aim) {
  double sum = 0;
  double most = 0;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const auto& [activation, option] = candidates[c];
    most = std::max(most, value_of(problem.activations[activation].options[option], aim));
    if (c + 1 == candidates.size() || candidates[c + 1].activation != activation) {
      sum += most;
      most = 0;
    }
  }
  return sum > 0 ? kScale / sum : 0;
}

class Builder {
 public:
  Builder(const Problem& problem, const std::vector<Candidate>& candidates, const Request& request)
      : problem_(problem), candidates_(candidates), request_(request) {}

  IntegerProgram build(const std::vector<MemoryRow>& rows) {
    add_columns();
    add_one_of_each();
    add_memory(rows);
    add_sums();
    add_conflicts();
    return std::move(program_);
  }

 private:
  const Option& option(std::size_t candidate) const {
    const Candidate& each = candidates_[candidate];
    return problem_.activations[each.activation].options[each.option];
  }

  void add_columns() {
    const bool peak = request_.aim == Aim::peak_bytes;
    const double first = peak ? 0 : scale_of(problem_, candidates_, request_.aim);
    const double second =
        scale_of(problem_, candidates_, request_.second_aim) * (peak ? 0 : kSecondWeight);
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      Column column;
      if (first > 0) column.objective += first * value_of(option(c), request_.aim);
      if (second > 0) column.objective += second * value_of(option(c), request_.second_aim);
      program_.columns.push_back(column);
    }
    if (peak) {
      program_.columns.push_back({.objective = 1, .lower = 0, .upper = kInfinity, .whole = false});
    }
  }

  void add_one_of_each() {
    for (std::size_t c = 0; c < candidates_.size();) {
      Row row{.terms = {}, .lower = 1, .upper = 1};
      const std::size_t activation = candidates_[c].activation;
      for (; c < candidates_.size() && candidates_[c].activation == activation; ++c) {
        row.terms.push_back({static_cast<int>(c), 1});
      }
      program_.rows.push_back(std::move(row));
    }
  }

  void add_memory(const std::vector<MemoryRow>& rows) {
    const Ceiling ceiling = ceiling_of(rows, request_);
    for (const MemoryRow& each : rows) {
      if (each.most_bytes <= ceiling.bytes && !ceiling.is_column) continue;
      if (each.most_bytes < ceiling.bytes) continue;
      Row row{.terms = {}, .lower = -kInfinity, .upper = 0};
      for (const HeldBy& term : each.terms) {
        row.terms.push_back(
            {static_cast<int>(term.candidate), static_cast<double>(term.bytes) / ceiling.unit});
      }
      if (ceiling.is_column) {
        row.terms.push_back({static_cast<int>(candidates_.size()), -1});
        row.upper = -static_cast<double>(each.base_bytes) / ceiling.unit;
      } else {
        row.upper = static_cast<double>(ceiling.bytes - each.base_bytes) / ceiling.unit;
      }
      program_.rows.push_back(std::move(row));
    }
  }

  void add_sums() {
    if (request_.limits.stored_bytes) {
      const double unit =
          static_cast<double>(std::max<std::int64_t>(*request_.limits.stored_bytes, 1)) / kScale;
      Row row{.terms = {},
              .lower = -kInfinity,
              .upper = static_cast<double>(*request_.limits.stored_bytes) / unit};
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        row.terms.push_back(
            {static_cast<int>(c), static_cast<double>(option(c).stored_bytes) / unit});
      }
      program_.rows.push_back(std::move(row));
    }
    if (request_.limits.mean_score) {
      const auto count = static_cast<double>(problem_.activations.size());
      Row row{.terms = {}, .lower = *request_.limits.mean_score * count, .upper = kInfinity};
      for (std::size_t c = 0; c < candidates_.size(); ++c) {
        row.terms.push_back({static_cast<int>(c), option(c).score});
      }
      program_.rows.push_back(std::move(row));
    }
  }

  void add_conflicts() {
    std::map<std::pair<std::size_t, std::size_t>, int> column_of;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      column_of[{candidates_[c].activation, candidates_[c].option}] = static_cast<int>(c);
    }
    for (const Conflict& each : problem_.conflicts) {
      const auto one = column_of.find({each.activation, each.option});
      const auto other = column_of.find({each.other_activation, each.other_option});
      if (one == column_of.end() || other == column_of.end()) continue;
      program_.rows.push_back(
          {.terms = {{one->second, 1}, {other->second, 1}}, .lower = -kInfinity, .upper = 1});
    }
  }

  const Problem& problem_;
  const std::vector<Candidate>& candidates_;
  const Request& request_;
  IntegerProgram program_;
};

Choice choice_of(const Problem& problem, const std::vector<Candidate>& candidates,
                 const std::vector<double>& values) {
  Choice choice(problem.activations.size());
  std::vector<double> highest(problem.activations.size(), -1);
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const auto& [activation, option] = candidates[c];
    if (values[c] > highest[activation]) {
      highest[activation] = values[c];
      choice[activation] = option;
    }
  }
  return choice;
}

std::vector<double> start_values(const std::vector<Candidate>& candidates, const Choice& choice) {
  std::vector<double> values;
  for (const Candidate& each : candidates) {
    values.push_back(choice[each.activation] == each.option ? 1 : 0);
  }
  return values;
}

/// One answer of CBC, checked in whole bytes. Its tolerance may let a choice through that is a
/// few bytes too large; then the limit is lowered by as much and the search repeated.
Result<Solution> search(const Problem& problem, const std::vector<Candidate>& candidates,
                        const std::vector<MemoryRow>& rows, const Request& request) {
  Solution solution;
  solution.choice = greedy_choice(problem, candidates, request);
  solution.evaluation = evaluate(problem, solution.choice);
  const bool start = keeps(solution.evaluation, request.limits);
  if (start) solution.outcome = Solution::Outcome::solved;
  Request tightened = request;
  for (int attempt = 0; attempt < 4; ++attempt) {
    IntegerProgram program = Builder(problem, candidates, tightened).build(rows);
    if (start && attempt == 0 && request.aim != Aim::peak_bytes) {
      program.start = start_values(candidates, solution.choice);
    }
    TRY(const ProgramSolution answer, minimize(program, request.search));
    if (answer.status == ProgramSolution::Status::infeasible) {
      if (!start && attempt == 0) solution.outcome = Solution::Outcome::impossible;
      return solution;
    }
    if (answer.status == ProgramSolution::Status::unknown) return solution;
    const Choice choice = choice_of(problem, candidates, answer.values);
    const Evaluation evaluation = evaluate(problem, choice);
    if (keeps(evaluation, request.limits)) {
      const bool better =
          solution.outcome != Solution::Outcome::solved ||
          value_of(evaluation, request.aim) <= value_of(solution.evaluation, request.aim);
      if (better) {
        solution.choice = choice;
        solution.evaluation = evaluation;
      }
      solution.outcome = Solution::Outcome::solved;
      solution.proven_best = answer.status == ProgramSolution::Status::optimal;
      const double size = std::max(std::abs(answer.objective), 1e-9);
      solution.gap = std::max(0.0, (answer.objective - answer.bound) / size);
      if (solution.proven_best) solution.gap = std::min(solution.gap, request.search.relative_gap);
      return solution;
    }
    if (request.limits.peak_bytes && evaluation.peak_bytes > *request.limits.peak_bytes) {
      *tightened.limits.peak_bytes -= evaluation.peak_bytes - *request.limits.peak_bytes;
    }
    if (request.limits.stored_bytes && evaluation.stored_bytes > *request.limits.stored_bytes) {
      *tightened.limits.stored_bytes -= evaluation.stored_bytes - *request.limits.stored_bytes;
    }
  }
  return solution;
}

/// Where many choices reach the same value of the first aim, the best of them by the second: for
/// the smallest peak nearly everything away from the peak is free to choose.
Result<Solution> settle_ties(const Problem& problem, const std::vector<Candidate>& candidates,
                             const std::vector<MemoryRow>& rows, const Request& request,
                             Solution first) {
  Request again = request;
  again.aim = request.second_aim;
  if (request.aim == Aim::peak_bytes) again.limits.peak_bytes = first.evaluation.peak_bytes;
  if (request.aim == Aim::stored_bytes) again.limits.stored_bytes = first.evaluation.stored_bytes;
  TRY(Solution second, search(problem, candidates, rows, again));
  if (second.outcome != Solution::Outcome::solved) return first;
  second.proven_best = first.proven_best;
  second.gap = first.gap;
  return second;
}

Result<Solution> search_both(const Problem& problem, const std::vector<Candidate>& candidates,
                             const std::vector<MemoryRow>& rows, const Request& request) {
  TRY(Solution solution, search(problem, candidates, rows, request));
  const bool memory = request.aim == Aim::peak_bytes || request.aim == Aim::stored_bytes;
  if (solution.outcome != Solution::Outcome::solved || !memory ||
      request.aim == request.second_aim) {
    return solution;
  }
  return settle_ties(problem, candidates, rows, request, std::move(solution));
}

/// Activations that hold more at the peak than their smallest option would, for people: what other
/// limits keep large.
std::string above_least_at_peak(const Problem& problem, const Solution& solution) {
  const std::size_t at = solution.evaluation.peak_position;
  std::vector<std::pair<std::int64_t, std::size_t>> pieces;
  for (std::size_t a = 0; a < solution.choice.size(); ++a) {
    std::int64_t bytes = 0;
    for (const Held& held : problem.activations[a].options[solution.choice[a]].held) {
      if (held.first <= at && at <= held.last) bytes += held.bytes;
    }
    if (bytes > 0) pieces.emplace_back(-bytes, a);
  }
  std::ranges::sort(pieces);
  constexpr std::size_t kShown = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, pieces.size()); ++i) {
    const Activation& each = problem.activations[pieces[i].second];
    out += text(i == 0 ? "" : ", ", "'", each.name, "' (",
                each.options[solution.choice[pieces[i].second]].name, ") by ",
                human_bytes(static_cast<std::uint64_t>(-pieces[i].first)));
  }
  return out;
}

/// The limits are dropped one after the other until a choice exists; it minimizes what was dropped.
Result<Solution> closest(const Problem& problem, const std::vector<Candidate>& candidates,
                         const std::vector<MemoryRow>& rows, const Request& request,
                         Solution failed) {
  for (const Aim dropped : {Aim::peak_bytes, Aim::stored_bytes}) {
    Request relaxed = request;
    relaxed.aim = dropped;
    relaxed.second_aim = request.aim == dropped ? request.second_aim : request.aim;
    const bool peak = dropped == Aim::peak_bytes;
    if (peak ? !request.limits.peak_bytes : !request.limits.stored_bytes) continue;
    relaxed.limits.peak_bytes.reset();
    if (!peak) relaxed.limits.stored_bytes.reset();
    TRY(Solution solution, search_both(problem, candidates, rows, relaxed));
    if (solution.outcome != Solution::Outcome::solved) continue;
    const char* with = peak && request.limits.stored_bytes ? " with the limit on saved bytes" : "";
    const auto bytes = [](std::int64_t count) {
      return text(human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0))), " (",
                  count, " bytes)");
    };
    solution.reason = peak ? text("a peak of ", bytes(*request.limits.peak_bytes),
                                  " cannot be reached; the smallest possible", with, " is ",
                                  bytes(solution.evaluation.peak_bytes), ", reached at '",
                                  problem.positions[solution.evaluation.peak_position].name, "'")
                           : text("saved activations of ", bytes(*request.limits.stored_bytes),
                                  " cannot be reached; the smallest possible is ",
                                  bytes(solution.evaluation.stored_bytes));
    if (peak) solution.above_least_at_peak = above_least_at_peak(problem, solution);
    solution.outcome = failed.outcome;
    return solution;
  }
  if (request.limits.mean_score) {
    failed.reason = text("a mean score of ", rounded(*request.limits.mean_score),
                         " cannot be reached by these activations");
  } else {
    failed.reason = "no choice keeps all conflicts apart";
  }
  return failed;
}

}  // namespace

Result<Solution> solve(const Problem& problem, const Request& request) {
  RETURN_IF_ERROR(validate(problem));
  for (const auto& score : {request.limits.lowest_score, request.limits.mean_score}) {
    if (score && !(*score >= 0 && *score <= 1)) {
      return bad_argument("a score of ", *score, " does not exist; scores are 0...1");
    }
  }
  TRY(const std::vector<Candidate> candidates, candidates_for(problem, request.limits));
  TRY(const std::vector<MemoryRow> rows, memory_rows(problem, candidates));
  // What no choice can be below is known before the search.
  for (const MemoryRow& row : rows) {
    if (request.limits.peak_bytes && row.base_bytes > *request.limits.peak_bytes) {
      Solution impossible{.outcome = Solution::Outcome::impossible};
      return closest(problem, candidates, rows, request, std::move(impossible));
    }
  }
  TRY(Solution solution, search_both(problem, candidates, rows, request));
  if (solution.outcome == Solution::Outcome::solved) return solution;
  return closest(problem, candidates, rows, request, std::move(solution));
}

}  // namespace tensorpress::model::planner
