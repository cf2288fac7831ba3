// A line of values as lanes side by side, for the wavelet predictor: lane x has the values from
// x * length on, and row y the values y of all lanes. Rows are what contexts and vectors work on,
// so a value sees its neighbour before it in the row above.
//
// What the last lane lacks is made up of the line's last value.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "codecs/dense/lattice/lattice.h"  // Extents
#include "tensorpress/tensor_view.h"

namespace tensorpress::dense {

/// What the transform works along.
inline constexpr std::array<bool, 3> kAlongLanes = {false, true, false};
/// Shorter lines would have short lanes.
inline constexpr std::size_t kLeastLine = std::size_t{1} << 16;

struct Lanes {
  std::size_t count = 0;   // 0: not a line, or too short a one
  std::size_t length = 0;  // rows

  static Lanes of(const Shape& shape);

  bool exist() const { return count > 0; }
  std::size_t values() const { return count * length; }
  Extents extents() const { return {1, length, count}; }

  template <class T>
  void gather(std::span<const T> line, T made_up, std::span<T> rows) const;
  template <class T>
  void scatter(const T* rows, std::span<T> line) const;
};

}  // namespace tensorpress::dense
