// Values that wait in the host's memory come back one product ahead of the node that reads them:
// the copy over the link can then run while a convolution or a matrix product computes.
#include <algorithm>

#include "model/lowering.h"
#include "model/offload.h"

namespace tensorpress::model {

void Lowering::add_offloaded(ValueId id, std::set<ValueId>& found, int depth) const {
  constexpr int kDeepest = 64;
  while (is_view(id)) id = graph_.nodes[graph_.values[id].producer].inputs[0];
  const Stash& stash = stashes_[id];
  if (!stash.values || depth > kDeepest) return;
  if (!stash.rebuilt) {
    if (stash.how.kind == Storing::Kind::offload) found.insert(id);
    return;
  }
  const NodeId producer = graph_.values[id].producer;
  const Node& node = graph_.nodes[producer];
  for (const Need& need :
       node.op->rebuild_needs({graph_, node}, is_split(graph_, stashes_, producer))) {
    if (need.signs) continue;
    const bool input = need.of == Need::Of::input;
    add_offloaded(input ? node.inputs[need.index] : node.outputs[need.index], found, depth + 1);
  }
}

std::set<ValueId> Lowering::offloaded_for(NodeId id) const {
  std::set<ValueId> found;
  const auto& outputs = graph_.nodes[id].outputs;
  const bool trained = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
    return graph_.values[output].needs_gradient;
  });
  if (!trained) return found;
  for (const ValueId read : read_by(id)) add_offloaded(read, found);
  return found;
}

void Lowering::fetch_ahead(NodeId id) {
  for (const ValueId read : offloaded_for(id)) fetched_.erase(read);
  if (is_product({graph_, graph_.nodes[id]}, options_.sizes)) {
    for (NodeId next = id; next-- > 0;) {
      for (const ValueId ahead : offloaded_for(next)) {
        const bool here = decoded_.contains(ahead);
        decode(ahead);
        if (!here) program_.fetches.back().during = id;
        fetched_.insert(ahead);
      }
      if (is_product({graph_, graph_.nodes[next]}, options_.sizes)) break;
    }
  }
  kept_decoded_.insert(fetched_.begin(), fetched_.end());
}

}  // namespace tensorpress::model
