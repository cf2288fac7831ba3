#include "model/memory/step_memory.h"

#include <set>

#include "base/text.h"

namespace tensorpress::model {
namespace {

std::int64_t trained_bytes(const Graph& graph) {
  std::int64_t sum = 0;
  for (const ValueId id : graph.parameters) sum += bytes(graph.values[id].type, {});
  return sum;
}

std::int64_t kind_of(const Moment& moment, Memory::Kind kind) {
  return moment.by_kind[static_cast<std::size_t>(kind)];
}

/// Each piece once, though several names may keep it.
std::int64_t saved_between_passes(const Program& program) {
  std::set<std::size_t> seen;
  std::int64_t sum = 0;
  for (const Variable& variable : program.variables) {
    const Memory& memory = program.memories[variable.memory];
    if (!variable.is_stored() || memory.kind == Memory::Kind::input) continue;
    if (seen.insert(variable.memory).second) sum += memory.bytes;
  }
  return sum;
}

}  // namespace

StepMemory step_memory(const Graph& graph, const Program& program, const StepOptions& options) {
  const std::size_t nodes = graph.nodes.size();
  StepMemory memory;
  memory.first_backward = nodes;
  memory.saved_bytes = saved_between_passes(program);
  memory.positions.resize(2 * nodes + 1);
  std::vector<bool> seen(memory.positions.size(), false);
  const std::vector<Moment> moments = program.moments();
  const std::int64_t parameters = parameter_bytes(graph);
  const std::int64_t state = options.state_per_parameter * trained_bytes(graph);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const bool backward = i >= program.forward.size();
    const Line& line = backward ? program.backward[i - program.forward.size()] : program.forward[i];
    std::size_t at = backward ? nodes : 0;  // lines before the first node of a pass
    if (line.node != kNone) at = backward ? 2 * nodes - line.node : line.node;
    const StepPosition here{.name = {},
                            .node = line.node,
                            .parameters = parameters,
                            .state = state,
                            .inputs = kind_of(moments[i], Memory::Kind::input),
                            .weight_gradients = kind_of(moments[i], Memory::Kind::weight_gradient),
                            .saved = kind_of(moments[i], Memory::Kind::stored),
                            .activations = kind_of(moments[i], Memory::Kind::activation),
                            .gradients = kind_of(moments[i], Memory::Kind::gradient),
                            .scratch = moments[i].scratch};
    if (!seen[at] || here.total() > memory.positions[at].total()) memory.positions[at] = here;
    seen[at] = true;
  }
  for (std::size_t t = 0; t < memory.positions.size(); ++t) {
    // A view runs no line: it finds what the node before it left.
    if (!seen[t] && t > 0) memory.positions[t] = memory.positions[t - 1];
    StepPosition& position = memory.positions[t];
    position.node = t < nodes ? t : (t == nodes ? kNone : 2 * nodes - t);
    position.name = t == nodes ? "start of backward"
                               : text(t < nodes ? "forward of " : "backward of ",
                                      graph.nodes[position.node].name);
    if (position.total() > memory.positions[memory.peak].total()) memory.peak = t;
  }
  return memory;
}

}  // namespace tensorpress::model
