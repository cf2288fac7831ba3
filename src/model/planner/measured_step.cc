#include "model/planner/measured_step.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/errors.h"

namespace tensorpress::model {
namespace {

Storing of_kind(Storing::Kind kind) {
  Storing storing;
  storing.kind = kind;
  return storing;
}

Footprint difference(const Footprint& one, const Footprint& other) {
  Footprint result{.bytes = one.bytes, .saved = one.saved - other.saved};
  for (std::size_t t = 0; t < result.bytes.size(); ++t) result.bytes[t] -= other.bytes[t];
  return result;
}

/// `first` and what is `share` of the way from it to `second`.
Footprint between(const Footprint& first, const Footprint& second, double share) {
  const auto mixed = [&](std::int64_t a, std::int64_t b) {
    return a + static_cast<std::int64_t>(std::llround(share * static_cast<double>(b - a)));
  };
  Footprint result{.bytes = {}, .saved = mixed(first.saved, second.saved)};
  for (std::size_t t = 0; t < first.bytes.size(); ++t) {
    result.bytes.push_back(mixed(first.bytes[t], second.bytes[t]));
  }
  return result;
}

class Measuring {
 public:
  Measuring(const Graph& graph, const Policy& reference, const StepOptions& options,
            const std::vector<Storing>& levels, bool offload, const std::set<std::string>& known)
      : graph_(graph),
        reference_(reference),
        options_(options),
        levels_(levels),
        offload_(offload),
        known_(known) {}

  Result<MeasuredStep> run() {
    TRY(stashes_, decide(graph_, reference_, options_.lowering.sizes));
    for (ValueId id = 0; id < stashes_.size(); ++id) find_options(id);
    RETURN_IF_ERROR(measure());
    return std::move(result_);
  }

 private:
  void find_options(ValueId id) {
    const Stash& stash = stashes_[id];
    const Value& value = graph_.values[id];
    if (!stash.values) return;
    MeasuredActivation candidate{.value = id, .rebuilt = stash.rebuilt, .reference = stash.how};
    candidate.hidden = value.role == Role::hidden;
    candidate.options.emplace_back();  // keep
    const bool lossy =
        stash.tolerance != Tolerance::exact && stash.how.kind == Storing::Kind::quantize;
    for (const Storing& level : levels_) {
      // What a smooth function of enters the gradients is not stored in two or three bits unseen.
      const bool coarse = level.kind == Storing::Kind::quantize && level.bits < 4;
      const bool unseen = stash.tolerance == Tolerance::smooth && !known_.contains(value.name);
      if (lossy && !(unseen && coarse)) {
        candidate.options.push_back(level);
      }
    }
    const bool ours = value.role == Role::activation || candidate.hidden;
    if (offload_ && ours && bytes(value.type, options_.lowering.sizes) >= reference_.min_bytes) {
      candidate.options.push_back(of_kind(Storing::Kind::offload));
    }
    if (lossy && stash.rebuilt) candidate.options.push_back(of_kind(Storing::Kind::rebuild));
    if (candidate.options.size() > 1) result_.candidates.push_back(std::move(candidate));
  }

  Result<Program> lowered(const Policy& policy) const {
    return lower(graph_, policy, options_.lowering);
  }

  Footprint footprint(const Program& program) const {
    const StepMemory memory = step_memory(graph_, program, options_);
    Footprint result{.bytes = {}, .saved = memory.saved_bytes};
    for (const StepPosition& each : memory.positions) result.bytes.push_back(each.total());
    return result;
  }

  /// Lowers what is different in kind; levels of the same kind lie on the line through two of them,
  /// because only the size of one stored piece changes.
  Result<void> measure() {
    TRY(const Program program, lowered(reference_));
    result_.base = footprint(program);
    nothing_.bytes.assign(result_.base.bytes.size(), 0);
    for (MeasuredActivation& candidate : result_.candidates) {
      if (candidate.reference.kind == Storing::Kind::quantize) {
        RETURN_IF_ERROR(measure_levels(candidate));
      } else {
        candidate.changes.assign(candidate.options.size(), nothing_);
      }
      for (std::size_t o = 0; o < candidate.options.size(); ++o) {
        if (candidate.options[o].kind != Storing::Kind::offload) continue;
        TRY(candidate.changes[o], change_by_offloading(candidate, candidate.options[o]));
      }
    }
    for (MeasuredActivation& candidate : result_.candidates) {
      if (candidate.reference.kind == Storing::Kind::keep) continue;
      TRY(candidate.changes[0], change_by_keeping(candidate));
    }
    return {};
  }

