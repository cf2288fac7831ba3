// What is stored of every value: from what the backward passes of the operators read, to one stored
// copy per value.
#include <algorithm>

#include "base/errors.h"
#include "base/near_names.h"
#include "model/graph/operator.h"
#include "model/lowering/lower.h"
#include "model/policy/levels.h"
#include "model/text/source.h"

namespace tensorpress::model {
namespace {

class Decision {
 public:
  Decision(const Graph& graph, const Policy& policy, const Sizes& sizes)
      : graph_(graph), policy_(policy), sizes_(sizes), stashes_(graph.values.size()) {}

  Result<std::vector<Stash>> run() {
    for (NodeId i = 0; i < graph_.nodes.size(); ++i) mark_node(i);
    for (ValueId id = 0; id < stashes_.size(); ++id) {
      Stash& stash = stashes_[id];
      if (stash.signs && !policy_.compact) stash.values = true;
      if (stash.values) stash.how = storing_for(id);
    }
    if (policy_.compact) {
      for (ValueId id = 0; id < stashes_.size(); ++id) {
        if (stashes_[id].values && wants_rebuilding(id)) rebuild(id);
      }
    }
    RETURN_IF_ERROR(check_entries());
    return std::move(stashes_);
  }

 private:
  const Storing* entry(ValueId id) const {
    const auto found = policy_.by_name.find(graph_.values[id].name);
    return found == policy_.by_name.end() ? nullptr : &found->second;
  }

  /// Large floating activations are stored as the policy says, unless a backward needs them
  /// exactly.
  Storing storing_for(ValueId id) const {
    const Value& value = graph_.values[id];
    if (const Storing* own = entry(id)) return *own;
    if (!policy_.compact || !is_floating(value.type.element)) return {};
    if (stashes_[id].tolerance == Tolerance::exact) return {};
    const std::int64_t size = bytes(value.type, sizes_);
    if (size < policy_.min_bytes) return {};
    if (value.type.shape.size() <= 2 && size <= policy_.exact_2d_bytes) return {};
    // The training loop holds inputs anyway.
    if (value.role == Role::input || value.role == Role::target) return {};
    const Storing& how =
        stashes_[id].tolerance == Tolerance::smooth ? policy_.smooth : policy_.fallback;
    const bool too_small = how.kind == Storing::Kind::chop && !has_planes(value.type);
    return too_small ? levels().small_planes : how;
  }

  bool splits(const Node& node) const {
    if (!policy_.compact || node.outputs.empty()) return false;
    const ValueId last = node.outputs.back();
    return graph_.values[last].role == Role::hidden &&
           storing_for(last).kind != Storing::Kind::keep;
  }

  void mark_node(NodeId i) {
    const Node& node = graph_.nodes[i];
    if (!graph_.is_trained(node)) return;
    for (const Need& need : node.op->needs({graph_, node}, splits(node))) {
      mark(value_of(node, need), need);
    }
  }

  void mark(ValueId id, const Need& need) {
    id = graph_.viewed(id);
    if (graph_.values[id].role == Role::parameter || graph_.values[id].role == Role::buffer) return;
    (need.signs ? stashes_[id].signs : stashes_[id].values) = true;
    if (need.signs) return;
    // An error of a constant would be the same in every step, and there are few of them.
    const Tolerance tolerance = graph_.values[id].constant ? Tolerance::exact : need.tolerance;
    stashes_[id].tolerance = std::min(stashes_[id].tolerance, tolerance);
  }

  bool wants_rebuilding(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.producer == kNone || value.role == Role::hidden) return false;
    const Storing* own = entry(id);
    const Storing::Kind kind = stashes_[id].how.kind;
    if (own ? kind != Storing::Kind::rebuild : kind == Storing::Kind::keep) return false;
    if (stashes_[id].tolerance == Tolerance::exact) return false;
    // A plan that asks for it has weighed what the sources take.
    return available(id, false, 0) || cost_of_sources(id, 0) < own_bytes(id);
  }

  /// What storing a value takes; more than anything else if it is not to be stored.
  std::int64_t own_bytes(ValueId id) const {
    const Storing how = storing_for(id);
    if (how.kind == Storing::Kind::rebuild) return kNever;
    return stored_bytes(how, graph_.values[id].type, sizes_);
  }

  /// Bytes that must be stored besides what is stored anyway so that `id` can be rebuilt.
  std::int64_t cost_of_sources(ValueId id, int depth) const {
    if (++visits_ > kMostVisits) return kNever;
    const Value& value = graph_.values[id];
    const std::vector<Need> needs = sources(id);
    if (needs.empty() || depth > 8) return kNever;
    const Node& node = graph_.nodes[value.producer];
    std::int64_t sum = 0;
    for (const Need& need : needs) {
      if (need.of == Need::Of::output || need.signs) return kNever;
      const ValueId source = node.inputs[need.index];
      const Value& other = graph_.values[source];
      if (available(source, true, depth)) continue;
      if (other.role != Role::activation || graph_.is_view(source)) return kNever;
      sum += std::min(own_bytes(source), cost_of_sources(source, depth + 1));
      if (sum >= kNever) return kNever;
    }
    return sum;
  }

