// Which values are computed, decoded and given gradients slice by slice of the batch.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "model/lowering/lowering.h"
#include "model/lowering/packing.h"

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

bool Lowering::is_lazy(NodeId id, int depth) const {
  const Node& node = graph_.nodes[id];
  if (!options_.native || !options_.lossy || id + 1 >= graph_.nodes.size()) return false;
  if (depth > kDeepest) return false;
  if (node.outputs.size() != 1 || !node.op->is_lazy({graph_, node})) return false;
  const ValueId output = node.outputs[0];
  const Stash& stash = stashes_[output];
  if (stash.stores_values() || stash.stores_signs() || graph_.is_output(output) ||
      graph_.values[output].consumers != std::vector<NodeId>{id + 1}) {
    return false;
  }
  const Node& next = graph_.nodes[id + 1];
  return next.op->reads_slices({graph_, next}, options_.sizes) || is_lazy(id + 1, depth + 1);
}

bool Lowering::has_slices(ValueId id, int depth) const {
  const auto known = has_slices_.find(id);
  if (known != has_slices_.end()) return known->second;
  return has_slices_[id] = finds_slices(id, depth);
}

bool Lowering::finds_slices(ValueId id, int depth) const {
  const Value& value = graph_.values[id];
  const Stash& stash = stashes_[id];
  if (!options_.native || value.role == Role::input || depth > kDeepest) return false;
  if (!stash.values && !stash.rebuilt) return false;
  if (stash.rebuilt) {
    const Node& node = graph_.nodes[value.producer];
    if (!node.op->rebuilds_slices({graph_, node})) return false;
    const bool split = is_split(graph_, stashes_, value.producer);
    const std::vector<Need> needs = node.op->rebuild_needs({graph_, node}, split);
    return std::all_of(needs.begin(), needs.end(), [&](const Need& need) {
      return need.signs ? sample_elements(value) % 8 == 0
                        : has_slices(value_of(node, need), depth + 1);
    });
  }
  if (stash.how.kind == Storing::Kind::cast) {
    return stash.how.type == "bf16" || stash.how.type == "f16";
  }
  return stash.how.kind == Storing::Kind::quantize && sample_elements(value) % kGroup == 0;
}

std::string Lowering::decode_slices(ValueId id) {
  if (!has_slices(id) || decoded_.contains(id)) return {};
  const auto known = sliced_.find(id);
  if (known != sliced_.end()) return known->second;
  const Value& value = graph_.values[id];
  const Stash& stash = stashes_[id];
  const std::string name = python_name(value.name + "_slices");
  std::string expression;
  if (stash.rebuilt) {
    Site site(*this, value.producer, Site::Mode::rebuild);
    expression = graph_.nodes[value.producer].op->rebuilt_slices(site);
  } else {
    expression =
        unpack_slices_expression(stash.how, bits_of(id), stored_name(value.name), value.type);
  }
  // It holds what it decodes: the stored bytes live as long as the slices.
  Definition slices{name, value.type, {}, names_in(expression)};
  const auto first = std::find_if(slices.holds.begin(), slices.holds.end(),
                                  [&](const auto& read) { return variables_.contains(read); });
  if (first != slices.holds.end()) slices.shares = *first;
  add_line(text(name, " = ", expression), 0, {slices}, Memory::Kind::activation);
  sliced_[id] = name;
  return name;
}

bool Lowering::takes_slices(ValueId id) const {
  const Value& value = graph_.values[id];
  if (lazy_.contains(id)) {
    const Node& node = graph_.nodes[value.producer];
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return takes_slices(input); });
  }
  const bool again = std::find(sinks_.begin(), sinks_.end(), id) != sinks_.end();
  return value.role == Role::activation && value.needs_gradient && contributions_[id] == 0 &&
         !again;
}

std::string Lowering::gradient_sink(ValueId id, bool leaf) {
  const Value& value = graph_.values[id];
  if (lazy_.contains(id) && takes_slices(id)) {
    Site site(*this, value.producer, Site::Mode::rebuild);
    return graph_.nodes[value.producer].op->gradient_sink(site);
  }
  if (!leaf) return {};
  std::string& name = gradient_names_[id];
  if (name.empty()) name = python_name("d_" + value.name);
  sinks_.push_back(id);
  // In the memory of the gradient that the line reads, of which each slice is read before.
  const ValueId output = graph_.nodes[current_].outputs[0];
  const std::string& read = gradient_names_[output];
  const std::size_t memory = memory_of(read);
  const NodeId lazy = graph_.values[graph_.nodes[current_].inputs[0]].producer;
  const auto& consumers = value.consumers;
  const bool direct = std::find(consumers.begin(), consumers.end(), lazy) != consumers.end();
  if (direct && graph_.values[output].type == value.type && memory != kNone &&
      holders_[memory] == 1) {
    add_line(text(name, " = ", read), 0, {{name, value.type, read}}, Memory::Kind::gradient);
    return name;
  }
  add_line(text(name, " = gradient.new_empty(", to_python(value.type.shape), ")"), 0,
           {{name, value.type}}, Memory::Kind::gradient);
  return name;
}

void Lowering::sinks_given() {
  for (const ValueId id : sinks_) contribute(id, gradient_names_[id], {}, 0);
  sinks_.clear();
}

}  // namespace tensorpress::model
