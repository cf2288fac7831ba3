#include "model/device/workload.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "model/graph/operator.h"

namespace tensorpress::model {
namespace {

using devices::SavedTensor;
using devices::Workload;
using devices::WorkloadOperator;

double bytes_of_value(const Value& value, const Sizes& sizes) {
  return static_cast<double>(bytes(value.type, sizes));
}

/// Packing takes about 8 flop a value each way; DCT+Chop two products of n x n planes.
double codec_flops(const Value& value, const ProfiledActivation& row, const Sizes& sizes) {
  if (row.stored_bytes >= row.bytes) return 0;
  const auto count = static_cast<double>(elements(value.type.shape, sizes));
  if (row.storing.find("chop") == std::string::npos || value.type.shape.size() < 2)
    return 16 * count;
  const auto n = static_cast<double>(extent(value.type.shape.back(), sizes));
  const double kept =
      std::sqrt(static_cast<double>(row.stored_bytes) / static_cast<double>(row.bytes));
  return count * 4 * n * kept * (kept + 1);
}

WorkloadOperator operator_of(const Graph& graph, const Node& node, const Sizes& sizes, double batch,
                             std::set<ValueId>& counted) {
  WorkloadOperator made{.name = node.name};
  made.forward_flops = node.op->flops(NodeView{graph, node}, sizes) / batch;
  bool trains = false;
  for (const auto& [name, id] : node.parameters) {
    if (graph.values[id].role != Role::parameter) continue;
    trains = true;
    // Tied parameters belong to the first node that has them.
    if (counted.insert(id).second) made.parameter_bytes += bytes_of_value(graph.values[id], {});
  }
  // Gradients of the input, and of the weights where there are any.
  made.backward_flops = (trains ? 2 : 1) * made.forward_flops;
  double touched = 0;
  for (const ValueId id : node.inputs) {
    touched += bytes_of_value(graph.values[id], sizes);
    const NodeId producer = graph.values[id].producer;
    if (producer != kNone) made.inputs.push_back(producer);
  }
  for (const ValueId id : node.outputs) {
    if (graph.values[id].role == Role::hidden) continue;
    made.output_bytes += bytes_of_value(graph.values[id], sizes) / batch;
  }
  // Forward and the two gradients each read and write once.
  if (!node.op->is_view()) made.moved_bytes = 3 * (touched / batch + made.output_bytes);
  return made;
}

}  // namespace

Workload workload_of(const Graph& graph, const Profile& profile, const StepOptions& options,
                     double batch) {
  const Sizes& sizes = options.lowering.sizes;
  Workload workload{.name = graph.name, .batch = batch};
  workload.parameter_copies = 2 + options.state_per_parameter;  // weights, gradients, state
  std::set<ValueId> counted;
  for (const Node& node : graph.nodes) {
    workload.operators.push_back(operator_of(graph, node, sizes, batch, counted));
  }
  std::map<std::string, const Value*> by_name;
  for (const Value& value : graph.values) by_name[value.name] = &value;
  for (const ProfiledActivation& row : profile.activations) {
    const auto found = by_name.find(row.name);
    if (found == by_name.end() || row.bytes <= 0 || row.stored_bytes <= 0) continue;  // rebuilt
    const Value& value = *found->second;
    SavedTensor saved{.name = row.name};
    saved.bytes = static_cast<double>(row.bytes) / batch;
    saved.made_by = value.producer == kNone ? 0 : value.producer;
    saved.used_by = value.consumers.empty() ? saved.made_by : value.consumers.front();
    saved.codec = row.storing;
    saved.ratio = static_cast<double>(row.bytes) / static_cast<double>(row.stored_bytes);
    saved.codec_flops = codec_flops(value, row, sizes) / batch;
    workload.saved.push_back(std::move(saved));
  }
  return workload;
}

}  // namespace tensorpress::model
