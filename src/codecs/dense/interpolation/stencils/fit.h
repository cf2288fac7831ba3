// Fits the weights of stencils to a chunk while it is coded, by least squares: a class at a time,
// from neighbours as a decoder will have them.
#pragma once

#include <vector>

#include "codecs/dense/interpolation/stencils/passes.h"

namespace tensorpress::dense {

template <class T>
class FittedWeights {
 public:
  /// `samples` of each class.
  FittedWeights(StencilSet& set, std::size_t samples, const kernels::StencilKernels<T>& kernels)
      : set_(set), samples_(samples), kernels_(kernels) {}

  /// The originals of the level that is being made, and its step.
  void set_originals(const T* values, T step) {
    originals_ = values;
    step_ = step;
  }

  StencilWeights of(const StencilClass<T>& stencil, const GridLayout& layout, ClassGrids<T>& grids);

 private:
  struct Piece {
    std::size_t z, y, x, count;
  };
  std::vector<Piece> pieces(const StencilClass<T>& stencil, const GridLayout& layout) const;
  void add_piece(const StencilClass<T>& stencil, const GridLayout& layout, ClassGrids<T>& grids,
                 const Piece& piece);

  StencilSet& set_;
  std::size_t samples_;
  const kernels::StencilKernels<T>& kernels_;
  const T* originals_ = nullptr;
  T step_ = 1;
  std::vector<T> sums_;
  std::vector<float> features_;  // one row a group but the first, then the target
  std::size_t filled_ = 0;
  std::vector<double> products_;
};

}  // namespace tensorpress::dense
