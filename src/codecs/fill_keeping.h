// Fill values with codecs of a fixed rate, which would change them and, where they transform, smear
// them over their neighbours: chunks that hold one are stored raw.
#pragma once

#include <memory>
#include <span>

#include "codecs/chunk_codec.h"

namespace tensorpress {

/// The codec, but for chunks with one of these values. Streams are read without it.
std::shared_ptr<const ChunkCodec> keeping_fills(std::shared_ptr<const ChunkCodec> codec,
                                                std::span<const double> fill_values);

}  // namespace tensorpress
