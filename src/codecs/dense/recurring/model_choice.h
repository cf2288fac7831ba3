// Chooses how the numbers of a chunk are predicted, and into which contexts they fall.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codecs/dense/lorenzo/rows.h"      // Fold
#include "codecs/dense/recurring/coding.h"  // PaletteEffort
#include "codecs/dense/recurring/contexts.h"

namespace tensorpress::dense {

/// Rows and planes of the chunk.
NumberModel geometry_of(const Fold& fold, std::size_t entries);

/// `numbers` are behind geometry.lead() zeros; they are written with what they are. Nothing if it
/// seems that every model takes more than the bits of `effort`.
std::optional<NumberModel> choose_model(const NumberModel& geometry,
                                        std::span<std::uint16_t> numbers,
                                        const PaletteEffort& effort);

}  // namespace tensorpress::dense
