#include "model/memory/profile.h"

#include <algorithm>

#include "base/errors.h"
#include "model/graph/operator.h"
#include "report/drawing/numbers.h"

namespace tensorpress::model {
namespace {

std::string human(std::int64_t bytes) {
  return human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

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

report::ActivationRow row_of(const Graph& graph, const Program& program, const Stash& stash,
                             ValueId id, const std::vector<NodeId>& read_by,
                             const StepOptions& options) {
  const Value& value = graph.values[id];
  report::ActivationRow row{.name = value.name};
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

Result<Profile> profile_step(const Graph& graph, const Plan& plan, const StepOptions& options,
                             const Statistics& statistics) {
  Profile profile;
  profile.plan = plan;
  TRY(const auto stashes, decide(graph, plan, options.lowering.sizes));
  TRY(const Program program, lower(graph, plan, options.lowering));
  TRY(const Program plain, lower(graph, plan_off(), options.lowering));
  profile.memory = step_memory(graph, program, options);
  profile.plain = step_memory(graph, plain, options);
  const auto read_by = readers(graph, stashes);
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    if (!stashes[id].values && !stashes[id].signs) continue;
    report::ActivationRow row = row_of(graph, program, stashes[id], id, read_by[id], options);
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

report::MemoryTimeline timeline_of(const StepMemory& memory, const std::string& title) {
  report::MemoryTimeline timeline{
      .title = title,
      .layers = {"weights", "optimizer state", "inputs", "weight gradients", "saved activations",
                 "working activations", "their gradients", "scratch"}};
  timeline.first_backward = memory.first_backward;
  for (const StepPosition& each : memory.positions) {
    timeline.positions.push_back({each.name,
                                  {each.parameters, each.state, each.inputs, each.weight_gradients,
                                   each.saved, each.activations, each.gradients, each.scratch}});
  }
  return timeline;
}

report::MemoryPage page_of(const Graph& graph, const Profile& profile, const StepOptions& options) {
  std::string sizes;
  for (const auto& [symbol, size] : options.lowering.sizes) {
    sizes += text(sizes.empty() ? "" : ", ", symbol, " = ", size);
  }
  const double ratio = static_cast<double>(profile.plain.saved_bytes) /
                       static_cast<double>(std::max<std::int64_t>(profile.memory.saved_bytes, 1));
  report::MemoryPage page{.title = text("Memory of a training step of ", graph.name)};
  page.facts.push_back(text(
      sizes.empty() ? "" : sizes + ". ", "Predicted from the lines of the emitted step with plan ",
      profile.plan.name, ": peak ", human(profile.memory.peak_bytes()), " at ",
      profile.memory.positions[profile.memory.peak].name, "; ", human(profile.memory.saved_bytes),
      " wait between the passes, where autograd keeps ", human(profile.plain.saved_bytes), " (",
      report::fixed(ratio, 2), " times)."));
  page.timelines.push_back(timeline_of(profile.memory, text("Plan ", profile.plan.name)));
  if (profile.plan.name != "off") {
    page.timelines.push_back(timeline_of(profile.plain, "Plan off: what autograd keeps"));
    const std::int64_t most = std::max(profile.memory.peak_bytes(), profile.plain.peak_bytes());
    for (report::MemoryTimeline& each : page.timelines) each.scale_bytes = most;
  }
  page.activations = profile.activations;
  return page;
}

}  // namespace tensorpress::model
