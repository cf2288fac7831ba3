// The values of a level on its way to the finer one, a grid for each parity class. All grids have
// the same pitches, so that a neighbour of any class is a constant distance away, and a margin on
// the axes that are interpolated, so that stencils may reach over the faces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codecs/dense/interpolation/stencils/points.h"
#include "codecs/dense/lattice/lattice.h"
#include "kernels/stencil/stencil.h"

namespace tensorpress::dense {

/// Where things are; the same for values and for sizes of residuals.
class GridLayout {
 public:
  /// Stencils reach this many elements of a grid over its faces.
  static constexpr std::size_t kBefore = 2, kBehind = 3;

  GridLayout(const Lattice& lattice, int level);

  /// Of all grids, with room for vectors at the end.
  std::size_t elements() const;

  AxisBits axes() const { return axes_; }
  /// Planes, rows and columns of a class; there are none without values.
  Extents extents(AxisBits odd) const;
  /// Odd axes of a class on which the last value has no right neighbour.
  AxisBits cut(AxisBits odd) const;
  /// Where element (z, y, 0) of a class is.
  std::size_t row(AxisBits odd, std::size_t z, std::size_t y) const {
    return odd * grid_ + origin_ + z * plane_ + y * pitch_;
  }
  /// From an element of class `odd` to that neighbour.
  std::ptrdiff_t distance(AxisBits odd, const StencilPoint& point) const;

  /// The part of this distance that is along x: from an element of class `odd`, so many steps of
  /// the finer level on.
  static int columns(AxisBits odd, int steps);

  /// Between neighbours of a class along an axis.
  std::size_t pitch(std::size_t axis) const { return axis == 0 ? plane_ : axis == 1 ? pitch_ : 1; }
  /// From a class that is odd on an axis back to the one that is even there.
  std::size_t grids_apart(std::size_t axis) const { return (4u >> axis) * grid_; }
  const Extents& finer() const { return n_; }
  bool along(std::size_t axis) const { return is_odd(axes_, axis); }
  static bool is_odd(AxisBits odd, std::size_t axis) { return (odd >> (2 - axis) & 1) != 0; }

 private:
  AxisBits axes_;
  Extents n_;  // of the finer level
  std::size_t pitch_, plane_, grid_, origin_;
};

template <class T>
class ClassGrids {
 public:
  ClassGrids(const GridLayout& layout, T* values) : layout_(layout), values_(values) {}

  T* row(AxisBits odd, std::size_t z, std::size_t y) { return values_ + layout_.row(odd, z, y); }

  /// Class 0: the coarser level, in C order.
  void place(const T* coarse);
  /// Continues a class over its faces; classes with fewer odd axes first.
  void extend(AxisBits odd);
  /// All classes together, in C order.
  void merge(const kernels::StencilKernels<T>& kernels, T* fine);

 private:
  void extend_axis(AxisBits odd, std::size_t axis, T* line, std::size_t width);

  const GridLayout& layout_;
  T* values_;
};

/// Elements that the grids of any level of a chunk need.
std::size_t grid_elements(const Lattice& lattice);

}  // namespace tensorpress::dense
