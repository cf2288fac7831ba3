// The weights of a chunk's stencils: fitted ones for the finest levels, in the chunk, and averaged
// cubic interpolation where there are none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "codecs/dense/interpolation/stencils/points.h"
#include "codecs/dense/lattice/lattice.h"

namespace tensorpress::dense {

/// Of the mean of a group's points, in 1 / kStencilUnit. They add up to kStencilUnit, so that a
/// constant is predicted exactly; the first is what the others leave.
inline constexpr std::int32_t kStencilUnit = 4096;
using StencilWeights = std::vector<std::int32_t>;

/// The sizes of all weights add up to at most this: predictions from finite values stay finite.
inline constexpr std::int32_t kMostStencilWeight = 16 * kStencilUnit;
/// Bits of a weight in the chunk.
inline constexpr int kMostWeightBits = 15;

/// Levels that may have weights of their own, from the finest; coarser ones have too few values.
inline constexpr int kStencilLevels = 3;

/// The axes that a level interpolates, on the way from `level` to level - 1.
AxisBits axes_of(const Lattice& lattice, int level);

/// [level - 1][class]; empty: cubic.
class StencilSet {
 public:
  StencilReach reach = StencilReach::fourteen;

  const StencilWeights& of(int level, AxisBits odd) const {
    static const StencilWeights kNone;
    return level <= kStencilLevels ? weights_[level - 1][odd] : kNone;
  }
  /// False, and nothing is set, when they do not fit into a chunk.
  bool set(int level, AxisBits odd, const StencilWeights& weights);

 private:
  std::array<std::array<StencilWeights, kParityClasses>, kStencilLevels> weights_;
};

/// The mean of cubic interpolation along each odd axis, as weights of the shape.
StencilWeights cubic_weights(const StencilShape& shape);

/// The mean of parabolas along each axis, as weights of a one-sided shape.
StencilWeights one_sided_weights(const StencilShape& shape);

void append_stencils(const StencilSet& stencils, const Lattice& lattice,
                     std::vector<std::byte>& bytes);
Result<StencilSet> read_stencils(ByteReader& reader, const Lattice& lattice);

}  // namespace tensorpress::dense
