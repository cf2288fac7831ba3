// A chunk of few distinct values is a palette and, for each value, the number of its entry. Numbers
// are predicted from their neighbours and coded with tables that the chunk carries, one for each
// kind of neighbourhood (contexts.h).
//
// Bytes:  palette (palette.h); nothing more if it has one entry
//         u8      bits 0-2 predictor, 3-4 fourth part of contexts
//         varint  row, far, small, large;  [level] four more: the thresholds
//         tables (context_tables.h), in whole bytes
//         rANS with one state (one_lane.h): differences from the predictions
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "codecs/bounded/field_coder.h"

namespace tensorpress::dense {

struct PaletteEffort {
  /// Counts all values, not those of a sample first, and tries contexts on more samples.
  bool thorough = false;
  /// A chunk that seems to take more is given up.
  double most_bits = std::numeric_limits<double>::infinity();
};

/// Nothing if the values are too many, or if what is written is too large.
template <class T>
std::optional<std::size_t> encode_palette(const bounded::Field<T>& field, double bound,
                                          const PaletteEffort& effort, std::span<std::byte> output,
                                          ChunkWorkspace& workspace);

template <class T>
Result<void> decode_palette(std::span<const std::byte> input, std::span<T> output,
                            ChunkWorkspace& workspace);

}  // namespace tensorpress::dense
