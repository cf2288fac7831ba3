// Trains the residual distributions of codecs/dense/residuals/tables.cc from fields: gives
// every class of every field the table that codes it best, estimates each table from its classes,
// repeats.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/residuals/tables.h"

namespace tensorpress::dense {

class InterpolationTrainer {
 public:
  /// One field at one bound. Every field and bound weighs the same, whatever its size.
  template <class T>
  void add(const bounded::Field<T>& field, double bound, ChunkWorkspace& workspace);

  /// Better shapes than these, sorted by rising mean.
  std::vector<ResidualShape> finish(std::vector<ResidualShape> shapes) const;

 private:
  /// Sizes 0 … 127, then 128 … 255, 256 … 4095 and larger.
  static constexpr std::size_t kSizes = 131;
  struct Counts {
    std::array<float, kSizes> sizes{};
  };

  std::vector<Counts> classes_;
};

/// Two-sided geometric distributions with a tail, to begin with.
std::vector<ResidualShape> formula_shapes();

/// The lines between SHAPES and END of codecs/dense/residuals/tables.cc.
std::string shapes_source(const std::vector<ResidualShape>& shapes);

}  // namespace tensorpress::dense
