// Values that wait in the host's memory come back one product ahead of the node that reads them:
// the copy over the link can then run while a convolution or a matrix product computes.
#include "model/planner/offload.h"
#include "model/lowering/lowering.h"

namespace tensorpress::model {

std::set<ValueId> Lowering::offloaded_for(NodeId id) const {
  std::set<ValueId> found;
  if (!graph_.is_trained(graph_.nodes[id])) return found;
  std::set<ValueId> seen = read_by(id);
  std::vector<ValueId> open(seen.begin(), seen.end());
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    const Stash& stash = stashes_[value];
    if (stash.stores_values() && stash.how.kind == Storing::Kind::offload) found.insert(value);
    for (const ValueId source : decoded_from(value)) {
      if (seen.insert(source).second) open.push_back(source);
    }
  }
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
