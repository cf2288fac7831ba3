#include "model/plan_search.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "model/storing_cost.h"

namespace tensorpress::model {
namespace {

using planner::Aim;

/// Bytes at each position, and between the passes.
struct Footprint {
  std::vector<std::int64_t> bytes;
  std::int64_t saved = 0;
};

struct Candidate {
  ValueId value = kNone;
  bool rebuilt = false;  // in the reference plan
  bool hidden = false;
  Storing reference = {};  // in that plan, or where it is rebuilt, what else it would be
  std::vector<Storing> options = {};
  std::vector<Footprint> changes = {};  // of each option, against the reference plan
  std::vector<ValueId> released = {};   // hidden kept: what can then not be rebuilt
};

class Search {
 public:
  Search(const Graph& graph, const StepOptions& options, const Budget& budget,
         const Statistics& statistics)
      : graph_(graph), options_(options), budget_(budget), statistics_(statistics) {}

  Result<PlannedStep> run() {
    TRY(reference_, named_plan("balanced"));
    TRY(const StepMemory plain, lowered(plan_off()));
    plain_ = plain;
    TRY(auto enough, without_codecs());
    if (enough) return std::move(*enough);
    RETURN_IF_ERROR(find_candidates());
    RETURN_IF_ERROR(measure());
    return solve();
  }

 private:
  Result<StepMemory> lowered(const Plan& plan) const {
    TRY(const Program program, lower(graph_, plan, options_.lowering));
    return step_memory(graph_, program, options_);
  }

  Result<Footprint> footprint(const Plan& plan) const {
    TRY(const StepMemory memory, lowered(plan));
    Footprint result{.bytes = {}, .saved = memory.saved_bytes};
    for (const StepPosition& each : memory.positions) result.bytes.push_back(each.total());
    return result;
  }

  std::int64_t most_saved() const {
    return static_cast<std::int64_t>(
        std::floor(static_cast<double>(plain_.saved_bytes) / budget_.ratio.value_or(1)));
  }

  bool within_budget(const StepMemory& memory) const {
    return (!budget_.peak_bytes || memory.peak_bytes() <= *budget_.peak_bytes) &&
           (!budget_.ratio || memory.saved_bytes <= most_saved());
  }

  /// Exact compact forms alone, if they are enough: nothing is lost and hardly any time.
  Result<std::optional<PlannedStep>> without_codecs() {
    if (!budget_.peak_bytes && !budget_.ratio) return std::optional<PlannedStep>();
    TRY(const Plan lossless, named_plan("lossless"));
    TRY(StepMemory memory, lowered(lossless));
    if (!within_budget(memory)) return std::optional<PlannedStep>();
    PlannedStep planned;
    planned.plan = lossless;
    planned.memory = std::move(memory);
    planned.plain_saved_bytes = plain_.saved_bytes;
    planned.plain_peak_bytes = plain_.peak_bytes();
    planned.proven_best = true;
    return std::optional(std::move(planned));
  }

  Result<void> find_candidates() {
    TRY(const auto stashes, decide(graph_, reference_, options_.lowering.sizes));
    for (ValueId id = 0; id < stashes.size(); ++id) {
      const Stash& stash = stashes[id];
      if (!stash.values || stash.tolerance == Tolerance::exact ||
          stash.how.kind != Storing::Kind::quantize) {
        continue;
      }
      Candidate candidate{.value = id, .rebuilt = stash.rebuilt};
      candidate.hidden = graph_.values[id].role == Role::hidden;
      candidate.reference = stash.how;
      candidate.options.emplace_back();  // keep
      for (const Storing& level : storing_levels()) {
        // What a smooth function of enters the gradients is not stored in two bits.
        const bool coarse = level.kind == Storing::Kind::quantize && level.bits < 4;
        if (stash.tolerance == Tolerance::smooth && coarse) continue;
        candidate.options.push_back(level);
      }
      if (stash.rebuilt) {
        Storing rebuild;
        rebuild.kind = Storing::Kind::rebuild;
        candidate.options.push_back(rebuild);
      }
      candidates_.push_back(std::move(candidate));
    }
    return {};
  }

  const std::string& name_of(const Candidate& candidate) const {
    return graph_.values[candidate.value].name;
  }

