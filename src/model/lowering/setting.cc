#include "model/lowering/setting.h"

#include <algorithm>
#include <optional>

namespace tensorpress::model {
namespace {

/// Elements that share a scale in packed values; a sample of whole groups can be unpacked alone.
constexpr std::int64_t kGroup = 256;
constexpr int kDeepest = 64;  // nodes that one line may compute slice by slice

/// Of one sample of the batch; 1 if that is not a fixed number.
std::int64_t sample_elements(const Value& value) {
  const std::optional<Dim> sample = product(value.type.shape, 1, value.type.shape.size());
  return sample && sample->known() ? sample->factor : 1;
}

}  // namespace

bool Setting::is_last_use(ValueId id, NodeId node) const {
  const auto& consumers = graph.values[id].consumers;
  return !consumers.empty() && consumers.back() == node;
}

bool Setting::is_only_reader_left(ValueId id, NodeId node) const {
  const Value& value = graph.values[id];
  return value.role == Role::activation && is_last_use(id, node) &&
         std::count(value.consumers.begin(), value.consumers.end(), node) == 1 &&
         !graph.is_output(id);
}

std::set<ValueId> Setting::read_by(NodeId id) const {
  std::set<ValueId> read;
  if (id >= graph.nodes.size()) return read;
  const Node& node = graph.nodes[id];
  for (const Need& need : node.op->needs({graph, node}, is_split(id))) {
    if (!need.signs) read.insert(value_of(node, need));
  }
  return read;
}

std::vector<ValueId> Setting::decoded_from(ValueId id) const {
  const NodeId producer = graph.values[id].producer;
  if (graph.is_view(id)) return {graph.nodes[producer].inputs[0]};
  if (!stashes[id].rebuilt) return {};
  const Node& node = graph.nodes[producer];
  std::vector<ValueId> sources;
  for (const Need& need : node.op->rebuild_needs({graph, node}, is_split(producer))) {
    if (!need.signs) sources.push_back(value_of(node, need));
  }
  return sources;
}

std::set<ValueId> Setting::offloaded_for(NodeId id) const {
  std::set<ValueId> found;
  if (!graph.is_trained(graph.nodes[id])) return found;
  std::set<ValueId> seen = read_by(id);
  std::vector<ValueId> open(seen.begin(), seen.end());
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    const Stash& stash = stashes[value];
    if (stash.stores_values() && stash.how.kind == Storing::Kind::offload) found.insert(value);
    for (const ValueId source : decoded_from(value)) {
      if (seen.insert(source).second) open.push_back(source);
    }
  }
  return found;
}

bool Setting::is_lazy(NodeId id, int depth) const {
  const Node& node = graph.nodes[id];
  if (!sliced() || id + 1 >= graph.nodes.size() || depth > kDeepest) return false;
  if (node.outputs.size() != 1 || !node.op->is_lazy({graph, node})) return false;
  const ValueId output = node.outputs[0];
  const Stash& stash = stashes[output];
  if (stash.stores_values() || stash.stores_signs() || graph.is_output(output) ||
      graph.values[output].consumers != std::vector<NodeId>{id + 1}) {
    return false;
  }
  const Node& next = graph.nodes[id + 1];
  return next.op->reads_slices({graph, next}, options.sizes) || is_lazy(id + 1, depth + 1);
}

bool SlicedValues::contains(ValueId id, int depth) {
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  return known_[id] = find(id, depth);
}

bool SlicedValues::find(ValueId id, int depth) {
  const Value& value = setting_.graph.values[id];
  const Stash& stash = setting_.stashes[id];
  if (!setting_.options.native || value.role == Role::input || depth > kDeepest) return false;
  if (!stash.values && !stash.rebuilt) return false;
  if (stash.rebuilt) {
    const NodeView node = setting_.view(value.producer);
    if (!node.node.op->rebuilds_slices(node)) return false;
    const std::vector<Need> needs =
        node.node.op->rebuild_needs(node, setting_.is_split(value.producer));
    return std::all_of(needs.begin(), needs.end(), [&](const Need& need) {
      return need.signs ? sample_elements(value) % 8 == 0
                        : contains(value_of(node.node, need), depth + 1);
    });
  }
  if (stash.how.kind == Storing::Kind::cast) {
    return stash.how.type == "bf16" || stash.how.type == "f16";
  }
  return stash.how.kind == Storing::Kind::quantize && sample_elements(value) % kGroup == 0;
}

}  // namespace tensorpress::model
