#include "model/graph/graph.h"

#include <algorithm>

#include "model/graph/operator.h"

namespace tensorpress::model {

void Attributes::set(std::string name, Attribute value) {
  all_.emplace_back(std::move(name), std::move(value));
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const auto& [key, value] : all_) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool Attributes::has(std::string_view name) const {
  const Attribute* found = find(name);
  return found != nullptr && !std::holds_alternative<std::monostate>(*found);
}

std::int64_t Attributes::integer(std::string_view name) const {
  const Attribute* found = find(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<std::int64_t>(found);
  return value == nullptr ? 0 : *value;
}

double Attributes::number(std::string_view name) const {
  const Attribute* found = find(name);
  if (found == nullptr) return 0;
  if (const auto* whole = std::get_if<std::int64_t>(found)) return static_cast<double>(*whole);
  const auto* value = std::get_if<double>(found);
  return value == nullptr ? 0 : *value;
}

bool Attributes::flag(std::string_view name) const {
  const Attribute* found = find(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<bool>(found);
  return value != nullptr && *value;
}

const std::string& Attributes::word(std::string_view name) const {
  static const std::string kEmpty;
  const Attribute* found = find(name);
  const auto* value = found == nullptr ? nullptr : std::get_if<std::string>(found);
  return value == nullptr ? kEmpty : *value;
}

std::vector<std::int64_t> Attributes::integers(std::string_view name, std::size_t count) const {
  const Attribute* found = find(name);
  if (found == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(found)) return *list;
  if (const auto* one = std::get_if<std::int64_t>(found)) return std::vector(count, *one);
  return {};
}

std::vector<double> Attributes::numbers(std::string_view name) const {
  const Attribute* found = find(name);
  if (found == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<double>>(found)) return *list;
  std::vector<double> all;
  for (const std::int64_t each : integers(name)) all.push_back(static_cast<double>(each));
  return all;
}

const Value* NodeView::parameter(std::string_view name) const {
  for (const auto& [local, id] : node.parameters) {
    if (local == name) return &graph.values[id];
  }
  return nullptr;
}

bool Graph::is_output(ValueId id) const {
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

bool Graph::is_trained(const Node& node) const {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return values[id].needs_gradient; });
}

bool Graph::is_view(ValueId id) const {
  const NodeId producer = values[id].producer;
  return producer != kNone && nodes[producer].op->is_view();
}

ValueId Graph::viewed(ValueId id) const {
  while (is_view(id)) id = nodes[values[id].producer].inputs[0];
  return id;
}

std::string batch_symbol(const Graph& graph) {
  if (graph.inputs.empty()) return {};
  const auto target = std::ranges::find_if(
      graph.inputs, [&](ValueId id) { return graph.values[id].role == Role::target; });
  const ValueId id = target == graph.inputs.end() ? graph.inputs[0] : *target;
  const Shape& shape = graph.values[id].type.shape;
  return shape.empty() || shape[0].known() ? std::string() : shape[0].symbol;
}

Sizes complete_sizes(const Graph& graph, const Sizes& given, std::int64_t others) {
  Sizes sizes = given;
  for (const ValueId id : graph.inputs) {
    for (const Dim& each : graph.values[id].type.shape) {
      if (!each.known()) sizes.try_emplace(each.symbol, others);
    }
  }
  for (const ValueId id : graph.inputs) {
    const TensorType& type = graph.values[id].type;
    if (!type.sparse || type.entries.known()) continue;
    const std::int64_t rows = extent(type.shape[0], sizes);
    sizes.try_emplace(type.entries.symbol, std::min(kUsualEntries * rows, kMaxElements));
  }
  return sizes;
}

std::int64_t parameter_bytes(const Graph& graph) {
  std::int64_t total = 0;
  for (const auto* ids : {&graph.parameters, &graph.buffers}) {
    for (const ValueId id : *ids) total += bytes(graph.values[id].type, {});
  }
  return total;
}

}  // namespace tensorpress::model
