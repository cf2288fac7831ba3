#include "model/planner/offload.h"

#include <algorithm>

#include "model/graph/operator.h"

namespace tensorpress::model {

bool is_product(const NodeView& node, const Sizes& sizes) {
  if (node.node.outputs.empty()) return false;
  constexpr double kFewestFlops = 16;  // of a value that is made: norms and activations take fewer
  return node.node.op->flops(node, sizes) >=
         kFewestFlops * static_cast<double>(elements(node.output().type.shape, sizes));
}

OffloadTimes::OffloadTimes(const Graph& graph, const Sizes& sizes, const HostLink& link,
                           const std::vector<Transfers>& all)
    : graph_(graph), sizes_(sizes), link_(link) {
  for (const Transfers& each : all) {
    ++leaving_[product_after(graph.values[each.value].producer)];
    for (const Fetch& fetch : each.fetches) ++coming_[fetch.during];
  }
}

NodeId OffloadTimes::product_after(NodeId node) const {
  for (NodeId i = node == kNone ? 0 : node + 1; i < graph_.nodes.size(); ++i) {
    if (is_product({graph_, graph_.nodes[i]}, sizes_)) return i;
  }
  return kNone;
}

double OffloadTimes::beyond(double transfer, NodeId product, double passes,
                            const std::map<NodeId, int>& sharing) const {
  if (product == kNone) return transfer;
  const Node& node = graph_.nodes[product];
  const double computing = passes * node.op->flops({graph_, node}, sizes_) / link_.flops_per_second;
  return std::max(0.0, transfer - computing / std::max(1, sharing.at(product)));
}

double OffloadTimes::seconds(const Transfers& transfers) const {
  const Value& value = graph_.values[transfers.value];
  const double once = static_cast<double>(bytes(value.type, sizes_)) / link_.bytes_per_second;
  double sum = beyond(once, product_after(value.producer), 1, leaving_);
  for (const Fetch& fetch : transfers.fetches) sum += beyond(once, fetch.during, 2, coming_);
  return sum;
}

}  // namespace tensorpress::model