  static Footprint difference(const Footprint& one, const Footprint& other) {
    Footprint result{.bytes = one.bytes, .saved = one.saved - other.saved};
    for (std::size_t t = 0; t < result.bytes.size(); ++t) result.bytes[t] -= other.bytes[t];
    return result;
  }

  /// `first` and what is `share` of the way from it to `second`.
  static Footprint between(const Footprint& first, const Footprint& second, double share) {
    const auto mixed = [&](std::int64_t a, std::int64_t b) {
      return a + static_cast<std::int64_t>(std::llround(share * static_cast<double>(b - a)));
    };
    Footprint result{.bytes = {}, .saved = mixed(first.saved, second.saved)};
    for (std::size_t t = 0; t < first.bytes.size(); ++t) {
      result.bytes.push_back(mixed(first.bytes[t], second.bytes[t]));
    }
    return result;
  }

  /// Lowers what is different in kind; levels of the same kind lie on the line through two of them,
  /// because only the size of one stored piece changes.
  Result<void> measure() {
    TRY(base_, footprint(reference_));
    const Footprint nothing{.bytes = std::vector<std::int64_t>(base_.bytes.size()), .saved = 0};
    // What a rebuilt value holds when it is stored, for the kept hidden values below.
    std::map<ValueId, Footprint> stored_rebuilt;
    for (Candidate& candidate : candidates_) {
      const TensorType& type = graph_.values[candidate.value].type;
      const auto size = [&](const Storing& storing) {
        return static_cast<double>(stored_bytes(storing, type, options_.lowering.sizes));
      };
      const Storing& one = candidate.reference;
      Storing other = one;
      other.bits = one.bits == 8 ? 4 : 8;
      Footprint at_one = nothing;
      if (candidate.rebuilt) {
        TRY(at_one, change_by(candidate, one));
        stored_rebuilt[candidate.value] = at_one;
      }
      TRY(const Footprint at_other, change_by(candidate, other));
      for (const Storing& option : candidate.options) {
        if (option.kind == Storing::Kind::rebuild) {
          candidate.changes.push_back(nothing);
        } else if (option.kind == Storing::Kind::keep) {
          candidate.changes.emplace_back();  // below
        } else {
          const double span = size(other) - size(one);
          const double share = span != 0 ? (size(option) - size(one)) / span : 0;
          candidate.changes.push_back(between(at_one, at_other, share));
        }
      }
    }
    for (Candidate& candidate : candidates_) {
      TRY(candidate.changes[0], change_by_keeping(candidate, stored_rebuilt));
    }
    return {};
  }

  Result<Footprint> change_by(const Candidate& candidate, const Storing& storing) const {
    Plan plan = reference_;
    plan.by_name[name_of(candidate)] = storing;
    TRY(const Footprint changed, footprint(plan));
    return difference(changed, base_);
  }

  /// Keeping a normalized value means that its operator keeps its input, and that values that would
  /// be rebuilt from it are stored; those have their own choice, so their share is taken out.
  Result<Footprint> change_by_keeping(Candidate& candidate,
                                      const std::map<ValueId, Footprint>& stored_rebuilt) const {
    Plan plan = reference_;
    add_entries(plan, candidate, {});
    TRY(const auto before, decide(graph_, reference_, options_.lowering.sizes));
    TRY(const auto after, decide(graph_, plan, options_.lowering.sizes));
    for (ValueId id = 0; id < after.size(); ++id) {
      if (before[id].rebuilt && !after[id].rebuilt && id != candidate.value) {
        candidate.released.push_back(id);
      }
    }
    TRY(const Footprint changed, footprint(plan));
    Footprint change = difference(changed, base_);
    for (const ValueId id : candidate.released) {
      const auto found = stored_rebuilt.find(id);
      if (found != stored_rebuilt.end()) change = difference(change, found->second);
    }
    return change;
  }

  void add_entries(Plan& plan, const Candidate& candidate, const Storing& storing) const {
    plan.by_name[name_of(candidate)] = storing;
    if (!candidate.hidden || storing.kind != Storing::Kind::keep) return;
    const Node& node = graph_.nodes[graph_.values[candidate.value].producer];
    const std::string& input = graph_.values[node.inputs[0]].name;
    plan.by_name.try_emplace(input, storing);
  }

