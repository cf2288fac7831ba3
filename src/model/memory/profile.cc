#include "model/memory/profile.h"

#include "base/errors.h"
#include "model/graph/operator.h"

namespace tensorpress::model {
namespace {

/// Nodes whose backward pass reads each value, in the order of execution.
std::vector<std::vector<NodeId>> readers(const Graph& graph, const std::vector<Stash>& stashes) {
  std::vector<std::vector<NodeId>> result(graph.values.size());
  for (NodeId i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!graph.is_trained(node)) continue;
    for (const Need& need : node.op->needs({graph, node}, is_split(graph, stashes, i))) {
      std::vector<NodeId>& list = result[graph.viewed(value_of(node, need))];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
  return result;
}

std::string storing_text(const Stash& stash) {
  std::string how = stash.rebuilt ? "rebuild" : (stash.values ? to_text(stash.how) : "");
  if (stash.stores_signs()) how += how.empty() ? "signs" : " + signs";
  return how;
}

std::int64_t bytes_waiting(const Program& program, const Value& value) {
  std::int64_t sum = 0;
  for (const std::string& key : {value.name, stored_part(value.name, "signs").key}) {
    const auto found = program.stored.find(key);
    if (found != program.stored.end()) sum += found->second;
  }
  return sum;
}

ProfiledActivation row_of(const Graph& graph, const Program& program, const Stash& stash,
                          ValueId id, const std::vector<NodeId>& read_by,
                          const StepOptions& options) {
  const Value& value = graph.values[id];
  ProfiledActivation row{.name = value.name};
  row.shape = to_text(value.type);
  row.bytes = bytes(value.type, options.lowering.sizes);
  row.stored_bytes = bytes_waiting(program, value);
  row.storing = storing_text(stash);
  row.op = value.role == Role::input ? "input" : value.role == Role::target ? "target" : "";
  std::size_t made = 0;
  if (value.producer != kNone) {
    const Node& node = graph.nodes[value.producer];
    row.op = node.op->signature().name;
    row.flops = node.op->flops({graph, node}, options.lowering.sizes);
    made = value.producer;
  }
  for (const NodeId reader : read_by) {
    row.needed_by += text(row.needed_by.empty() ? "" : ", ", graph.nodes[reader].name);
  }
  // The backward pass runs in reverse: the first reader reads last.
  if (!read_by.empty()) row.lifetime = 2 * graph.nodes.size() - read_by.front() - made + 1;
  return row;
}

}  // namespace

Result<Profile> profile_step(const Graph& graph, const Policy& policy, const StepOptions& options,
                             const Statistics& statistics) {
  Profile profile;
  profile.policy = policy;
  TRY(const auto stashes, decide(graph, policy, options.lowering.sizes));
  TRY(const Program program, lower(graph, policy, options.lowering));
  TRY(const Program plain, lower(graph, policy_off(), options.lowering));
  profile.memory = step_memory(graph, program, options);
  profile.plain = step_memory(graph, plain, options);
  const auto read_by = readers(graph, stashes);
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (!stashes[id].values && !stashes[id].signs) continue;
    ProfiledActivation row = row_of(graph, program, stashes[id], id, read_by[id], options);
    if (const auto found = statistics.find(row.name); found != statistics.end()) {
      row.zeros = found->second.zeros;
      row.dct_energy = found->second.dct_energy;
      const auto score = found->second.scores.find(to_text(stashes[id].how));
      if (score != found->second.scores.end()) row.score = score->second;
    }
    profile.activations.push_back(std::move(row));
  }
  return profile;
}

}  // namespace tensorpress::model
