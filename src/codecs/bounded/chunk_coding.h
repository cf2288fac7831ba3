// A chunk with a bound into bytes and back; the layout is in bounded_codec.h.
#pragma once

#include <optional>

#include "codecs/bounded/field_coder.h"
#include "codecs/bounded/parameters.h"

namespace tensorpress::bounded {

struct ChunkAttempt {
  std::optional<CompressedChunk> coded = {};  // absent when the chunk is better stored raw
  std::uint64_t special_elements = 0;         // NaN, infinite and fill values, either way
};

/// The chunk has at least one element and one axis; `parameters.limit` is set.
ChunkAttempt compress_chunk(const FieldCoder& coder, const Parameters& parameters,
                            const TensorView& chunk, std::span<std::byte> output,
                            ChunkWorkspace& workspace);

/// `chunk` is contiguous.
Result<void> decompress_chunk(const FieldCoder& coder, const Parameters& parameters,
                              std::span<const std::byte> input, const MutableTensorView& chunk,
                              ChunkWorkspace& workspace);

}  // namespace tensorpress::bounded
