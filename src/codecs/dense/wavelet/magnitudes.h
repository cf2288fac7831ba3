// Magnitudes of coefficients or corrections, laid out so that the kernels of contexts.h may read
// around each row: zeros before and behind it, rows of zeros around each plane. A row of zeros is
// not kept: the grid's one row of zeros stands for all of them, so that most of a smooth field's
// rows cost nothing.
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
    const std::size_t rows = size[0] * size[1];
    return rows * pitch_of(size[2]) + (rows + 1) / 2;
  }

  MagnitudeGrid() = default;
  /// `zeros` is a row of zeros at least as long as pitch_of(size[2]).
  MagnitudeGrid(std::uint16_t* memory, const std::uint16_t* zeros, const Extents& size)
      : memory_(memory), zeros_(zeros), size_(size), pitch_(pitch_of(size[2])) {
    if (memory == nullptr) return;  // not there yet
    kept_ = reinterpret_cast<std::uint8_t*>(memory + size[0] * size[1] * pitch_);
  }

  /// All rows are zeros.
  void clear() { std::fill_n(kept_, size_[0] * size_[1], std::uint8_t{0}); }

  const Extents& size() const { return size_; }
  /// To be written, and then kept or not.
  std::uint16_t* row(std::size_t z, std::size_t y) {
    return memory_ + (z * size_[1] + y) * pitch_ + kernels::kContextMargin;
  }
  /// The first `count` of what row() gave are its magnitudes.
  void keep(std::size_t z, std::size_t y, std::size_t count) {
    std::uint16_t* const first = row(z, y);
    std::uint16_t any = 0;
    for (std::size_t x = 0; x < count; ++x) any |= first[x];
    if (any == 0) return drop(z, y);
    std::fill_n(first - kernels::kContextMargin, kernels::kContextMargin, std::uint16_t{0});
    std::fill(first + count, first + pitch_ - kernels::kContextMargin, std::uint16_t{0});
    kept_[z * size_[1] + y] = 1;
  }
  /// The row is zeros.
  void drop(std::size_t z, std::size_t y) { kept_[z * size_[1] + y] = 0; }
  bool is_kept(std::size_t z, std::size_t y) const { return kept_[z * size_[1] + y] != 0; }
  /// Zeros where there is no such row.
  const std::uint16_t* row_or_zeros(std::size_t z, std::size_t y) const {
    const bool exists = memory_ != nullptr && z < size_[0] && y < size_[1] && is_kept(z, y);
    return (exists ? memory_ + (z * size_[1] + y) * pitch_ : zeros_) + kernels::kContextMargin;
  }

 private:
  std::uint16_t* memory_ = nullptr;
  std::uint8_t* kept_ = nullptr;  // a flag a row
  const std::uint16_t* zeros_ = nullptr;
  Extents size_{};
  std::size_t pitch_ = 0;
};

}  // namespace tensorpress::dense
