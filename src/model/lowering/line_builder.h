// Writes the lines of a program: gives variables their names, and knows at every line which memory
// each is in and who still needs it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/lowering/setting.h"
#include "model/program/program.h"

namespace tensorpress::model {

/// A variable to define.
struct Definition {
  Expression variable;  // a local; unused() for what is None or not wanted
  TensorType type;
  std::vector<Name> holds = {};  // whose memory lives as long as it does
};
Local unused();

class LineBuilder {
 public:
  explicit LineBuilder(const Setting& setting);

  // --- names ---
  /// One that no other variable has: "layer1.conv1" -> layer1_conv1.
  Local fresh(const std::string& dotted);
  const Local& name_of(ValueId id);

  // --- memory ---
  bool knows(const Name& name) const { return variables_.contains(name); }
  /// Of a variable, or kNone.
  std::size_t memory_of(const Name& name) const;
  Memory& memory_at(std::size_t memory) { return program_.memories[memory]; }
  /// Names that will be read again and are in a memory.
  std::size_t holders_of(std::size_t memory) const { return holders_[memory]; }
  /// No other name that will be read again is in the memory of this one.
  bool is_alone(const Name& name) const;
  bool is_held(const Name& name) const { return held_.contains(name); }
  void release(const Name& name);
  /// The memory of a variable may never be written to.
  void protect(const Name& name) { ++holders_[memory_of(name)]; }

  // --- lines ---
  /// Those that follow belong to this node.
  void begin(NodeId node) { current_ = node; }
  NodeId current() const { return current_; }
  /// `a, b = value`. `scratch`: bytes that the value takes besides, while it is computed.
  void define(const std::vector<Definition>& results, const Expression& value, std::int64_t scratch,
              Memory::Kind kind);
  /// `target += value`
  void add_to(const Expression& target, const Expression& value, std::int64_t scratch = 0);
  void run(const Expression& value, std::int64_t scratch = 0);
  /// `S["key"] = value`, unless it is kept already: a variable in its own memory, or something of
  /// so many bytes.
  void keep(const Stored& stored, const Expression& value, std::int64_t bytes,
            bool on_host = false);

  // --- the two passes ---
  /// A variable that the caller holds.
  void add_input(ValueId id);
  /// Between these, forward notes what a node makes and releases, and lets go of what no later node
  /// reads.
  void begin_forward(NodeId node);
  void end_forward(const std::set<Name>& outputs);
  /// What stays of the forward pass is what is stored.
  void begin_backward();
  Program& program() { return program_; }

 private:
  enum class Pass : std::uint8_t { forward, backward };
  std::size_t add_memory(std::int64_t bytes, Memory::Kind kind);
  void add_variable(Line& line, const Name& name, std::size_t memory,
                    std::vector<std::size_t> also);
  /// Those that the variables of these names are in or hold, but for one.
  std::vector<std::size_t> memories_besides(std::size_t memory,
                                            const std::vector<Name>& names) const;
  void hold(const Name& name);
  void append(Line line);

  const Setting& setting_;
  Program program_;
  Pass pass_ = Pass::forward;
  NodeId current_ = kNone;
  std::map<Name, std::size_t> variables_;  // the newest of a name
  std::vector<std::size_t> holders_;       // of each memory
  std::set<Name> held_;                    // names that will be read again
  std::vector<Name> newly_held_;           // by the node that forward lowers now
  std::set<Name> let_go_;                  // likewise; held before it
  std::set<std::string> taken_;            // names in use
  std::map<std::string, int> numbers_;     // the last one behind a name that was taken
  std::vector<std::optional<Local>> value_names_;
};

}  // namespace tensorpress::model
