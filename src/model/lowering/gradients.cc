#include "model/lowering/gradients.h"

#include <algorithm>

#include "base/text.h"
#include "model/lowering/packing.h"
#include "model/lowering/parts.h"
#include "model/program/callees.h"

namespace tensorpress::model {
namespace {

/// A gradient that the next nodes but this many do not touch is packed while it waits, unless it is
/// small.
constexpr NodeId kShortWait = 2;
constexpr std::int64_t kLeastWaiting = std::int64_t{1} << 20;

}  // namespace

Gradients::Gradients(Parts& parts)
    : parts_(parts),
      names_(parts.setting.graph.values.size()),
      contributions_(parts.setting.graph.values.size()),
      first_use_(parts.setting.graph.values.size(), kNone) {
  const std::vector<Node>& nodes = parts.setting.graph.nodes;
  for (NodeId i = nodes.size(); i-- > 0;) {
    for (const ValueId id : nodes[i].inputs) first_use_[id] = i;
    for (const auto& [local, id] : nodes[i].parameters) first_use_[id] = i;
  }
}

const Local& Gradients::name_of(ValueId id) {
  std::optional<Local>& name = names_[id];
  if (!name) name = parts_.lines.fresh("d_" + parts_.setting.graph.values[id].name);
  return *name;
}

const Local& Gradients::name_of_loss(const Local& loss) {
  std::optional<Local>& name = names_[parts_.setting.graph.loss];
  name = parts_.lines.fresh("d_" + loss.name);
  return *name;
}

Memory::Kind Gradients::kind_of(ValueId id) const {
  return parts_.setting.graph.values[id].role == Role::parameter ? Memory::Kind::weight_gradient
                                                                 : Memory::Kind::gradient;
}

Local Gradients::get(ValueId id) {
  end_waiting(id);
  if (!has(id)) {
    const TensorType& type = parts_.setting.graph.values[id].type;
    const Local name = name_of(id);
    parts_.lines.define({{name, type}}, word("gradient").call("new_zeros", type.shape), 0,
                        Memory::Kind::gradient);
  }
  return *names_[id];
}

bool Gradients::may_overwrite(ValueId id) {
  end_waiting(id);
  return has(id) && id != parts_.setting.graph.loss && may_write_to(id);
}

bool Gradients::may_write_to(ValueId id) const {
  if (!parts_.lines.is_alone(*names_[id])) return false;
  const std::size_t memory = parts_.lines.memory_of(*names_[id]);
  const TensorType& type = parts_.setting.graph.values[id].type;
  return parts_.setting.compact ||
         parts_.lines.memory_at(memory).bytes == bytes(type, parts_.setting.options.sizes);
}

void Gradients::release(ValueId id) {
  if (has(id)) parts_.lines.release(*names_[id]);
}

// --- Waiting -------------------------------------------------------------------------------------

bool Gradients::waits_long(ValueId id) const {
  const Value& value = parts_.setting.graph.values[id];
  if (parts_.setting.waiting_bits == 0 || value.role != Role::activation ||
      value.producer == kNone) {
    return false;
  }
  if (bytes(value.type, parts_.setting.options.sizes) < kLeastWaiting) return false;
  const NodeId current = parts_.lines.current();
  NodeId next = value.producer;
  for (const NodeId consumer : value.consumers) {
    const bool again = consumer == current &&
                       std::count(value.consumers.begin(), value.consumers.end(), current) > 1;
    if (again) return false;
    if (consumer < current) next = std::max(next, consumer);
  }
  return current - next > kShortWait;
}

void Gradients::begin_waiting(ValueId id, const Expression& gradient, std::int64_t scratch) {
  const Value& value = parts_.setting.graph.values[id];
  const Storing how{.kind = Storing::Kind::quantize,
                    .bits = parts_.setting.waiting_bits,
                    .stochastic = parts_.setting.options.native};
  const Local name = parts_.lines.fresh(names_[id]->name + "_waiting");
  const Expression seed =
      how.stochastic ? parts_.seed_of(Draw::rounding_of_waiting_gradient, id, true) : none();
  parts_.lines.define({{name, value.type}}, pack_expression(how, how.bits, gradient, seed), scratch,
                      Memory::Kind::gradient);
  parts_.lines.memory_at(parts_.lines.memory_of(name)).bytes =
      stored_bytes(how, value.type, parts_.setting.options.sizes);
  parts_.lines.release(*names_[id]);
  waiting_.insert_or_assign(id, name);
}

void Gradients::end_waiting(ValueId id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const Local packed = found->second;
  waiting_.erase(found);
  const TensorType& type = parts_.setting.graph.values[id].type;
  parts_.lines.define(
      {{*names_[id], type}},
      function("unpack_bits", packed, parts_.setting.waiting_bits, type.shape, dtype_operand(type)),
      0, Memory::Kind::gradient);
  parts_.lines.release(packed);
}

// --- Contributions -------------------------------------------------------------------------------

void Gradients::contribute_first(ValueId id, const Expression& value, std::int64_t scratch) {
  const TensorType& type = parts_.setting.graph.values[id].type;
  const Local name = name_of(id);
  const Name* variable = value.name();
  if (waits_long(id) && variable != nullptr && parts_.lines.knows(*variable)) {
    begin_waiting(id, value, 0);
  } else if (waits_long(id) && !sharing_of(value).none()) {  // a part, which is copied first
    begin_waiting(id, value, bytes(type, parts_.setting.options.sizes));
  } else if (variable == nullptr || *variable != Name(name)) {
    parts_.lines.define({{name, type}}, value, scratch, kind_of(id));
  } else {
    parts_.lines.memory_at(parts_.lines.memory_of(name)).kind = kind_of(id);
  }
}

void Gradients::contribute(ValueId id, const Expression& value, std::int64_t scratch) {
  if (contributions_[id]++ == 0) {
    contribute_first(id, value, scratch);
    return;
  }
  const TensorType& type = parts_.setting.graph.values[id].type;
  const Local name = *names_[id];
  const Name* variable = value.name();
  Name more = name;
  if (variable != nullptr && parts_.lines.knows(*variable)) {
    more = *variable;
  } else {
    more = parts_.lines.fresh(name.name + "_more");
    parts_.lines.define({{more, type}}, value, scratch, kind_of(id));
  }
  const auto waiting = waiting_.find(id);
  if (waiting != waiting_.end()) {
    const bool own = parts_.setting.options.native && is_own_result(more);
    parts_.lines.define({{name, type}},
                        function(own ? "add_unpacked_" : "add_unpacked", more, waiting->second,
                                 parts_.setting.waiting_bits),
                        0, kind_of(id));
    parts_.lines.release(waiting->second);
    waiting_.erase(waiting);
  } else if (may_write_to(id)) {
    parts_.lines.add_to(name, more);
  } else {
    parts_.lines.define({{name, type}}, Expression(name) + more, 0, kind_of(id));
  }
  parts_.lines.release(more);
}

std::optional<Local> Gradients::sum_to_add_to(ValueId id) {
  if (contributions_[id] == 0) return std::nullopt;
  end_waiting(id);
  return may_write_to(id) ? names_[id] : std::nullopt;
}

bool Gradients::is_own_result(const Name& name) const {
  const std::size_t memory = parts_.lines.memory_of(name);
  std::size_t others = parts_.lines.holders_of(memory) - 1;
  const Node& node = parts_.setting.graph.nodes[parts_.lines.current()];
  for (const ValueId output : node.outputs) {
    if (!has(output)) continue;
    const Name gradient = *names_[output];
    if (gradient == name) return false;
    if (parts_.lines.is_held(gradient) && parts_.lines.memory_of(gradient) == memory) --others;
  }
  return others == 0;
}

void Gradients::give_if_complete(ValueId id, NodeId node) {
  const Value& value = parts_.setting.graph.values[id];
  if (value.role != Role::parameter || first_use_[id] != node || contributions_[id] == 0) return;
  contributions_[id] = 0;
  parts_.lines.run(function("give", value.name, *names_[id]));
  parts_.lines.release(*names_[id]);
}

// --- Slices --------------------------------------------------------------------------------------

bool Gradients::takes_slices(ValueId id) const {
  const Value& value = parts_.setting.graph.values[id];
  if (parts_.lazy.contains(id)) {
    const Node& node = parts_.setting.graph.nodes[value.producer];
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return takes_slices(input); });
  }
  const bool again = std::find(sinks_.begin(), sinks_.end(), id) != sinks_.end();
  return value.role == Role::activation && value.needs_gradient && contributions_[id] == 0 &&
         !again;
}

