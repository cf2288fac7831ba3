#include "model/planner/policy_search.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/errors.h"
#include "model/planner/measured_step.h"
#include "model/policy/storing_cost.h"

namespace tensorpress::model {
namespace {

using planner::Aim;

class Search {
 public:
  Search(const Graph& graph, const StepOptions& options, const Budget& budget,
         const Statistics& statistics)
      : graph_(graph), options_(options), budget_(budget), statistics_(statistics) {}

  Result<PlannedStep> run() {
    TRY(reference_, named_policy("balanced"));
    TRY(const StepMemory plain, lowered(policy_off()));
    plain_ = plain;
    TRY(auto enough, without_codecs());
    if (enough) return std::move(*enough);
    RETURN_IF_ERROR(find_options());
    return solve();
  }

 private:
  Result<StepMemory> lowered(const Policy& policy) const {
    TRY(const Program program, lower(graph_, policy, options_.lowering));
    return step_memory(graph_, program, options_);
  }

  std::int64_t most_saved() const {
    constexpr double kMost = 0x1p60;  // what a ratio near 0 allows is any number of bytes
    const double most = static_cast<double>(plain_.saved_bytes) / budget_.ratio.value_or(1);
    return static_cast<std::int64_t>(std::floor(std::min(most, kMost)));
  }

  bool within_budget(const StepMemory& memory) const {
    return (!budget_.peak_bytes || memory.peak_bytes() <= *budget_.peak_bytes) &&
           (!budget_.ratio || memory.saved_bytes <= most_saved());
  }

  /// Exact compact forms alone, if they are enough: nothing is lost and hardly any time.
  Result<std::optional<PlannedStep>> without_codecs() {
    if (!budget_.peak_bytes && !budget_.ratio) return std::optional<PlannedStep>();
    TRY(const Policy lossless, named_policy("lossless"));
    TRY(StepMemory memory, lowered(lossless));
    if (!within_budget(memory)) return std::optional<PlannedStep>();
    PlannedStep planned;
    planned.policy = lossless;
    planned.memory = std::move(memory);
    planned.plain_saved_bytes = plain_.saved_bytes;
    planned.plain_peak_bytes = plain_.peak_bytes();
    planned.proven_best = true;
    return std::optional(std::move(planned));
  }

  const std::string& name_of(const MeasuredActivation& candidate) const {
    return graph_.values[candidate.value].name;
  }

  Result<void> find_options() {
    std::set<std::string> known;
    for (const auto& [name, activation] : statistics_) {
      if (!activation.errors.empty()) known.insert(name);
    }
    TRY(MeasuredStep measured,
        measure_step(graph_, reference_, options_, storing_levels(budget_.fewest_bits),
                     budget_.offload.has_value(), known));
    base_ = std::move(measured.base);
    candidates_ = std::move(measured.candidates);
    if (!budget_.offload) return {};
    std::vector<Transfers> all;
    for (const MeasuredActivation& each : candidates_) {
      const bool offloaded = std::ranges::any_of(
          each.options, [](const Storing& o) { return o.kind == Storing::Kind::offload; });
      if (offloaded) all.push_back({each.value, each.fetches});
    }
    offload_times_.emplace(graph_, options_.lowering.sizes, *budget_.offload, all);
    return {};
  }

  /// As measured, but never so good that half the bits would seem to be as good as all: one batch,
  /// or a few, are noisy.
  std::optional<double> measured_score(const std::string& name, const Storing& storing) const {
    std::optional<double> score = found_score(name, storing);
    const bool halves = storing.bits == 1 || storing.bits == 2 || storing.bits == 4;
    if (!score || storing.kind != Storing::Kind::quantize || !halves) return score;
    const std::optional<double> finer = measured_score(name, quantize_level(2 * storing.bits));
    return finer ? std::min(*score, score_of_half_the_bits(*finer)) : score;
  }

