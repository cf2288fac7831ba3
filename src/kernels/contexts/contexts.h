// How large a coefficient is expected to be, from magnitudes that the decoder knows already: the
// rows before it in its own band, the same place of the next coarser level (its parent) and of the
// bands of its level that came earlier (its siblings). Nothing to its left, so that a row is worked
// on at once.
//
//   expectation = floor + above a(y-1, x) + above_side (a(y-1, x-1) + a(y-1, x+1))
//               + behind b(y, x) + ring (b(y, x-1) + b(y, x+1) + b(y-1, x) + b(y+1, x))
//               + wide (a(y-2, x) + c(y, x) + a(y-1, x-2) + a(y-1, x+2) + b(y, x-2) + b(y, x+2)
//                       + b(y-1, x-1) + b(y-1, x+1) + b(y+1, x-1) + b(y+1, x+1))
//               + parent p + parent_ring (the six around p) + sibling s + sibling_ring (six)
//
// a: the band's plane of the row, b the plane before, c the one before that. In 1/256, as whole
// numbers of 16 bits: magnitudes are cut off at 127 and the weights are checked not to overflow.
// class = 0 where nothing is expected, else 1 + half octaves of the expectation, at most 31.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace tensorpress::kernels {

inline constexpr std::uint16_t kMostMagnitude = 127;
/// Rows of magnitudes have this many zeros before them and behind them (counted from the row's end
/// rounded up to whole groups of 32).
inline constexpr std::size_t kContextMargin = 32;

/// In 1/256. The sum with multiplicities (see total()) must stay within kMostContextWeight.
struct ContextWeights {
  std::uint16_t floor = 0;
  std::uint16_t above = 0, above_side = 0;
  std::uint16_t behind = 0, ring = 0;
  std::uint16_t wide = 0;
  std::uint16_t parent = 0, parent_ring = 0;
  std::uint16_t sibling = 0, sibling_ring = 0;

  constexpr std::uint32_t total() const {
    return floor + above + 2u * above_side + behind + 4u * ring + 10u * wide + parent +
           6u * parent_ring + sibling + 6u * sibling_ring;
  }
  friend bool operator==(const ContextWeights&, const ContextWeights&) = default;
};
inline constexpr std::uint32_t kMostContextWeight = 65535 / kMostMagnitude;

/// The class of an expectation in 1/256.
constexpr std::uint8_t context_class_of(std::uint32_t expectation) {
  if (expectation == 0) return 0;
  const auto octave = static_cast<std::uint32_t>(std::bit_width(expectation)) - 1;
  const std::uint32_t half = octave == 0 ? 0 : (expectation >> (octave - 1)) & 1;
  const std::uint32_t number = 2 * octave + half + 1;
  return static_cast<std::uint8_t>(number < 31 ? number : 31);
}

/// The rows around one row; rows that do not exist are rows of zeros.
struct ContextRows {
  const std::uint16_t *above, *above2;
  const std::uint16_t *behind, *behind_up, *behind_down, *behind2;
  const std::uint16_t* parent;  // weighted and as wide as the row: what weigh_parent wrote
  const std::uint16_t *sibling, *sibling_up, *sibling_down, *sibling_front, *sibling_back;
};

/// A row of a band's parent and the four rows around it.
struct ParentRows {
  const std::uint16_t *middle, *up, *down, *front, *back;
};

struct ContextKernels {
  /// Writes classes of `count` values, and what it likes up to the next multiple of 32.
  void (*classify)(const ContextRows& rows, const ContextWeights& weights, std::size_t count,
                   std::uint8_t* classes);
  /// parent[i] of `count` values, each parent once or (doubled) twice; and up to the next multiple
  /// of 64 behind.
  void (*weigh_parent)(const ParentRows& rows, const ContextWeights& weights, std::size_t count,
                       bool doubled, std::uint16_t* parent);
};

ContextKernels context_kernels(Isa isa);
ContextKernels context_kernels_reference();

}  // namespace tensorpress::kernels
