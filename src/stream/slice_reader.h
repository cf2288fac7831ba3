// Slices of a stream's tensor, with steps: only the chunks that hold a position of the slice are
// decoded.
#pragma once

#include <vector>

#include "base/tensor/region.h"
#include "stream/reader.h"

namespace tensorpress::stream {

/// Numbers of the chunks that a slice needs, ascending.
std::vector<std::uint64_t> chunks_of(const Slice& slice, const ChunkGrid& grid);

/// The sink sees regions of a tensor of the slice's own shape, in the order of the stream's chunks.
/// `slice` has an entry for each axis.
Result<void> read_slice(const StreamReader& reader, const Slice& slice, TensorSink& sink,
                        const DecompressOptions& options);

}  // namespace tensorpress::stream