  std::optional<double> found_score(const std::string& name, const Storing& storing) const {
    const auto activation = statistics_.find(name);
    if (activation == statistics_.end()) return {};
    const std::map<std::string, double>& scores = activation->second.scores;
    const auto found = scores.find(to_text(storing));
    if (found != scores.end()) return found->second;
    // One bit is measured only on request, and what lies between the steps of the ladder is not.
    if (storing.kind != Storing::Kind::quantize || storing.bits == 8) return {};
    const Storing known = quantize_level(storing.bits == 1 ? 2 : 4);
    if (storing == known || !scores.contains(to_text(known))) return {};
    return scaled_score(*measured_score(name, known), known, storing);
  }

  /// The geometric mean over what was measured: one number for an activation, because those of
  /// single levels are noisy, and an exchange of bits between two activations needs their ratio.
  std::optional<double> sensitivity(const std::string& name) const {
    const auto activation = statistics_.find(name);
    if (activation == statistics_.end()) return {};
    double logs = 0;
    int count = 0;
    for (const Storing& level : storing_levels(1)) {
      const auto found = activation->second.errors.find(to_text(level));
      if (found == activation->second.errors.end() || found->second <= 0) continue;
      logs += std::log(sensitivity_of(found->second, level));
      ++count;
    }
    if (count == 0) return {};
    return std::exp(logs / count);
  }

  StoringCost cost_of(const MeasuredActivation& candidate, const Storing& storing) const {
    if (storing.kind == Storing::Kind::offload) {
      return {.seconds = offload_times_->seconds({candidate.value, candidate.fetches})};
    }
    const std::string& name = name_of(candidate);
    const std::int64_t size = bytes(graph_.values[candidate.value].type, options_.lowering.sizes);
    return storing_cost(storing, size, measured_score(name, storing), sensitivity(name));
  }

  /// Changes as bytes above the least that any option leaves, which joins the base.
  planner::Problem problem() {
    planner::Problem problem;
    std::vector<std::int64_t> base = base_.bytes;
    saved_base_ = base_.saved;
    for (const MeasuredActivation& candidate : candidates_) {
      std::vector<std::int64_t> least(base.size(), 0);
      std::int64_t least_saved = candidate.changes[0].saved;
      for (std::size_t t = 0; t < base.size(); ++t) {
        least[t] = candidate.changes[0].bytes[t];
        for (const Footprint& change : candidate.changes) {
          least[t] = std::min(least[t], change.bytes[t]);
        }
        base[t] += least[t];
      }
      for (const Footprint& change : candidate.changes) {
        least_saved = std::min(least_saved, change.saved);
      }
      saved_base_ += least_saved;
      planner::Activation activation{.name = name_of(candidate), .options = {}};
      for (std::size_t o = 0; o < candidate.options.size(); ++o) {
        const StoringCost cost = cost_of(candidate, candidate.options[o]);
        planner::Option option{.name = to_text(candidate.options[o]),
                               .stored_bytes = candidate.changes[o].saved - least_saved,
                               .seconds = cost.seconds,
                               .error = cost.error,
                               .score = cost.score};
        for (std::size_t t = 0; t < base.size(); ++t) {
          const std::int64_t held = candidate.changes[o].bytes[t] - least[t];
          if (held == 0) continue;
          if (!option.held.empty() && option.held.back().last + 1 == t &&
              option.held.back().bytes == held) {
            option.held.back().last = t;
          } else {
            option.held.push_back({t, t, held});
          }
        }
        activation.options.push_back(std::move(option));
      }
      problem.activations.push_back(std::move(activation));
    }
    for (std::size_t t = 0; t < base.size(); ++t) {
      problem.positions.push_back({plain_.positions[t].name, std::max<std::int64_t>(base[t], 0)});
    }
    add_conflicts(problem);
    return problem;
  }

