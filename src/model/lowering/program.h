// The two passes as lines of Python with what each line takes and leaves in memory. The emitted
// file and the predicted peak both come from here, so that they cannot disagree.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"

namespace tensorpress::model {

/// A piece of memory; several variables may share it.
struct Memory {
  enum class Kind : std::uint8_t { input, activation, stored, gradient, weight_gradient };
  std::int64_t bytes = 0;
  Kind kind = Kind::activation;
};

struct Variable {
  std::string name;  // of Python, or S["..."] for what is kept between the passes
  std::size_t memory = 0;
  /// Others that live as long as it does: an object that decodes several stored values when it is
  /// read holds them all.
  std::vector<std::size_t> also = {};

  std::vector<std::size_t> memories() const;
};

/// S["name"], and whether a variable is such. Activations have their own names as keys. Colons,
/// which no path has, keep others apart from them: NODE:suffix is what a node keeps besides, and
/// :seed, :bits and :N are the step's.
std::string stored_name(const std::string& name);
bool is_stored(const std::string& variable);
std::string key_of_part(const std::string& name, std::string_view suffix);
std::string key_of_step(std::string_view name);

struct Line {
  std::string code;
  NodeId node = kNone;
  std::int64_t scratch = 0;          // taken while the line runs, besides what it defines
  std::vector<std::size_t> defines;  // variables
  std::vector<std::size_t> reads;    // variables; found by their names
  std::vector<std::size_t> last;     // variables that no later line reads: deleted after this line
};

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

/// Names that code reads, S["..."] whole.
std::vector<std::string> names_in(const std::string& code);
/// Names that some line reads.
std::set<std::string> names_read_by(const std::vector<Line>& lines);

struct Program {
  std::vector<Memory> memories;
  std::vector<Variable> variables;
  std::vector<Line> forward;
  std::vector<Line> backward;
  /// What is held between the passes: name -> bytes.
  std::map<std::string, std::int64_t> stored;
  /// Of values whose bits may change between steps: name -> bits at first.
  std::map<std::string, int> adaptive_bits;
  std::vector<Fetch> fetches;  // in the order of the backward pass
  bool update_in_backward = false;
  /// Streams of random numbers: a step uses its seed + 0, + 1, ... up to this less 1.
  std::size_t streams = 0;
  std::vector<std::string> inputs;  // the variables that forward takes
  std::string loss;                 // and the one that it returns

  /// Fills `reads` and `last` of every line and turns the last S["x"] into S.pop("x").
  void find_lifetimes();
  /// One moment a line, forward and then backward.
  std::vector<Moment> moments() const;
};

}  // namespace tensorpress::model
