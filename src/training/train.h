// Trains the static tables of the Lorenzo coder (codecs/dense/lorenzo/model.h) from fields. Cells
// of block features are gathered into classes so that the code lengths of all training blocks
// become least: give every cell the class that codes its blocks best, estimate the classes'
// distributions from their cells, repeat.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/lorenzo/model.h"

namespace tensorpress::dense {

class LorenzoTrainer {
 public:
  /// Axes are chosen with `model`: formula_literals() at first, the last result in later rounds.
  explicit LorenzoTrainer(const LorenzoModel& model) : model_(model) {}

  /// One field at one bound. Every field and bound weighs the same, whatever its size.
  template <class T>
  void add(const bounded::Field<T>& field, double bound, ChunkWorkspace& workspace);

  LorenzoLiterals finish() const;

 private:
  struct Block {
    std::uint32_t start = 0;  // in values_
    std::uint16_t cell = 0;
    std::uint8_t size = 16;
    float weight = 0;
  };
  struct Sequence {  // the cells of all blocks of a chunk
    std::vector<std::uint16_t> cells;
    Shape shape;
    int log2_block = 4;
  };

  class Clusters;

  const LorenzoModel& model_;
  std::vector<std::int32_t> values_;
  std::vector<Block> blocks_;
  std::vector<Sequence> sequences_;
};

/// Tables from formulas alone, to begin with.
LorenzoLiterals formula_literals();

/// C++ source of codecs/dense/lorenzo/tables.cc; `origin` says how it was made.
std::string literals_source(const LorenzoLiterals& literals, std::string_view origin);

}  // namespace tensorpress::dense
