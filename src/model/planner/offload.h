// What it costs to let an activation wait in the host's memory. The link to the host carries one
// activation at a time and runs beside the computing: an activation leaves while the next product
// after its node computes, and comes back while the product before its reader does (backward takes
// twice the operations of forward). That product's time is shared equally by all activations that
// could be sent then; what a transfer takes beyond its share is added to the step.
#pragma once

#include <map>
#include <vector>

#include "model/graph/graph.h"
#include "model/program/program.h"

namespace tensorpress::model {

struct HostLink {
  double bytes_per_second = 0;
  double flops_per_second = 5e10;  // of the device: one core of an EPYC 7003, as in storing_cost.cc
};

/// Convolutions and matrix products, which take long enough to hide a transfer.
bool is_product(const NodeView& node, const Sizes& sizes);

/// An activation that could be offloaded: its value and when it would come back.
struct Transfers {
  ValueId value = kNone;
  std::vector<Fetch> fetches = {};
};

class OffloadTimes {
 public:
  OffloadTimes(const Graph& graph, const Sizes& sizes, const HostLink& link,
               const std::vector<Transfers>& all);
  /// Seconds that a step takes longer.
  double seconds(const Transfers& transfers) const;

 private:
  NodeId product_after(NodeId node) const;
  /// What of `transfer` seconds is left when a product has run, whose time `sharing` have claims
  /// on.
  double beyond(double transfer, NodeId product, double passes,
                const std::map<NodeId, int>& sharing) const;

  const Graph& graph_;
  const Sizes& sizes_;
  HostLink link_;
  std::map<NodeId, int> leaving_;  // product -> activations that it could hide
  std::map<NodeId, int> coming_;
};

}  // namespace tensorpress::model
