// A chunk with a bound into bytes and back; the layout is in bounded_codec.h.
#pragma once

#include <optional>

#include "codecs/bounded/field_coder.h"
#include "codecs/bounded/parameters.h"

namespace tensorpress::bounded {

/// Nothing when the chunk is better stored raw. The chunk has at least one element and one axis;
/// `parameters.limit` is set.
std::optional<CompressedChunk> compress_chunk(const FieldCoder& coder, const Parameters& parameters,
                                              const TensorView& chunk, std::span<std::byte> output,
                                              ChunkWorkspace& workspace);

/// `chunk` is contiguous.
Result<void> decompress_chunk(const FieldCoder& coder, const Parameters& parameters,
                              std::span<const std::byte> input, const MutableTensorView& chunk,
                              ChunkWorkspace& workspace);

}  // namespace tensorpress::bounded
