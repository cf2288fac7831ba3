// DCT+Chop's arithmetic: separable transforms of 8 x 8 (DCT-II) or 4 x 4 (ZFP) blocks of which only
// the low frequencies are kept. P points, chop factor CF.
//
//   forward   P x W rows  --columns-->  T[u][W], u < CF  --rows-->  coefficients
//   inverse   coefficients  --rows-->  T[u][W]  --columns-->  P x W rows
//
// Square layout: T flattened is groups of P values and the output is groups of CF values in the
// same order, so the row pass is a flat P -> CF map that knows nothing of width, height or
// channels. Triangle layout: a block's values with u + v < CF, row after row, CF (CF + 1) / 2 of
// them; blocks in order. Linear (1-D data): the flat P -> CF map alone.
//
// Every operation rounds separately (no FMA) and in one order, the one in butterflies-inl.h, so
// results are the same bits for every instruction set. Arithmetic intensity: about 0.4 (CF 1)
// to 1.6 (CF 8) floating-point operations per byte moved; see docs/adr/0003 for the bandwidth
// reached.
#pragma once

#include <cstddef>

#include "base/cpu.h"

namespace tensorpress::kernels {

enum class Transform { dct, zfp };
enum class Layout { square, triangle, linear };

constexpr int points_of(Transform transform) {
  return transform == Transform::dct ? 8 : 4;
}

/// Kept values per block (square, triangle) or per group (linear).
constexpr int kept_values(Layout layout, int chop_factor) {
  switch (layout) {
    case Layout::square:
      return chop_factor * chop_factor;
    case Layout::triangle:
      return chop_factor * (chop_factor + 1) / 2;
    case Layout::linear:
      return chop_factor;
  }
  return 0;
}

/// Sums of squares of the coefficients, by Parseval also of the values (DCT only; ZFP's is not
/// orthogonal: zeros). Not finite exactly when an input value is not, or when squares overflow.
struct Energy {
  double kept = 0;
  double dropped = 0;
};

/// Memory that the next call will read; it is fetched while this one computes. May be empty.
struct NextInput {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

struct BlockTransform {
  /// `block_rows` times P rows of `width` values (a multiple of P), one after the other. For
  /// Layout::linear: `width` values, block_rows is 1.
  using Forward = Energy (*)(const float* input, std::size_t block_rows, std::size_t width,
                             float* output, NextInput next);
  /// The reverse; the input, native floats, may begin at any address. `stream` writes past the
  /// cache, for results that are larger than it.
  using Inverse = void (*)(const std::byte* input, std::size_t block_rows, std::size_t width,
                           float* output, bool stream, NextInput next);
  Forward forward;
  Inverse inverse;
};

/// chop_factor in 1..P. Falls back to the reference for an instruction set that was not compiled
/// in.
BlockTransform block_transform(Transform transform, Layout layout, int chop_factor, Isa isa);

/// How a call is cut into pieces that stay in the first-level cache. Part of the definition of
/// Energy, whose sums are taken piece by piece in 16 lanes: the same for every instruction set.
struct Tiling {
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kColumns =
      128;  // wider rows are cut into tiles of this many columns
  static constexpr std::size_t kFloats = 2048;  // of T: 8 KiB

  std::size_t block_rows = 1;  // per piece
  std::size_t columns = 0;     // per piece
};

constexpr Tiling tiling_for(std::size_t width, int points, int chop_factor, bool flat_rows) {
  if (width > Tiling::kColumns) return {1, Tiling::kColumns};
  const std::size_t row_floats = width * static_cast<std::size_t>(chop_factor);
  std::size_t rows = Tiling::kFloats / row_floats;
  if (rows < 1) rows = 1;
  // Whole vectors of groups for every vector width: groups per piece a multiple of 16 if possible.
  const std::size_t groups = (flat_rows ? row_floats : width) / static_cast<std::size_t>(points);
  while (rows > 1 && rows * groups % Tiling::kLanes != 0) --rows;
  return {rows, width};
}

}  // namespace tensorpress::kernels