  Result<void> measure_levels(MeasuredActivation& candidate) {
    const TensorType& type = graph_.values[candidate.value].type;
    const auto size = [&](const Storing& storing) {
      return static_cast<double>(stored_bytes(storing, type, options_.lowering.sizes));
    };
    const Storing& one = candidate.reference;
    Storing other = one;
    other.bits = one.bits == 8 ? 4 : 8;
    Footprint at_one = nothing_;
    if (candidate.rebuilt) {
      TRY(at_one, change_by(candidate, one));
      stored_rebuilt_[candidate.value] = at_one;
    }
    TRY(const Footprint at_other, change_by(candidate, other));
    for (const Storing& option : candidate.options) {
      const bool level =
          option.kind == Storing::Kind::quantize || option.kind == Storing::Kind::cast;
      const double span = size(other) - size(one);
      const double share = span != 0 ? (size(option) - size(one)) / span : 0;
      candidate.changes.push_back(level ? between(at_one, at_other, share) : nothing_);
    }
    return {};
  }

  Result<Footprint> change_by(const MeasuredActivation& candidate, const Storing& storing) const {
    Policy policy = reference_;
    policy.by_name[graph_.values[candidate.value].name] = storing;
    TRY(const Program program, lowered(policy));
    return difference(footprint(program), result_.base);
  }

  Result<Footprint> change_by_offloading(MeasuredActivation& candidate,
                                         const Storing& storing) const {
    const std::string& name = graph_.values[candidate.value].name;
    Policy policy = reference_;
    policy.by_name[name] = storing;
    TRY(const Program program, lowered(policy));
    candidate.fetches = program.fetches;
    return difference(footprint(program), result_.base);
  }

  /// Values that would be rebuilt from a kept normalized value are stored; those have their own
  /// choice, so their share is taken out.
  Result<Footprint> change_by_keeping(MeasuredActivation& candidate) const {
    Policy policy = reference_;
    add_entries(policy, graph_, candidate, {});
    TRY(const auto after, decide(graph_, policy, options_.lowering.sizes));
    for (ValueId id = 0; id < after.size(); ++id) {
      if (stashes_[id].rebuilt && !after[id].rebuilt && id != candidate.value) {
        candidate.released.push_back(id);
      }
    }
    TRY(const Program program, lowered(policy));
    Footprint change = difference(footprint(program), result_.base);
    for (const ValueId id : candidate.released) {
      const auto found = stored_rebuilt_.find(id);
      if (found != stored_rebuilt_.end()) change = difference(change, found->second);
    }
    return change;
  }

  const Graph& graph_;
  const Policy& reference_;
  const StepOptions& options_;
  const std::vector<Storing>& levels_;
  bool offload_;
  const std::set<std::string>& known_;
  std::vector<Stash> stashes_;
  MeasuredStep result_;
  Footprint nothing_;
  std::map<ValueId, Footprint> stored_rebuilt_;  // what a rebuilt value holds when it is stored
};

}  // namespace

Result<MeasuredStep> measure_step(const Graph& graph, const Policy& reference,
                                  const StepOptions& options, const std::vector<Storing>& levels,
                                  bool offload, const std::set<std::string>& known) {
  return Measuring(graph, reference, options, levels, offload, known).run();
}

void add_entries(Policy& policy, const Graph& graph, const MeasuredActivation& candidate,
                 const Storing& storing) {
  policy.by_name[graph.values[candidate.value].name] = storing;
  if (!candidate.hidden || storing.kind != Storing::Kind::keep) return;
  const Node& node = graph.nodes[graph.values[candidate.value].producer];
  policy.by_name.try_emplace(graph.values[node.inputs[0]].name, storing);
}

}  // namespace tensorpress::model
