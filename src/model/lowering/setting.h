// What does not change while the lines of a step are made: the graph, the options, and what is
// stored of every value. Questions about it that need nothing else are answered here.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "model/graph/operator.h"
#include "model/lowering/lower.h"

namespace tensorpress::model {

struct Setting {
  const Graph& graph;
  const LowerOptions& options;
  std::vector<Stash> stashes;  // of each value
  bool compact = false;  // the policy asks for exact compact forms: seeds for masks, small indices
  bool lossy = false;    // some activation is stored with an error
  int waiting_bits = 0;  // of gradients that wait long; 0: as they are

  /// The step is lossy anyway and the package packs: operators may work on slices of the batch,
  /// which can round differently.
  bool sliced() const { return options.native && lossy; }
  bool is_split(NodeId node) const { return model::is_split(graph, stashes, node); }
  NodeView view(NodeId node) const { return {graph, graph.nodes[node]}; }
  /// No node after this one reads the value.
  bool is_last_use(ValueId id, NodeId node) const;
  /// The node reads the value once, and no other node or caller after it.
  bool is_only_reader_left(ValueId id, NodeId node) const;
  /// Values that the backward pass of a node reads, but for those it reads only signs of.
  std::set<ValueId> read_by(NodeId id) const;
  /// What the values that a node reads are made from again: inputs of views, sources of rebuilding.
  std::vector<ValueId> decoded_from(ValueId id) const;
  /// Offloaded values that the backward pass of a node reads, or makes again what it reads from.
  std::set<ValueId> offloaded_for(NodeId id) const;
  /// The node is computed slice by slice in the line of the next node.
  bool is_lazy(NodeId id, int depth = 0) const;
};

/// Samples of which values can be decoded by themselves.
class SlicedValues {
 public:
  explicit SlicedValues(const Setting& setting) : setting_(setting) {}
  bool contains(ValueId id, int depth = 0);

 private:
  bool find(ValueId id, int depth);
  const Setting& setting_;
  std::map<ValueId, bool> known_;
};

}  // namespace tensorpress::model
