// Codec `dense`, second predictor: values are interpolated from reconstructed ones, coarse to fine,
// and residuals coded with tables that the decoder picks itself (docs/adr/0006).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/interpolation/mode.h"
#include "codecs/dense/lattice/exact.h"

namespace tensorpress::dense {

/// What a chunk would take, from samples, and how to interpolate it. `zeros` is zeros_of(field).
struct InterpolationEstimate {
  double bits_per_value = 0;
  InterpolationMode mode;
};
/// What follows from a chunk's values alone: where nothing has been chosen yet.
template <class T>
InterpolationMode first_mode(const bounded::Field<T>& field, double bound);
template <class T>
InterpolationEstimate estimate_interpolation(const bounded::Field<T>& field, double bound,
                                             const ZeroList& zeros, ChunkWorkspace& workspace);

/// As bounded::FieldCoder::encode and decode; nothing when `mode` names an axis that the folded
/// shape does not have.
template <class T>
std::optional<std::size_t> encode_interpolation(const bounded::Field<T>& field, double bound,
                                                const InterpolationMode& mode,
                                                const ZeroList& zeros, std::span<std::byte> output,
                                                ChunkWorkspace& workspace);
template <class T>
Result<void> decode_interpolation(std::span<const std::byte> input, const Shape& shape,
                                  double bound, std::span<T> output, ChunkWorkspace& workspace);

}  // namespace tensorpress::dense