  void add_conflicts(planner::Problem& problem) const {
    for (std::size_t a = 0; a < candidates_.size(); ++a) {
      for (std::size_t b = 0; b < candidates_.size(); ++b) {
        const std::vector<ValueId>& released = candidates_[a].released;
        if (!candidates_[b].rebuilt ||
            std::find(released.begin(), released.end(), candidates_[b].value) == released.end()) {
          continue;
        }
        problem.conflicts.push_back({a, 0, b, candidates_[b].options.size() - 1});
      }
    }
  }

  planner::Request request() const {
    planner::Request request;
    // Equal times of equal tensors make the last percent of a proof endless. Nodes end the search,
    // so that every machine writes the same plan.
    request.search = {.relative_gap = 2e-3, .nodes = 200, .seconds = 120};
    request.limits.lowest_score = budget_.min_score;
    request.limits.mean_score = budget_.mean_score;
    if (budget_.peak_bytes || budget_.ratio) {
      request.aim = budget_.aim;
      request.second_aim = budget_.aim == Aim::seconds ? Aim::error : Aim::seconds;
    } else {
      request.aim = Aim::peak_bytes;
      request.second_aim = Aim::error;
    }
    return request;
  }

  Policy policy_of(const planner::Choice& choice) const {
    Policy policy = reference_;
    policy.name = "planned";
    for (std::size_t a = 0; a < candidates_.size(); ++a) {
      policy.by_name[name_of(candidates_[a])] = candidates_[a].options[choice[a]];
    }
    for (std::size_t a = 0; a < candidates_.size(); ++a) {
      add_entries(policy, graph_, candidates_[a], candidates_[a].options[choice[a]]);
    }
    return policy;
  }

  Result<PlannedStep> solve() {
    const planner::Problem problem = this->problem();
    planner::Request request = this->request();
    std::int64_t peak_over = 0;
    std::int64_t saved_over = 0;
    for (int searches = 1;; ++searches) {
      if (budget_.peak_bytes) request.limits.peak_bytes = *budget_.peak_bytes - peak_over;
      if (budget_.ratio) request.limits.stored_bytes = most_saved() - saved_base_ - saved_over;
      TRY(const planner::Solution found, planner::solve(problem, request));
      if (found.outcome != planner::Solution::Outcome::solved) return too_tight(found);
      TRY(PlannedStep planned, lowered_choice(found.choice));
      planned.proven_best = found.proven_best && searches == 1;
      planned.gap = found.gap;
      planned.searches = searches;
      if (within_budget(planned.memory)) return planned;
      constexpr int kMostSearches = 5;
      if (searches == kMostSearches) return too_tight_when_lowered(planned);
      if (budget_.peak_bytes) {
        peak_over += std::max<std::int64_t>(planned.memory.peak_bytes() - *budget_.peak_bytes, 0);
      }
      if (budget_.ratio) {
        saved_over += std::max<std::int64_t>(planned.memory.saved_bytes - most_saved(), 0);
      }
    }
  }

  Result<PlannedStep> lowered_choice(const planner::Choice& choice) const {
    PlannedStep planned;
    planned.policy = policy_of(choice);
    TRY(planned.memory, lowered(planned.policy));
    planned.plain_saved_bytes = plain_.saved_bytes;
    planned.plain_peak_bytes = plain_.peak_bytes();
    double scores = 0;
    for (std::size_t a = 0; a < candidates_.size(); ++a) {
      const Storing& storing = candidates_[a].options[choice[a]];
      const StoringCost cost = cost_of(candidates_[a], storing);
      const TensorType& type = graph_.values[candidates_[a].value].type;
      planned.choices.push_back({name_of(candidates_[a]), storing,
                                 stored_bytes(storing, type, options_.lowering.sizes), cost.score});
      if (storing.kind == Storing::Kind::offload) {
        planned.offloaded_bytes += bytes(type, options_.lowering.sizes);
      }
      planned.added_seconds += cost.seconds;
      planned.lowest_score = std::min(planned.lowest_score, cost.score);
      scores += cost.score;
    }
    if (!candidates_.empty()) {
      planned.mean_score = scores / static_cast<double>(candidates_.size());
    }
    return planned;
  }

