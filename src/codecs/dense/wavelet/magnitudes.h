// Magnitudes of coefficients or corrections, laid out so that the kernels of contexts.h may read
// around each row: zeros before and behind it, rows of zeros around each plane.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codecs/dense/lattice/lattice.h"  // Extents
#include "kernels/contexts/contexts.h"

namespace tensorpress::dense {

class MagnitudeGrid {
 public:
  static std::size_t pitch_of(std::size_t width) {
    return (width + 31) / 32 * 32 + 2 * kernels::kContextMargin;
  }
  /// Elements of memory for a grid.
  static std::size_t elements_for(const Extents& size) {
    return size[0] * size[1] * pitch_of(size[2]);
  }

  MagnitudeGrid() = default;
  /// `zeros` is a row of zeros at least as long as pitch_of(size[2]).
  MagnitudeGrid(std::uint16_t* memory, const std::uint16_t* zeros, const Extents& size)
      : memory_(memory), zeros_(zeros), size_(size), pitch_(pitch_of(size[2])) {}

  void clear() { std::fill_n(memory_, elements_for(size_), std::uint16_t{0}); }

  const Extents& size() const { return size_; }
  std::uint16_t* row(std::size_t z, std::size_t y) {
    return memory_ + (z * size_[1] + y) * pitch_ + kernels::kContextMargin;
  }
  /// Zeros where there is no such row.
  const std::uint16_t* row_or_zeros(std::size_t z, std::size_t y) const {
    const bool exists = memory_ != nullptr && z < size_[0] && y < size_[1];
    return (exists ? memory_ + (z * size_[1] + y) * pitch_ : zeros_) + kernels::kContextMargin;
  }

 private:
  std::uint16_t* memory_ = nullptr;
  const std::uint16_t* zeros_ = nullptr;
  Extents size_{};
  std::size_t pitch_ = 0;
};

}  // namespace tensorpress::dense
