// Whether a chunk is better interpolated by stencils: both ways on a block or two of it.
#pragma once

#include <optional>
#include <span>

#include "codecs/dense/interpolation/forward.h"

namespace tensorpress::dense {

struct StencilTrial {
  InterpolationMode mode;
  double share = 1;  // of the bits that the other mode takes
};

/// Compares with `other`, the best mode without stencils. Nothing where the chunk is too small or
/// too thin for stencils, or where they do not pay.
template <class T>
std::optional<StencilTrial> try_stencils(std::span<const T> values, const Extents& extents,
                                         double bound, const InterpolationMode& other,
                                         ChunkWorkspace& workspace);

}  // namespace tensorpress::dense
