// The two passes as typed lines with what each line takes and leaves in memory. The emitted file
// (print.h), the program of a device and the predicted peak all come from here, so that they cannot
// disagree.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "model/program/expression.h"

namespace tensorpress::model {

/// A piece of memory; several variables may share it.
struct Memory {
  enum class Kind : std::uint8_t { input, activation, stored, gradient, weight_gradient };
  std::int64_t bytes = 0;  // on the device
  Kind kind = Kind::activation;
  bool on_host = false;
};

struct Variable {
  Name name;
  std::size_t memory = 0;
  /// Others that live as long as it does: an object that decodes several stored values when it is
  /// read holds them all.
  std::vector<std::size_t> also = {};

  bool is_stored() const { return std::holds_alternative<Stored>(name); }
  std::vector<std::size_t> memories() const;
};

/// `targets = value`, `target += value`, or the value alone.
struct Line {
  std::vector<Expression> targets = {};
  Expression value;
  bool adds = false;
  NodeId node = kNone;
  std::int64_t scratch = 0;               // taken while the line runs, besides what it defines
  std::vector<std::size_t> defines = {};  // variables
  std::vector<std::size_t> last = {};     // variables that no later line reads: deleted after it
  std::vector<Stored> popped = {};        // taken out of S where the line reads them

  bool pops(const Stored& stored) const;
};

/// Every part of the line that is read: its value, and what it adds to.
std::vector<Expression> read_by(const Line& line);

/// Bytes while one line runs.
struct Moment {
  std::int64_t total = 0;  // without parameters and optimizer state
  std::int64_t by_kind[5] = {};
  std::int64_t scratch = 0;
};

/// An activation that comes back from the host, and the node that computes meanwhile, or kNone: the
/// node that reads it waits for it.
struct Fetch {
  std::string name;
  NodeId during = kNone;
};

struct Program {
  std::vector<Memory> memories;
  std::vector<Variable> variables;
  std::vector<Line> forward;
  std::vector<Line> backward;
  /// What is held between the passes: key -> bytes.
  std::map<std::string, std::int64_t> stored;
  /// Of values whose bits may change between steps: name -> bits at first.
  std::map<std::string, int> adaptive_bits;
  std::vector<Fetch> fetches;  // in the order of the backward pass
  bool update_in_backward = false;
  /// Streams of random numbers: a step uses its seed + 0, + 1, ... up to this less 1.
  std::size_t streams = 0;
  std::vector<std::string> inputs;  // the variables that forward takes
  std::string loss;                 // and the one that it returns

  /// Fills `last` and `popped` of every line.
  void find_lifetimes();
  /// One moment a line, forward and then backward.
  std::vector<Moment> moments() const;
};

/// Functions of the file, types, open dimensions and the device that lines name.
struct Mentions {
  std::set<std::string> functions;
  std::set<Element> elements;
  std::set<std::string> symbols;
  bool device = false;  // where the parameters are
};
Mentions mentions_of(const std::vector<Line>& lines);

}  // namespace tensorpress::model
