// Which values of a decoded chunk are zero: asked only of those that a decoder has within the bound
// of zero and not at zero itself, sixteen at a time. Where zeros fill a region of any form, this
// takes a few bits along its surface; lists of runs (lattice/exact.h) take bytes in every row.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codecs/dense/lattice/lattice.h"  // Extents
#include "tensorpress/result.h"

namespace tensorpress::dense {

/// `values` are those of the chunk as a decoder has them before zeros are set, within `bound` of
/// `originals` (NaN: anything will do). Sets what is zero, so that all zeros of the originals are.
template <class T>
std::vector<std::byte> flag_zeros(std::span<T> values, std::span<const T> originals,
                                  const Extents& extents, double bound);
/// The same for a decoder, by what flag_zeros wrote, or by hostile bytes.
template <class T>
Result<void> set_flagged_zeros(std::span<const std::byte> flags, std::span<T> values,
                               const Extents& extents, double bound);

}  // namespace tensorpress::dense
