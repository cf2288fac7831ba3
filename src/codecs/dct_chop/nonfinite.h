// NaN and infinity in the input of a codec that cannot hold them.
#pragma once

#include <optional>

#include "codecs/chunk_codec.h"

namespace tensorpress::dct_chop {

/// The first element of the chunk, in C order, that is NaN or infinite, as an error that says where
/// it lies in the tensor.
std::optional<Error> find_nonfinite(const TensorView& chunk, const ChunkWorkspace& workspace);

}  // namespace tensorpress::dct_chop