  static std::string in_words(std::int64_t bytes) {
    return text(human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0))), " (",
                bytes, " bytes)");
  }

  Error too_tight(const planner::Solution& closest) const {
    if (closest.choice.size() != candidates_.size()) {
      return bad_argument("model '", graph_.name, "': ", closest.reason);
    }
    const auto lowered = lowered_choice(closest.choice);
    if (!lowered.ok()) return lowered.error();
    return too_tight_when_lowered(*lowered, closest.above_least_at_peak);
  }

  /// `above`: activations that other limits keep larger than they could be.
  Error too_tight_when_lowered(const PlannedStep& closest, const std::string& above = {}) const {
    const StepPosition& at = closest.memory.positions[closest.memory.peak];
    const double ratio = static_cast<double>(plain_.saved_bytes) /
                         static_cast<double>(std::max<std::int64_t>(closest.memory.saved_bytes, 1));
    std::string sentence = text("model '", graph_.name, "' cannot be planned so tightly.");
    if (budget_.peak_bytes && closest.memory.peak_bytes() > *budget_.peak_bytes) {
      sentence +=
          text(" The smallest peak found is ", in_words(closest.memory.peak_bytes()), ", not ",
               in_words(*budget_.peak_bytes), "; it is reached at '", at.name, "': weights ",
               human_of(at.parameters), ", optimizer state ", human_of(at.state),
               ", weight gradients ", human_of(at.weight_gradients), ", inputs ",
               human_of(at.inputs), ", saved ", human_of(at.saved), ", working tensors ",
               human_of(at.activations + at.gradients), ", scratch ", human_of(at.scratch), ".");
      if (!above.empty()) {
        sentence += text(" Without the other limits these could hold less there: ", above, ".");
      }
    }
    if (budget_.ratio && closest.memory.saved_bytes > most_saved()) {
      sentence += text(" The largest ratio of saved bytes found is ", rounded(ratio, 4), ", not ",
                       rounded(*budget_.ratio, 4), ".");
    }
    if (budget_.min_score || budget_.mean_score) sentence += " A lower score would allow more.";
    if (budget_.fewest_bits > 1) sentence += " `fewest_bits` 1 allows one bit a value.";
    if (!budget_.offload) sentence += " `offload` GB/s lets values wait in the host's memory.";
    return bad_argument(sentence);
  }

  static std::string human_of(std::int64_t bytes) {
    return human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
  }

  const Graph& graph_;
  const StepOptions& options_;
  const Budget& budget_;
  const Statistics& statistics_;
  Policy reference_;
  StepMemory plain_;
  std::vector<MeasuredActivation> candidates_;
  std::optional<OffloadTimes> offload_times_;
  Footprint base_;
  std::int64_t saved_base_ = 0;
};

}  // namespace

Result<PlannedStep> plan_step(const Graph& graph, const StepOptions& options, const Budget& budget,
                              const Statistics& statistics) {
  if (budget.ratio && !(*budget.ratio > 0 && std::isfinite(*budget.ratio))) {
    return bad_argument("a ratio of ", *budget.ratio, " is not possible; it is above 0");
  }
  if (budget.peak_bytes && *budget.peak_bytes <= 0) {
    return bad_argument("a peak of ", *budget.peak_bytes,
                        " bytes is not possible; it is above 0, as `peak_bytes` 2GiB");
  }
  for (const auto& score : {budget.min_score, budget.mean_score}) {
    if (score && !(*score >= 0 && *score <= 1)) {
      return bad_argument("a score of ", *score, " does not exist; scores are 0...1");
    }
  }
  return Search(graph, options, budget, statistics).run();
}

}  // namespace tensorpress::model
