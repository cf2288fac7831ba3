// Gradients of values: how contributions add up, how they wait for another branch of the graph, and
// where slices of them go.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "model/lowering/line_builder.h"

namespace tensorpress::model {

struct Parts;

class Gradients {
 public:
  explicit Gradients(Parts& parts);

  bool has(ValueId id) const { return names_[id].has_value(); }
  /// Some node has contributed.
  bool has_contributions(ValueId id) const { return contributions_[id] > 0; }
  /// The variable, named now if it has no name yet.
  const Local& name_of(ValueId id);
  /// The first one, before any node: named after the variable of the loss.
  const Local& name_of_loss(const Local& loss);
  /// The variable as it is; zeros if no node contributed.
  Local get(ValueId id);
  /// The memory of the variable may be written to: no other gradient shares it.
  bool may_overwrite(ValueId id);
  /// Those of a node's outputs have been read.
  void release(ValueId id);

  void contribute(ValueId id, const Expression& value, std::int64_t scratch);
  /// The sum so far, for a line that adds to it in place and calls added() then; none if there is
  /// no sum, or it may not be written to.
  std::optional<Local> sum_to_add_to(ValueId id);
  void added(ValueId id) { ++contributions_[id]; }
  /// Of a parameter: no node before this one reads it, so that its gradient is complete.
  void give_if_complete(ValueId id, NodeId node);

  /// Where slices of the gradient of a value that a lazy node made go, past lazy nodes to gradients
  /// of their inputs; none if no lazy node made it. `leaf`: of any value.
  std::optional<Expression> sink(ValueId id, bool leaf);
  /// The line that fills the sinks is written.
  void sinks_filled();

 private:
  /// No other variable counts on its memory but gradients that this node has read.
  bool is_own_result(const Name& name) const;
  /// Its variable is alone in its memory. What autograd writes to a tensor without gaps, exact
  /// steps do not write to a part of one: sums over it would be added up in another order.
  bool may_write_to(ValueId id) const;
  bool takes_slices(ValueId id) const;
  Local define_leaf(ValueId id);
  /// The gradient of a value will not be touched by the next nodes, and the policy packs such.
  bool waits_long(ValueId id) const;
  void begin_waiting(ValueId id, const Expression& gradient, std::int64_t scratch);
  /// The gradient as it is again; nothing if it does not wait.
  void end_waiting(ValueId id);
  void contribute_first(ValueId id, const Expression& value, std::int64_t scratch);
  Memory::Kind kind_of(ValueId id) const;

  Parts& parts_;
  std::vector<std::optional<Local>> names_;
  std::vector<std::size_t> contributions_;
  std::vector<NodeId> first_use_;
  std::map<ValueId, Local> waiting_;  // packed
  std::vector<ValueId> sinks_;        // whose gradients the next line fills
};

}  // namespace tensorpress::model
