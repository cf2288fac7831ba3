#include "model/lowering/lowering.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::model {

Expression Parts::seed_of(Draw purpose, std::size_t id, bool later) {
  lines.program().streams = kDraws * setting.graph.values.size();  // at most as many nodes
  const std::size_t stream = kDraws * id + static_cast<std::size_t>(purpose);
  return (later ? Expression(stored_of_step("seed")) : word("seed")) + stream;
}

Program Lowering::run() {
  const Graph& graph = setting_.graph;
  for (const ValueId id : graph.inputs) {
    parts_.lines.add_input(id);
    parts_.decoder.store(id);
  }
  for (NodeId i = 0; i < graph.nodes.size(); ++i) forward_node(i);
  begin_backward();
  for (NodeId i = graph.nodes.size(); i-- > 0;) {
    backward_node(i);
    for (const auto& [local, parameter] : graph.nodes[i].parameters) {
      parts_.gradients.give_if_complete(parameter, i);
    }
    for (const ValueId input : graph.nodes[i].inputs) parts_.gradients.give_if_complete(input, i);
  }
  Program program = std::move(parts_.lines.program());
  program.find_lifetimes();
  return program;
}

void Lowering::forward_node(NodeId id) {
  const Node& node = setting_.graph.nodes[id];
  Site site(parts_, id, Site::Mode::forward);
  if (setting_.is_lazy(id)) {
    parts_.lines.begin(id);
    parts_.lazy.insert_or_assign(node.outputs[0], node.op->rebuilt_slices(site));
    return;
  }
  parts_.lines.begin_forward(id);
  node.op->forward(site);
  for (const ValueId output : node.outputs) {
    if (setting_.graph.values[output].role != Role::hidden) parts_.decoder.store(output);
  }
  std::set<Name> outputs;
  for (const ValueId output : node.outputs) {
    const bool read = !setting_.graph.values[output].consumers.empty();
    if (read || setting_.graph.is_output(output)) outputs.insert(parts_.lines.name_of(output));
  }
  parts_.lines.end_forward(outputs);
  release_inputs(id);
}

void Lowering::release_inputs(NodeId id) {
  for (const ValueId input : setting_.graph.nodes[id].inputs) {
    const Value& value = setting_.graph.values[input];
    if (parts_.lazy.contains(input)) {
      release_inputs(value.producer);
    } else if (setting_.is_last_use(input, id) && !setting_.graph.is_output(input) &&
               value.role == Role::activation) {
      parts_.lines.release(parts_.lines.name_of(input));
    }
  }
}

void Lowering::begin_backward() {
  const ValueId loss = setting_.graph.loss;
  parts_.lines.program().loss = parts_.lines.name_of(loss).name;
  parts_.lines.begin_backward();
  const Local name = parts_.gradients.name_of_loss(parts_.lines.name_of(loss));
  parts_.lines.define({{name, setting_.graph.values[loss].type}}, word("gradient"), 0,
                      Memory::Kind::gradient);
}

void Lowering::backward_node(NodeId id) {
  const Node& node = setting_.graph.nodes[id];
  const bool trained = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
    return setting_.graph.values[output].needs_gradient && parts_.gradients.has(output);
  });
  if (!trained) return;
  parts_.lines.begin(id);
  parts_.decoder.begin(id);
  Site site(parts_, id, Site::Mode::backward);
  node.op->backward(site);
  for (const ValueId output : node.outputs) parts_.gradients.release(output);
  parts_.decoder.end();
}

// --- The whole -----------------------------------------------------------------------------------

namespace {

// Sums of bytes must fit in 64 bits, with room for copies, gradients, state and scratch.
Result<void> check_bytes(const Graph& graph, const Sizes& sizes) {
  double total = 0;
  bool fits = true;
  for (const Value& value : graph.values) {
    const TensorType& type = value.type;
    fits = fits &&
           (type.sparse ? extent(type.entries, sizes) : elements(type.shape, sizes)) < kMaxElements;
    total += static_cast<double>(bytes(value.type, sizes));
  }
  if (fits && total < static_cast<double>(std::int64_t{1} << 56)) return {};
  std::string given;
  for (const auto& [symbol, size] : sizes) given += text(" ", symbol, " = ", size);
  return too_large("the tensors of model '", graph.name, "' take at least ", rounded(total),
                   " bytes; use smaller numbers than", given);
}

}  // namespace

Result<Program> lower(const Graph& graph, const Policy& policy, const LowerOptions& options) {
  RETURN_IF_ERROR(check_bytes(graph, options.sizes));
  TRY(auto stashes, decide(graph, policy, options.sizes));
  const bool lossy = std::any_of(stashes.begin(), stashes.end(), [](const Stash& stash) {
    return stash.stores_values() && is_lossy(stash.how);
  });
  const Setting setting{graph,          options, std::move(stashes),
                        policy.compact, lossy,   lossy ? policy.waiting_bits : 0};
  return Lowering(setting).run();
}

}  // namespace tensorpress::model