  std::optional<double> measured_score(const std::string& name, const Storing& storing) const {
    const auto activation = statistics_.find(name);
    if (activation == statistics_.end()) return {};
    const auto score = activation->second.scores.find(to_text(storing));
    if (score == activation->second.scores.end()) return {};
    return score->second;
  }

  StoringCost cost_of(const Candidate& candidate, const Storing& storing) const {
    const std::string& name = name_of(candidate);
    const std::int64_t size = bytes(graph_.values[candidate.value].type, options_.lowering.sizes);
    return storing_cost(storing, size, measured_score(name, storing));
  }

  /// Changes as bytes above the least that any option leaves, which joins the base.
  planner::Problem problem() {
    planner::Problem problem;
    std::vector<std::int64_t> base = base_.bytes;
    saved_base_ = base_.saved;
    for (const Candidate& candidate : candidates_) {
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
    // Equal times of equal tensors make the last percent of a proof endless.
    request.search = {.relative_gap = 2e-3, .nodes = 200, .seconds = 3};
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

  Plan plan_of(const planner::Choice& choice) const {
    Plan plan = reference_;
    plan.name = "planned";
    for (std::size_t a = 0; a < candidates_.size(); ++a) {
      plan.by_name[name_of(candidates_[a])] = candidates_[a].options[choice[a]];
    }
    for (std::size_t a = 0; a < candidates_.size(); ++a) {
      add_entries(plan, candidates_[a], candidates_[a].options[choice[a]]);
    }
    return plan;
  }

  Result<PlannedStep> solve() {
    const planner::Problem problem = this->problem();
    planner::Request request = this->request();
    std::int64_t peak_over = 0;
    std::int64_t saved_over = 0;
    for (int searches = 1;; ++searches) {
      if (budget_.peak_bytes) request.limits.peak_bytes = *budget_.peak_bytes - peak_over;
      if (budget_.ratio) request.limits.stored_bytes = most_saved() - saved_base_ - saved_over;
      TRY(const planner::Plan found, planner::solve(problem, request));
      if (found.outcome != planner::Plan::Outcome::planned) return too_tight(found);
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
    planned.plan = plan_of(choice);
    TRY(planned.memory, lowered(planned.plan));
    planned.plain_saved_bytes = plain_.saved_bytes;
    planned.plain_peak_bytes = plain_.peak_bytes();
    double scores = 0;
    for (std::size_t a = 0; a < candidates_.size(); ++a) {
      const Storing& storing = candidates_[a].options[choice[a]];
      const StoringCost cost = cost_of(candidates_[a], storing);
      const TensorType& type = graph_.values[candidates_[a].value].type;
      planned.choices.push_back({name_of(candidates_[a]), storing,
                                 stored_bytes(storing, type, options_.lowering.sizes), cost.score});
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

  Error too_tight(const planner::Plan& closest) const {
    if (closest.choice.size() != candidates_.size()) {
      return bad_argument("model '", graph_.name, "': ", closest.reason);
    }
    const auto lowered = lowered_choice(closest.choice);
    if (!lowered.ok()) return lowered.error();
    return too_tight_when_lowered(*lowered);
  }

  Error too_tight_when_lowered(const PlannedStep& closest) const {
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
    }
    if (budget_.ratio && closest.memory.saved_bytes > most_saved()) {
      sentence += text(" The largest ratio of saved bytes found is ", rounded(ratio, 4), ", not ",
                       rounded(*budget_.ratio, 4), ".");
    }
    if (budget_.min_score || budget_.mean_score) sentence += " A lower score would allow more.";
    return bad_argument(sentence);
  }

  static std::string human_of(std::int64_t bytes) {
    return human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
  }

  const Graph& graph_;
  const StepOptions& options_;
  const Budget& budget_;
  const Statistics& statistics_;
  Plan reference_;
  StepMemory plain_;
  std::vector<Candidate> candidates_;
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
    return bad_argument("a peak of ", *budget.peak_bytes, " bytes is not possible");
  }
  return Search(graph, options, budget, statistics).run();
}

}  // namespace tensorpress::model
