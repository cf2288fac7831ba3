// The state while lines are made: which variable holds which value, who shares whose memory, which
// gradients wait. Operators see it through Site only.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "model/lowering/lower.h"
#include "model/lowering/site.h"

namespace tensorpress::model {

class Lowering {
 public:
  Lowering(const Graph& graph, const LowerOptions& options, std::vector<Stash> stashes);

  Program run();

 private:
  friend class Site;

  enum class Pass : std::uint8_t { forward, backward };
  /// What random numbers are drawn for. A purpose and a value or node have a stream of their own.
  enum class Draw : std::uint8_t { rounding, rounding_of_waiting_gradient, dropout };
  static constexpr std::size_t kDraws = 3;

  // --- variables ---
  std::string python_name(const std::string& dotted);
  const std::string& name_of_value(ValueId id);
  /// Of a variable, or kNone.
  std::size_t memory_of(const std::string& name) const;
  void add_line(std::string code, std::int64_t scratch, const std::vector<Definition>& defines,
                Memory::Kind kind);
  std::size_t add_memory(std::int64_t bytes, Memory::Kind kind);
  /// Those that the variables of these names are in or hold, but for one.
  std::vector<std::size_t> memories_besides(std::size_t memory,
                                            const std::vector<std::string>& names) const;
  void hold(const std::string& name);
  void release(const std::string& name);
  /// The memory of a variable may never be written to.
  void protect(const std::string& name);

  /// `seed + 3` while forward runs, `S[":seed"] + 3` later: another number for every purpose and
  /// id, and the same for these with every plan, so that plans can be compared with the same
  /// dropout.
  std::string seed_of(Draw purpose, std::size_t id, bool later);

  // --- forward ---
  void forward_node(NodeId id);
  /// The node is computed slice by slice in the line of the next node.
  bool is_lazy(NodeId id, int depth = 0) const;
  void release_inputs(NodeId id);
  void store(ValueId id);
  void store_values(ValueId id, const std::string& variable);
  /// Of a quantized value: a number, or where the running step finds it.
  std::string bits_of(ValueId id);
  bool last_use(ValueId id, NodeId node) const;
  void keep(const std::string& key, const std::string& variable, std::int64_t bytes,
            const std::string& expression);

  // --- backward ---
  void backward_node(NodeId id);
  std::string decode(ValueId id);
  /// Offloaded values that the backward passes up to the next product read are fetched while this
  /// one computes.
  void fetch_ahead(NodeId id);
  /// Those that the backward pass of a node reads, or makes again what it reads from.
  std::set<ValueId> offloaded_for(NodeId id) const;
  /// Samples of the value can be decoded by themselves.
  bool has_slices(ValueId id, int depth = 0) const;
  bool finds_slices(ValueId id, int depth) const;
  std::string decode_slices(ValueId id);
  void decode_views(ValueId id);
  void contribute(ValueId id, const std::string& expression, const std::string& shares,
                  std::int64_t scratch);
  /// Of a parameter: no node before this one reads it, so that its gradient is complete.
  void give_if_complete(ValueId id, NodeId node);
  /// Nobody counts on the memory of a variable but itself, and gradients that this node has read.
  bool is_own_result(const std::string& name) const;
  /// Of a value that a lazy node made: see Site::input_sink. `leaf`: of any value.
  std::string gradient_sink(ValueId id, bool leaf);
  bool takes_slices(ValueId id) const;
  void sinks_given();
  /// The gradient of a value will not be touched by the next nodes, and the plan packs such.
  bool waits_long(ValueId id) const;
  void begin_waiting(ValueId id, const std::string& gradient, std::int64_t scratch);
  /// The gradient as it is again; nothing if it does not wait.
  void end_waiting(ValueId id);
  std::set<ValueId> read_by(NodeId id) const;
  /// What the values that a node reads are made from again: inputs of views, sources of rebuilding.
  std::vector<ValueId> decoded_from(ValueId id) const;
  /// Fills `readers_` for a node.
  void count_readers(NodeId id);
  /// The decoded copy of a value is read once more only.
  bool may_overwrite_decoded(ValueId id) const;

  const Graph& graph_;
  LowerOptions options_;
  std::vector<Stash> stashes_;
  Program program_;
  Pass pass_ = Pass::forward;
  NodeId current_ = kNone;

  std::map<std::string, std::size_t> variables_;  // name -> its newest variable
  std::vector<std::size_t> holders_;              // of each memory: names that will be read again
  std::set<std::string> held_;                    // those names
  std::vector<std::string> newly_held_;           // by the node that forward lowers now
  std::set<std::string> let_go_;                  // likewise; held before it
  std::set<std::string> taken_;                   // Python names in use
  std::map<std::string, int> numbers_;            // the last one behind a name that was taken
  std::vector<std::string> value_names_;
  std::vector<std::string> gradient_names_;  // empty: no gradient yet
  std::vector<std::size_t> contributions_;
  std::vector<NodeId> first_use_;
  std::map<ValueId, std::string> decoded_;
  std::map<ValueId, std::string> lazy_;    // expressions, in the forward pass
  std::map<ValueId, std::string> sliced_;  // in this node
  mutable std::map<ValueId, bool> has_slices_;
  std::vector<ValueId> sinks_;              // whose gradients the next line fills
  std::map<ValueId, std::string> waiting_;  // packed gradients
  std::set<ValueId> kept_decoded_;          // still read by the next node
  std::map<ValueId, int> readers_;          // in this node: itself, and what is decoded for it
  std::set<ValueId> fetched_;               // from the host, for a later node
  std::set<std::string> overwritable_;      // decoded copies
};

}  // namespace tensorpress::model
