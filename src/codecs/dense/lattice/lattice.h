// The levels of a chunk that is predicted coarse to fine. Level l holds every 2^l-th value along
// the axes that are interpolated (all values along the others); level 0 is the chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tensorpress::dense {

using Extents = std::array<std::size_t, 3>;  // z y x

/// Choices for the most levels. Few where the bound is a tiny part of the values: residuals of
/// coarse levels would be too large, and an outlier is a bad neighbour.
inline constexpr std::array<int, 4> kLevelLimits = {6, 4, 2, 1};

struct Lattice {
  static constexpr int kMaxLevels = kLevelLimits[0];

  /// `level_limit` is an index into kLevelLimits.
  Lattice(const Extents& chunk, const std::array<bool, 3>& axes, std::uint8_t level_limit);

  std::array<bool, 3> along;
  int levels = 0;
  std::array<Extents, kMaxLevels + 1> extent{};  // [level]

  std::size_t count(int level) const {
    return extent[level][0] * extent[level][1] * extent[level][2];
  }
  /// Where an element of a level is in the chunk.
  std::size_t position(int level, std::size_t z, std::size_t y, std::size_t x) const {
    const auto scaled = [&](int axis, std::size_t at) { return along[axis] ? at << level : at; };
    return (scaled(0, z) * extent[0][1] + scaled(1, y)) * extent[0][2] + scaled(2, x);
  }
};

/// Axes of one element cannot be interpolated; of the others at least one must be.
bool valid_axes(const std::array<bool, 3>& along, const Extents& extents);

/// The values of level `level` out of those of level - 1, in C order.
template <class T>
void take_coarser(const Lattice& lattice, int level, const T* finer, T* to);

}  // namespace tensorpress::dense