  std::vector<Need> sources(ValueId id) const {
    const Value& value = graph_.values[id];
    if (value.producer == kNone) return {};
    const Node& node = graph_.nodes[value.producer];
    return node.op->rebuild_needs({graph_, node}, splits(node));
  }

  /// Whether the backward pass can have the values of `id` without storing more (except signs).
  bool available(ValueId id, bool stored_counts, int depth) const {
    if (++visits_ > kMostVisits) return false;
    const Value& value = graph_.values[id];
    if (value.role == Role::parameter || value.role == Role::buffer) return true;
    if (stored_counts && stashes_[id].values) return true;
    if (value.producer == kNone || depth > 8) return false;
    const Node& node = graph_.nodes[value.producer];
    if (node.op->is_view()) return available(node.inputs[0], true, depth + 1);
    const std::vector<Need> needs = sources(id);
    return !needs.empty() && std::all_of(needs.begin(), needs.end(), [&](const Need& need) {
      const ValueId source = value_of(node, need);
      return need.signs ? stashes_[source].signs : available(source, true, depth + 1);
    });
  }

  void rebuild(ValueId id) {
    if (graph_.values[id].role == Role::parameter) return;
    stashes_[id].rebuilt = true;
    const Node& node = graph_.nodes[graph_.values[id].producer];
    for (const Need& need : sources(id)) {
      if (need.signs || need.of != Need::Of::input) continue;
      const ValueId source = graph_.viewed(node.inputs[need.index]);
      Stash& stash = stashes_[source];
      if (stash.values || stash.rebuilt || graph_.values[source].producer == kNone) continue;
      if (available(source, false, 0) || cost_of_sources(source, 0) < own_bytes(source)) {
        rebuild(source);
      } else {
        stash.values = true;
        stash.how = storing_for(source);
      }
    }
  }

  std::vector<std::string_view> names() const {
    std::vector<std::string_view> names;
    for (const Value& value : graph_.values) names.push_back(value.name);
    return names;
  }

  Result<void> check_entries() const {
    for (const auto& [name, storing] : policy_.by_name) {
      ValueId id = 0;
      while (id < graph_.values.size() && graph_.values[id].name != name) ++id;
      if (id == graph_.values.size()) {
        return bad_argument("the plan names '", name, "', but model '", graph_.name,
                            "' has no such activation; was the plan made for another model?",
                            did_you_mean(name, names()));
      }
      const Value& value = graph_.values[id];
      if (value.role == Role::parameter || value.role == Role::buffer) {
        return bad_argument("the plan has a rule for '", name, "', which is a ",
                            value.role == Role::buffer ? "buffer" : "parameter",
                            "; rules are for activations");
      }
      if (keeps_values(storing)) continue;
      if (!is_floating(value.type.element)) {
        return bad_argument("the plan asks for ", to_text(storing), " of '", name, "', which is ",
                            to_text(value.type), "; only floating activations can be lossy");
      }
      if (storing.kind == Storing::Kind::chop && !has_planes(value.type)) {
        return bad_argument("the plan asks for ", to_text(storing), " of '", name, "', which is ",
                            to_text(value.type), "; dct-chop is for planes of 8 x 8 or more");
      }
      if (storing.kind == Storing::Kind::rebuild && stashes_[id].values && !stashes_[id].rebuilt) {
        return bad_argument("the plan asks to rebuild '", name,
                            "', but nothing is stored that it could be rebuilt from");
      }
      if (storing.kind != Storing::Kind::rebuild && stashes_[id].values &&
          stashes_[id].tolerance == Tolerance::exact) {
        return bad_argument(
            "the plan asks for ", to_text(storing), " of '", name,
            "', but its gradient would be unsound: an operator that reads it in the "
            "backward pass needs it exactly");
      }
    }
    return {};
  }

  const Graph& graph_;
  const Policy& policy_;
  const Sizes& sizes_;
  std::vector<Stash> stashes_;
  /// Of values while sources are looked for: a concatenation of concatenations has as many as 64 to
  /// the power of its depth. What is left after these is stored and not rebuilt.
  static constexpr std::int64_t kMostVisits = std::int64_t{1} << 20;
  static constexpr std::int64_t kNever = std::int64_t{1} << 62;  // bytes of what is impossible
  mutable std::int64_t visits_ = 0;
};

}  // namespace

Result<std::vector<Stash>> decide(const Graph& graph, const Policy& policy, const Sizes& sizes) {
  return Decision(graph, policy, sizes).run();
}

bool is_split(const Graph& graph, const std::vector<Stash>& stashes, NodeId node) {
  const ValueId last = graph.nodes[node].outputs.back();
  return graph.values[last].role == Role::hidden && stashes[last].values;
}

}  // namespace tensorpress::model
