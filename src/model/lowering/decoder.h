// Stored values in the backward pass: unpacked, rebuilt, or seen through views, each once a node
// and as long as some node reads it.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "model/lowering/line_builder.h"

namespace tensorpress::model {

struct Parts;

class Decoder {
 public:
  explicit Decoder(Parts& parts);

  /// Forward: what the value waits in. `bits` is a number, or where the running step finds it.
  void store(ValueId id);
  void store_values(ValueId id);
  Expression bits_of(ValueId id);

  /// Backward, around the lines of a node.
  void begin(NodeId id);
  void end();
  /// The value itself: a variable, or what is stored.
  Expression decode(ValueId id);
  /// Something of which [a:b] decodes these samples; none if the value has no slices.
  std::optional<Local> decode_slices(ValueId id);
  bool has_slices(ValueId id) { return slices_.contains(id); }
  /// The decoded copy of a value is read once more only.
  bool may_overwrite(ValueId id) const;
  /// A decoded copy, or one in the memory of another, may be overwritten.
  void allow_overwriting(const Local& name) { overwritable_.insert(name); }
  void allow_overwriting_as(const Local& name, const Name& other);

 private:
  void decode_views(ValueId id);
  /// Offloaded values that the backward passes up to the next product read are fetched while this
  /// one computes.
  void fetch_ahead(NodeId id);
  /// How many read each value in this node: itself, and what is decoded for it.
  void count_readers(NodeId id);

  Parts& parts_;
  SlicedValues slices_;
  std::map<ValueId, Local> decoded_;
  std::map<ValueId, Local> sliced_;  // in this node
  std::set<ValueId> kept_;           // still read by the next node
  std::map<ValueId, int> readers_;
  std::set<ValueId> fetched_;    // from the host, for a later node
  std::set<Name> overwritable_;  // decoded copies
};

}  // namespace tensorpress::model
