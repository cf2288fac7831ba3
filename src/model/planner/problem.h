// What the planner decides about, without a word about operators or codecs. A training step is a
// row of positions, forward and then backward. Each activation waits between some of them in one of
// several ways (kept, packed by a codec at some level, computed again, sent away); each way costs
// memory at some positions, time, and harm to the gradient. Everything else that is in memory at a
// position is its base.
//
// This is the integer program of Checkmate (Jain et al., MLSys 2020) without its scheduling half:
// the order of execution is given, so an activation needs one choice instead of one per position,
// and in return a choice may also be a codec.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::model::planner {

/// Bytes held from position `first` through position `last`.
struct Held {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t bytes = 0;
};

struct Option {
  std::string name;               // "keep", "quantize bits=4", "recompute"
  std::int64_t stored_bytes = 0;  // what waits for backward; counts for the ratio of saved bytes
  std::vector<Held> held = {};    // the stored bytes and the scratch around packing and unpacking
  double seconds = 0;             // added to the step
  double error = 0;               // harm to the gradient, 0 when exact
  double score = 1;               // 0...1, 1 when exact
};

struct Activation {
  std::string name;
  std::vector<Option> options;
};

/// Two choices that exclude each other: an activation cannot be computed again from one that is
/// not there either.
struct Conflict {
  std::size_t activation = 0;
  std::size_t option = 0;
  std::size_t other_activation = 0;
  std::size_t other_option = 0;
};

struct Position {
  std::string name;  // "backward of layer1.conv2"
  std::int64_t base_bytes = 0;
};

struct Problem {
  std::vector<Position> positions;
  std::vector<Activation> activations;
  std::vector<Conflict> conflicts;
};

/// An option for each activation.
using Choice = std::vector<std::size_t>;

struct Evaluation {
  std::vector<std::int64_t> bytes;  // at each position
  std::int64_t peak_bytes = 0;
  std::size_t peak_position = 0;  // the first with the peak
  std::int64_t stored_bytes = 0;
  double seconds = 0;
  double error = 0;
  double lowest_score = 1;
  double mean_score = 1;  // each activation counts once
  bool conflict_free = true;
};

/// Sizes beyond 2^50 bytes, positions that do not exist, activations without options and numbers
/// that are none are refused, so that no sum below can overflow.
Result<void> validate(const Problem& problem);

/// For a valid problem and a choice within it; exact in integers.
Evaluation evaluate(const Problem& problem, const Choice& choice);

}  // namespace tensorpress::model::planner
