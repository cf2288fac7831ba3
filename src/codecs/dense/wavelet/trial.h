// Whether a chunk is one for wavelets: large ones of three axes are tried on a block from their
// middle, with the other predictor beside it.
#pragma once

#include <optional>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/interpolation/mode.h"

namespace tensorpress::dense {

/// Cubes of about 129 for tensors whose last three axes are long enough; nothing for others.
std::optional<Shape> wavelet_chunk_shape(const Shape& shape);

/// False for chunks that are small or have a short axis, and where other predictors take so many
/// bits a value that there is nothing but noise to code.
bool suits_wavelets(const Shape& shape, double bits_of_others);

enum class Verdict { wavelet, other };
/// Codes a block both ways.
template <class T>
Verdict try_wavelet(const bounded::Field<T>& field, double bound, const InterpolationMode& other,
                    ChunkWorkspace& workspace);

}  // namespace tensorpress::dense