std::optional<Expression> Gradients::sink(ValueId id, bool leaf) {
  const Value& value = parts_.setting.graph.values[id];
  if (parts_.lazy.contains(id) && takes_slices(id)) {
    Site site(parts_, value.producer, Site::Mode::rebuild);
    return parts_.setting.graph.nodes[value.producer].op->gradient_sink(site);
  }
  if (!leaf) return std::nullopt;
  return define_leaf(id);
}

// In the memory of the gradient that the line reads, of which each slice is read before; or new.
Local Gradients::define_leaf(ValueId id) {
  const Graph& graph = parts_.setting.graph;
  const Value& value = graph.values[id];
  const Local name = name_of(id);
  sinks_.push_back(id);
  const Node& node = graph.nodes[parts_.lines.current()];
  const ValueId output = node.outputs[0];
  const NodeId lazy = graph.values[node.inputs[0]].producer;
  const auto& consumers = value.consumers;
  const bool direct = std::find(consumers.begin(), consumers.end(), lazy) != consumers.end();
  const bool fits = direct && graph.values[output].type == value.type && has(output) &&
                    parts_.lines.is_alone(*names_[output]);
  const Expression place =
      fits ? Expression(*names_[output]) : word("gradient").call("new_empty", value.type.shape);
  parts_.lines.define({{name, value.type}}, place, 0, Memory::Kind::gradient);
  return name;
}

void Gradients::sinks_filled() {
  for (const ValueId id : sinks_) contribute(id, name_of(id), 0);
  sinks_.clear();
}

}  // namespace tensorpress::model
